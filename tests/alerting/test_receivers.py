"""Receivers: what lines and streams of other programs mean, whatever their bytes."""

import asyncio
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.waiting import eventually
from watchbell.alerting.event import MOST_BYTES, NOOP
from watchbell.alerting.hours import hour
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.alerting.receivers import nagios, nsca
from watchbell.alerting.receivers.delivery import Delivery
from watchbell.alerting.receivers.json_stream import Cutter, Piece
from watchbell.alerting.receivers.mirror import Mirror
from watchbell.alerting.receivers.tap import Lines, Tap
from watchbell.clock import SYSTEM
from watchbell.errors import Refused, StoreUnavailable
from watchbell.store import url as store_url
from watchbell.store.client import Store

NOW = 1_700_000_000
Read = Callable[[bytes, int], CheckEvent | Rejection]


def service(**more: Any) -> CheckEvent:
    fields = {"state": "ok", "entity": "web-1", "check": "HTTP", "time": 1_600_000_000, **more}
    return CheckEvent(type="service", **fields)


def tabbed(*fields: str) -> bytes:
    return "\t".join(fields).encode()


SERVICE = ("[SERVICEPERFDATA]", "1600000000", "Web-1", "HTTP")
HOST = ("[HOSTPERFDATA]", "1600000000", "Web-1", "whatever")


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (
            tabbed(*SERVICE, "CRITICAL", "0.1", "0.25", "it is down", "time=1s;2"),
            service(
                state="critical", check_latency=0.25, summary="it is down", perfdata="time=1s;2"
            ),
        ),
        (tabbed(*SERVICE, "OK", "0", "", "", ""), service()),
        (tabbed(*SERVICE, "OK", "0", "", "", "") + b"\r\n", service()),
        *(
            (tabbed(*SERVICE, "OK", "0", latency, "fine", ""), service(summary="fine"))
            for latency in ("0,2", "nan", "inf", "$SERVICELATENCY$", "late", "1e999", " ")
        ),
        (tabbed(*SERVICE[:2], "FE80::1", "HTTP", "OK", "", "", "", ""), service(entity="fe80--1")),
        (
            tabbed(*SERVICE, "unknown", "", "0", "out", "", r"one\ntwo", "three"),
            service(state="unknown", check_latency=0.0, summary="out", details="one\ntwo\tthree"),
        ),
        (tabbed(*HOST, "UP", "", "", "", ""), service(check="HOST")),
        (tabbed(*HOST, "DOWN", "", "", "", ""), service(check="HOST", state="critical")),
        (tabbed(*HOST, "UNREACHABLE", "", "", "", ""), service(check="HOST", state="unknown")),
        (
            tabbed(*SERVICE, "WARNING", "", "", "@", "").replace(b"@", b"\xff\0"),
            service(state="warning", summary="?\0"),
        ),
    ],
)
def test_a_line_of_perfdata_is_an_event(line: bytes, event: CheckEvent) -> None:
    assert nagios.read(line, NOW) == event


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"", r"does not begin with [HOSTPERFDATA] or [SERVICEPERFDATA] and a tab"),
        (b"[SERVICEPERFDATA] 1 a b", "does not begin with"),
        (tabbed(*SERVICE, "OK", "0", "0", "out"), "has 8 fields; expected at least 9"),
        (tabbed("[X]", *SERVICE[1:], "OK", "", "", "", ""), "does not begin with"),
        (tabbed(SERVICE[0], "now", "a", "b", "OK", "", "", "", ""), "time is 'now'; expected"),
        (tabbed(SERVICE[0], "", "a", "b", "OK", "", "", "", ""), "time is ''; expected"),
        (tabbed(SERVICE[0], "1", "", "", "OK", "", "", "", ""), "missing or empty: entity, check"),
        (tabbed(*SERVICE, "PENDING", "", "", "", ""), "state is 'PENDING'; expected one of ok"),
    ],
)
def test_a_bad_line_of_perfdata_is_rejected_with_its_reason(line: bytes, says: str) -> None:
    rejection = nagios.read(line, NOW)
    assert isinstance(rejection, Rejection)
    assert says in rejection.reason


RESULT = b"[1600000000] PROCESS_SERVICE_CHECK_RESULT;Web-1;HTTP;"


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (RESULT + b"0;fine", service(summary="fine")),
        (RESULT.replace(b" ", b"\t") + b"1;so so\r\n", service(state="warning", summary="so so")),
        (
            RESULT + b"2;a;b|x=1;2 y=3",
            service(state="critical", summary="a;b", perfdata="x=1;2 y=3"),
        ),
        (
            RESULT + rb"2;out | x=1\none\ntwo | y=2\nz=3",
            service(state="critical", summary="out", perfdata="x=1 y=2 z=3", details="one\ntwo"),
        ),
        (RESULT + b"3;", service(state="unknown")),
        (RESULT.replace(b"Web-1", b"[fe80::1]") + b"0;", service(entity="fe80--1")),
        (RESULT + b"0", service()),
        (RESULT + b"127;not found", service(state="unknown", summary="not found")),
        (RESULT + b"-1;", service(state="unknown")),
        (b"[1600000000] PROCESS_HOST_CHECK_RESULT;Web-1;0;up", service(check="HOST", summary="up")),
        (
            b"[1600000000] PROCESS_HOST_CHECK_RESULT;Web-1;1;x;y",
            service(check="HOST", state="critical", summary="x;y"),
        ),
        (
            b"[1600000000] PROCESS_HOST_CHECK_RESULT;Web-1;2;",
            service(check="HOST", state="unknown"),
        ),
    ],
)
def test_a_passive_result_is_an_event(line: bytes, event: CheckEvent) -> None:
    assert nsca.read(line, NOW) == event


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"", "is not a command of the form [TIME] COMMAND;ARGUMENT;"),
        (b"PROCESS_HOST_CHECK_RESULT;a;0;", "is not a command"),
        (b"[now] PROCESS_HOST_CHECK_RESULT;a;0;", "is not a command"),
        (b"[1] ENABLE_NOTIFICATIONS", "ENABLE_NOTIFICATIONS is none of PROCESS_SERVICE"),
        (b"[1] PROCESS_SERVICE_CHECK_RESULT", "has 1 arguments; expected at least 3"),
        (b"[1] PROCESS_SERVICE_CHECK_RESULT;a;b", "has 2 arguments; expected at least 3"),
        (RESULT + b"OK;fine", "the code is 'OK'; expected 0, 1, 2 or 3"),
        (RESULT + b";fine", "the code is ''; expected 0, 1, 2 or 3"),
        (RESULT + b"9" * 5_000, "the code is '999"),
        (b"[1] PROCESS_SERVICE_CHECK_RESULT;;;0;", "missing or empty: entity, check"),
        (b"[" + b"9" * 30 + RESULT[11:] + b"0;", "expected a whole number of seconds"),
    ],
)
def test_a_bad_command_is_rejected_with_its_reason(line: bytes, says: str) -> None:
    rejection = nsca.read(line, NOW)
    assert isinstance(rejection, Rejection)
    assert says in rejection.reason


@pytest.mark.parametrize("read", [nagios.read, nsca.read])
@given(data=st.binary(), start=st.sampled_from([b"", tabbed(*SERVICE, ""), RESULT, RESULT + b"0;"]))
def test_any_line_is_an_event_or_rejected(read: Read, data: bytes, start: bytes) -> None:
    assert isinstance(read(start + data, NOW), CheckEvent | Rejection)


def cut(*chunks: bytes) -> list[Piece]:
    cutter = Cutter()
    return [piece for chunk in chunks for piece in cutter.feed(chunk)] + cutter.end()


def good(*chunks: bytes) -> list[bytes]:
    return [piece.raw for piece in cut(*chunks) if not piece.problem]


def bad(*chunks: bytes) -> list[tuple[int, int, str]]:
    return [(p.line, p.column, p.problem) for p in cut(*chunks) if p.problem]


UNCLOSED, UNQUOTED = "the object is not closed", "a string is not closed"
NONE = "expected an object"


@pytest.mark.parametrize(
    ("stream", "objects", "problems"),
    [
        (b"", [], []),
        (b" \r\n\t\n", [], []),
        (b'{"a":1}', [b'{"a":1}'], []),
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}'], []),
        (b'{"a":1}{"b":2} {}', [b'{"a":1}', b'{"b":2}', b"{}"], []),
        (b'{\r\n  "a": [\r\n 1 ]\r\n}\r\n', [b'{\r\n  "a": [\r\n 1 ]\r\n}'], []),
        (b'{"a":{"b":{}}}', [b'{"a":{"b":{}}}'], []),
        (b'{"a":"}\\"{\\\\"} {}', [b'{"a":"}\\"{\\\\"}', b"{}"], []),
        (b"{a b}", [b"{a b}"], []),
        (b'{"a":1\n{"b":2}\n', [b'{"b":2}'], [(1, 1, UNCLOSED)]),
        (b'\n {"a":"x\n"b":2}\n{}\n', [b"{}"], [(2, 2, UNQUOTED)]),
        (b'{"a":"x\\\n"}\n  {}\n', [b"{}"], [(1, 1, UNQUOTED)]),
        (b'{"a":"x\n{} {}', [b"{}", b"{}"], [(1, 1, UNQUOTED)]),
        (b'{"a":"x\n ] {} \n{}', [b"{}"], [(1, 1, UNQUOTED)]),
        (b'{} x y {"a":"z"}\nw', [b"{}", b'{"a":"z"}'], [(1, 4, NONE), (2, 1, NONE)]),
        (b'[\n{"a":1},\n{}\n]\n', [b'{"a":1}', b"{}"], []),
        (b'[{"a":[1,2]}, {} ,{}][{}]', [b'{"a":[1,2]}', b"{}", b"{}", b"{}"], []),
        (b'[{}, x, 5, "y"]', [b"{}"], [(1, 6, NONE)]),
        (b'"{}"\n"{', [], [(1, 1, NONE), (2, 1, NONE)]),
        (b"}{}", [b"{}"], [(1, 1, NONE)]),
        (b'{} {"a":', [b"{}"], [(1, 4, UNCLOSED)]),
        (b'{"a', [], [(1, 1, UNCLOSED)]),
        (b"\xff\0\xfe{}", [b"{}"], [(1, 1, NONE)]),
    ],
)
def test_objects_are_cut_from_a_stream(
    stream: bytes, objects: list[bytes], problems: list[tuple[int, int, str]]
) -> None:
    assert (good(stream), bad(stream)) == (objects, problems)
    bytewise = [bytes([byte]) for byte in stream]
    assert cut(*bytewise) == cut(stream)


LAYOUTS: list[dict[str, Any]] = [{}, {"indent": 2}, {"separators": (",", ":")}]


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.text(), st.text() | st.lists(st.text())),
            st.sampled_from(LAYOUTS),
            st.sampled_from(["", "\n", " ", "\r\n\n"]),
        )
    ),
    st.integers(1, 50),
)
def test_whatever_json_writes_is_cut_where_it_ends(
    written: list[tuple[dict[str, Any], dict[str, Any], str]], size: int
) -> None:
    stream = "".join(json.dumps(one, **layout) + end for one, layout, end in written).encode()
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert bad(*chunks) == []
    assert [json.loads(one) for one in good(*chunks)] == [one for one, _, _ in written]


@given(st.lists(st.text('{}"\\\n ax[],').map(str.encode)))
def test_chunks_make_no_difference(chunks: list[bytes]) -> None:
    assert cut(*chunks) == cut(b"".join(chunks))


@given(st.text('{}"\\\n ax').map(str.encode))
@example(b'{"')
@example(b'{{{"a":"')
def test_a_stream_that_was_broken_is_understood_again_on_a_new_line(broken: bytes) -> None:
    assert good(broken + b'\n{"a":1}\n')[-1:] == [b'{"a":1}']


@pytest.mark.parametrize("begin", [b'{"a":"', b"{", b'"'])
def test_what_never_ends_is_dropped_and_the_next_line_is_read(begin: bytes) -> None:
    cutter = Cutter()
    pieces = cutter.feed(begin)
    for _ in range(MOST_BYTES // (1 << 20) + 2):
        pieces += cutter.feed(b"x" * (1 << 20))
    assert len(pieces) == 1
    assert pieces[0].problem
    assert [piece.raw for piece in cutter.feed(b'"\n{"a":1}')] == [b'{"a":1}']
    assert cutter.end() == []


def test_lines_are_cut_whatever_the_chunks() -> None:
    lines = Lines(longest=10)
    assert lines.feed(b"a\nb") == [b"a"]
    assert lines.feed(b"c\n\n \nd") == [b"bc"]
    assert lines.feed(b"") == [b"d"]
    assert lines.feed(b"") == []
    assert lines.feed(b"x" * 11) == [b"x" * 11]
    assert lines.feed(b"y\n") == [b"y"]


class Reader:
    """Collects what comes from a pipe, in a task of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tap = Tap()
        self.chunks: list[bytes] = []
        self.turns = 0

    @property
    def received(self) -> bytes:
        return b"".join(self.chunks)

    def has_ended_with(self, chunk: bytes) -> bool:
        return self.chunks[-2:] == [chunk, b""]

    async def run(self) -> None:
        async for chunk in self.tap.pipe(self.path):
            self.turns += 1
            self.chunks.append(chunk)


async def test_a_pipe_is_made_and_outlives_its_writers(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "pipe")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reader.run())
        await eventually(reader.path.is_fifo)
        for number in range(3):
            with reader.path.open("wb", buffering=0) as pipe:
                pipe.write(b"%d\n" % number)
            await eventually(partial(reader.has_ended_with, b"%d\n" % number))
        assert reader.received == b"0\n1\n2\n"
        reader.tap.turn_off()
    assert reader.turns < 20  # it waits for writers and does not ask again and again


async def test_a_pipe_that_is_turned_off_gives_what_was_written(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "pipe")
    os.mkfifo(reader.path)
    # Held for reading too, so that it can be filled before the receiver is there.
    held = os.open(reader.path, os.O_RDWR)
    os.write(held, b"x" * 60_000)
    reader.tap.turn_off()
    await reader.run()
    os.close(held)
    assert reader.received == b"x" * 60_000


@pytest.mark.parametrize("kind", ["file", "folder", "nowhere", "nul"])
async def test_what_is_no_pipe_is_refused(kind: str, tmp_path: Path) -> None:
    path = {"folder": tmp_path, "nowhere": tmp_path / "a" / "b", "nul": Path("a\0b")}.get(kind)
    if path is None:
        path = tmp_path / "file"
        path.write_text("")
    with pytest.raises(Refused, match=r"is no named pipe|can't be used"):
        await Reader(path).run()


async def waiting(store: Store) -> list[str]:
    """The summaries of what is in the queue, the next to be taken first."""
    items = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [json.loads(item)["summary"] for item in items[::-1]]


async def test_a_delivery_pushes_the_good_and_tells_of_the_bad(store: Store) -> None:
    told: list[str] = []
    delivery = Delivery(store, told.append)
    one, two = service(summary="1"), service(summary="2")
    await delivery.deliver([("here", one), ("there", Rejection("no")), ("here", two)])
    await delivery.deliver([("there", NOOP)])
    await delivery.deliver([])
    assert told == ["there: no"]
    assert delivery.summary() == "2 sent, 1 skipped"
    assert await waiting(store) == ["1", "2"]


async def test_a_delivery_waits_for_its_store_until_it_is_to_stop() -> None:
    told: list[str] = []
    async with Store(store_url.parse("redis://127.0.0.1:1")) as away:
        delivery = Delivery(away, told.append)

        async def stopped() -> None:
            await eventually(lambda: told)
            delivery.is_stopping = True

        async def delivered() -> None:
            with pytest.raises(StoreUnavailable, match="1 results could not be sent"):
                await delivery.deliver([("here", service())])

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(delivered())
            tasks.create_task(stopped())
    assert len(told) == 1
    assert told[0].endswith("Connection refused; waiting for it")


class Archive:
    """Another installation's archive, as its processor writes it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.keys = Alerting(store.prefix)

    async def add(self, when: str, *items: str, known: bool = True) -> None:
        key = self.keys.archive(when)
        await self.store.call("LPUSH", key, *items)
        await self.store.call("EXPIRE", key, 600)
        if known:
            await self.store.call("SADD", self.keys.archives(), key)


async def fresh(mirror: Mirror) -> list[str]:
    return [item.decode() async for items in mirror.fresh() for item in items]


async def test_an_archive_is_read_from_its_oldest_hour_on_and_nothing_twice(
    store: Store,
) -> None:
    archive, mirror = Archive(store), Mirror(store)
    await archive.add("2026010102", "c", "d")
    await archive.add("2026010101", "a", "b")
    assert await fresh(mirror) == ["a", "b", "c", "d"]
    assert await fresh(mirror) == []
    await archive.add("2026010102", "e", "e")
    await archive.add("2026010103", "f")
    assert await fresh(mirror) == ["e", "e", "f"]
    assert await fresh(mirror) == []


async def test_a_long_archive_is_read_page_by_page(store: Store) -> None:
    archive, mirror = Archive(store), Mirror(store)
    items = [str(number) for number in range(1_234)]
    await archive.add("2026010101", *items)
    assert await fresh(mirror) == items


async def test_the_hours_of_today_are_read_where_no_list_of_hours_is_kept(store: Store) -> None:
    archive, mirror = Archive(store), Mirror(store)
    now = int(SYSTEM.now())
    await archive.add(hour(now), "b", known=False)
    await archive.add(hour(now - 3_600), "a", known=False)
    assert await fresh(mirror) == ["a", "b"]


async def test_what_is_there_can_be_passed_over(store: Store) -> None:
    archive, mirror = Archive(store), Mirror(store)
    await archive.add("2026010101", "a", "b")
    await mirror.skip()
    assert await fresh(mirror) == []
    await archive.add("2026010101", "c")
    assert await fresh(mirror) == ["c"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (["LTRIM", 0, 4], "fg"),  # the oldest were cut off
        (["LTRIM", 0, 0], "fg"),  # all that were given
        (["LREM", 0, "b"], "fg"),
        (["LREM", 0, "e"], "fg"),  # the last one that was given
        (["LREM", 0, "f"], "g"),
        (["DEL"], "g"),
    ],
)
async def test_of_an_archive_that_is_cut_nothing_is_lost_or_doubled(
    change: list[str | int], expected: str, store: Store
) -> None:
    archive, mirror = Archive(store), Mirror(store)
    await archive.add("2026010101", *"abcde")
    assert await fresh(mirror) == list("abcde")
    await archive.add("2026010101", "f")
    command, *arguments = change
    await store.call(command, archive.keys.archive("2026010101"), *arguments)
    await archive.add("2026010101", "g")
    assert await fresh(mirror) == list(expected)
    assert await fresh(mirror) == []


@given(st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_happens_to_an_archive_nothing_is_lost_or_doubled(
    store: Store, data: st.DataObject
) -> None:
    await store.call("FLUSHALL")
    archive, mirror = Archive(store), Mirror(store)
    key = archive.keys.archive("2026010101")
    given_items: list[str] = []
    cut_off: set[str] = set()
    added = 0
    for step in data.draw(st.lists(st.sampled_from(["add", "read", "trim", "remove"]))):
        if step == "add":
            count = data.draw(st.integers(1, 20))
            await archive.add("2026010101", *map(str, range(added, added + count)))
            added += count
        elif step == "read":
            given_items += await fresh(mirror)
        elif length := await store.call("LLEN", key):
            items = [item.decode() for item in await store.call("LRANGE", key, 0, -1)]
            at = data.draw(st.integers(0, length - 1))
            cut_off |= set(items[at + 1 :] if step == "trim" else [items[at]])
            if step == "trim":
                await store.call("LTRIM", key, 0, at)
            else:
                await store.call("LREM", key, 0, items[at])
    given_items += await fresh(mirror)
    assert given_items == sorted(set(given_items), key=int)
    assert set(map(str, range(added))) - set(given_items) <= cut_off


async def test_other_members_of_the_list_of_hours_are_left_alone(store: Store) -> None:
    archive, mirror = Archive(store), Mirror(store)
    await archive.add("2026010101", "a")
    await store.call("SADD", archive.keys.archives(), "failed_checks", b"\xff", "")
    await store.call("ZADD", archive.keys.failed_checks(), 1, "web-1:HTTP")
    assert await fresh(mirror) == ["a"]
