"""Reports of agents: each is applied once, in order, and for jobs of its own server only."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from tests.fleet.crew import NOW
from tests.jobs.assigned import FLEET, JOBS, connected, field, numbered, sent
from watchbell.fleet import presence
from watchbell.fleet.messages import Body, Changes, LimitReached, Output, Report, Result, Started
from watchbell.fleet.model import Link
from watchbell.jobs import reports
from watchbell.jobs.keys import Jobs
from watchbell.jobs.orders import SessionLost
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen

HELLO = Output(at=NOW, offset=0, line=0, text=b"hello\nwor")
WORLD = Output(at=NOW + 1, offset=9, line=1, text=b"ld\n\xff\x00")
STARTED = Started(at=NOW + 2, pid=4_711)
DONE = Result(at=NOW + 5, code=0, elapsed=3.0, size=14, lines=2)


def changes(**values: Any) -> Changes:
    return Changes(at=NOW, values=values)


async def log(store: Store, id_: str) -> list[Any]:
    found: list[Any] = await store.call("XRANGE", JOBS.log(id_), "-", "+")
    return found


async def test_a_job_is_reported_from_start_to_end(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    some = numbered("j1", STARTED, HELLO, WORLD, changes(progress=0.5), DONE)
    applied = await reports.apply(store, server.id, "one", some)
    assert applied.acknowledged == {"j1": 5}
    assert applied.drop == ()
    assert [id_ for id_, _ in await log(store, "j1")] == [b"2-0", b"3-0"]
    _, fields = (await log(store, "j1"))[1]
    assert list(fields) == [b"at", b"offset", b"line", b"text"]
    assert list(fields.values()) == [f"{NOW + 1}.000".encode(), b"9", b"1", b"ld\n\xff\x00"]
    assert await field(store, "j1", "started") == NOW + 2
    assert await field(store, "j1", "pid") == 4_711
    assert await field(store, "j1", "progress") == 0.5
    assert await field(store, "j1", "log_file_size") == 14
    assert await field(store, "j1", "_lines") == 2
    assert await field(store, "j1", "state") == "finishing"
    result = msgspec.convert(await field(store, "j1", "_result"), Result)
    assert result == DONE
    assert await store.call("LRANGE", JOBS.finishing(), 0, -1) == [b"j1"]


async def test_a_report_is_applied_once_however_often_it_comes(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    some = numbered(
        "j1",
        STARTED,
        HELLO,
        changes(data={"a": [1]}, push={"tags": ["x"]}),
        changes(data={"a": [2]}),
        DONE,
    )
    for last in range(1, 6):
        for first in range(last):
            applied = await reports.apply(store, server.id, "one", some[first:last])
            assert applied.acknowledged == {"j1": last}
    assert await field(store, "j1", "data") == {"a": [1, 2]}
    assert await field(store, "j1", "tags") == ["x"]
    assert len(await log(store, "j1")) == 1
    assert await store.call("LLEN", JOBS.finishing()) == 1


async def test_nothing_after_a_gap_is_applied_or_acknowledged(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    for body in (changes(progress=0.9), changes(data={"x": 1})):
        applied = await reports.apply(
            store, server.id, "one", [Report("j1", 1, STARTED), Report("j1", 3, body)]
        )
        assert applied.acknowledged == {"j1": 1}
    assert await field(store, "j1", "progress") is None
    assert await field(store, "j1", "data") is None
    applied = await reports.apply(store, server.id, "one", [Report("j1", 2, HELLO)])
    assert applied.acknowledged == {"j1": 2}


async def test_reports_come_in_any_order_within_a_batch(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    some = numbered("j1", STARTED, HELLO, WORLD, changes(status="a"), changes(status="b"), DONE)
    random.Random(4).shuffle(some)
    applied = await reports.apply(store, server.id, "one", some)
    assert applied.acknowledged == {"j1": 6}
    assert await field(store, "j1", "status") == "b"


async def test_an_older_value_never_replaces_a_newer_one(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    first, second = numbered("j1", changes(status="a"), changes(status="b"))
    await reports.apply(store, server.id, "one", [first, second])
    await reports.apply(store, server.id, "one", [first])
    assert await field(store, "j1", "status") == "b"


async def test_many_jobs_are_written_by_one_call(store: Store) -> None:
    server, _ = await connected(store)
    some = []
    for n in range(50):
        await sent(store, server.id, f"j{n}")
        some += numbered(f"j{n}", STARTED, HELLO, DONE)
    await store.call("CONFIG", "RESETSTAT")
    applied = await reports.apply(store, server.id, "one", some)
    assert applied.acknowledged == {f"j{n}": 3 for n in range(50)}
    stats = await store.call("INFO", "commandstats")
    assert stats["cmdstat_eval"]["calls"] + stats.get("cmdstat_evalsha", {"calls": 0})["calls"] <= 2
    assert await store.call("LLEN", JOBS.finishing()) == 50


@pytest.mark.parametrize("session", ["two", ""])
async def test_what_an_old_session_reports_is_refused(store: Store, session: str) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    with pytest.raises(SessionLost):
        await reports.apply(store, server.id, session, numbered("j1", STARTED))
    assert await field(store, "j1", "pid") is None


async def test_an_agent_writes_nothing_for_jobs_of_others(store: Store) -> None:
    server, _ = await connected(store)
    other, _ = await connected(store, "db-2")
    await sent(store, other.id, "j1")
    some = [*numbered("j1", STARTED, HELLO, DONE), *numbered("none", STARTED)]
    some += numbered("j1:x", changes(data={"a": 1}))
    before = await store.call("HGETALL", JOBS.job("j1"))
    applied = await reports.apply(store, server.id, "one", some)
    assert applied.acknowledged == {}
    assert set(applied.drop) == {"j1", "none", "j1:x"}
    assert await store.call("HGETALL", JOBS.job("j1")) == before
    assert await store.call("EXISTS", JOBS.log("j1"), JOBS.finishing(), JOBS.job("none")) == 0


async def test_a_job_that_was_ended_meanwhile_takes_no_reports(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    await reports.apply(store, server.id, "one", numbered("j1", STARTED))
    await store.call("HSET", JOBS.job("j1"), "_result", "{}", "state", '"finishing"')
    late = numbered("j1", HELLO, DONE, first=2)
    assert (await reports.apply(store, server.id, "one", late)).drop == ("j1",)
    assert await store.call("EXISTS", JOBS.log("j1"), JOBS.finishing()) == 0


async def test_the_start_is_neither_before_the_assignment_nor_in_the_future(store: Store) -> None:
    server, _ = await connected(store)
    now = (await presence.read(store)).now
    for id_, at in (("j1", NOW - 500), ("j2", now + 5_000)):
        await sent(store, server.id, id_)
        await reports.apply(store, server.id, "one", numbered(id_, Started(at=at, pid=1)))
    assert await field(store, "j1", "started") == NOW
    assert NOW < await field(store, "j2", "started") < now + 4_000


MERGES: list[tuple[list[Body], dict[str, Any]]] = [
    ([changes(data={"a": 1, "b": [1]}), changes(data={"a": 2, "b": [2]})], {"a": 2, "b": [1, 2]}),
    ([changes(data={"a": []}), changes(data={"a": []})], {"a": []}),
    ([changes(data={"a": {}}), changes(data={"b": 1})], {"a": {}, "b": 1}),
    ([changes(data={"a": {"x": 1}}), changes(data={"a": {"y": 1}})], {"a": {"y": 1}}),
    ([changes(data={"a": 2**53 + 1}), changes(data={"b": 0.1})], {"a": 2**53 + 1, "b": 0.1}),
    ([changes(data={"a": [1]}), changes(data={"a": "text"})], {"a": "text"}),
    ([changes(data={"a": None, "é": "\u2028"}), changes(data="text")], {"a": None, "é": "\u2028"}),
    ([changes(data={"1.0": [[]]}), changes(data={"1.0": [{}]})], {"1.0": [[], {}]}),
]


@pytest.mark.parametrize(("bodies", "data"), MERGES)
@pytest.mark.parametrize("is_whole", [True, False])
async def test_data_is_merged_exactly(
    store: Store, bodies: list[Body], data: Any, is_whole: bool
) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    some = numbered("j1", *bodies)
    for batch in [some] if is_whole else [[one] for one in some]:
        await reports.apply(store, server.id, "one", batch)
    assert await field(store, "j1", "data") == data


async def test_a_job_does_not_push_without_end(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    some = [changes(push={"tags": [f"{n}-{i}" for i in range(400)]}) for n in range(4)]
    await reports.apply(store, server.id, "one", numbered("j1", *some))
    assert len(await field(store, "j1", "tags")) == 1_000
    lines = [line["msg"] for line in await field(store, "j1", "activity")]
    assert lines[-1] == "items of push.tags were ignored: a job has at most 1,000"


async def test_what_a_job_pushes_is_added(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1", tags=("a",))
    mail = {"trigger": "error", "type": "email", "email": "alice@example.com"}
    pushed = {
        "tags": ["b", "a", 5],
        "actions": [mail, {"type": "nonsense"}],
        "limits": [{"type": "time", "duration": 60}],
        "server": ["x"],
    }
    applied = await reports.apply(store, server.id, "one", numbered("j1", changes(push=pushed)))
    assert applied.acknowledged == {"j1": 1}
    assert await field(store, "j1", "tags") == ["a", "b"]
    assert await field(store, "j1", "actions") == [mail | {"source": "job"}]
    assert await field(store, "j1", "limits") == [{"type": "time", "duration": 60.0}]
    assert await field(store, "j1", "server") == server.id
    lines = [line["msg"] for line in await field(store, "j1", "activity")]
    assert len(lines) == 3
    assert "'server' can't be pushed; it was ignored" in lines


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"event": "e2"}, {"event": "e1"}),
        ({"server": "s2"}, {}),
        ({"_result": {}, "state": "complete"}, {"_result": None, "state": "active"}),
        ({"actions": [], "tags": "x", "command": "rm"}, {"actions": None, "command": None}),
        ({"progress": "much"}, {"progress": None}),
        ({"progress": True}, {"progress": None}),
        ({"update_event": 5}, {"update_event": None}),
        ({"status": {"a": 1}}, {"status": None}),
        ({"perf": [msgspec.msgpack.Ext(5, b"x")]}, {"perf": None}),
    ],
)
async def test_a_job_sets_nothing_but_what_it_may(
    store: Store, values: dict[str, Any], kept: dict[str, Any]
) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    both = changes(**values, label="set")
    applied = await reports.apply(store, server.id, "one", numbered("j1", both))
    assert applied.acknowledged == {"j1": 1}
    for name, value in kept.items():
        assert await field(store, "j1", name) == value
    assert await field(store, "j1", "label") == "set"
    assert await field(store, "j1", "activity")


async def test_values_of_one_kind_replace_each_other(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    table = {"header": ["a"], "rows": [[1, []]]}
    values = {"progress": 5, "status": "x" * 5_000, "table": table, "update_event": {"a": False}}
    await reports.apply(store, server.id, "one", numbered("j1", changes(**values)))
    assert await field(store, "j1", "progress") == 1.0
    assert len(await field(store, "j1", "status")) == 2_000
    assert await field(store, "j1", "table") == table
    assert await field(store, "j1", "update_event") == {"a": False}


async def test_a_value_that_is_too_long_is_ignored(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    some = numbered("j1", changes(data={"a": 1}), changes(data={"b": "x" * (9 << 20)}))
    await reports.apply(store, server.id, "one", some)
    assert await field(store, "j1", "data") == {"a": 1}
    (line,) = await field(store, "j1", "activity")
    assert "longer than" in line["msg"]


async def test_the_latest_thousand_lines_of_activity_are_kept(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    lines = tuple(f"line {n}" for n in range(990))
    more = tuple(f"more {n}" for n in range(20))
    first, second = Changes(at=NOW, activity=lines), Changes(at=NOW, activity=more)
    await reports.apply(store, server.id, "one", numbered("j1", first))
    await reports.apply(store, server.id, "one", numbered("j1", second, first=2))
    found = await field(store, "j1", "activity")
    assert len(found) == 1_000
    assert (found[0]["msg"], found[-1]["msg"]) == ("line 10", "more 19")
    assert found[-1]["server"] == server.id


async def test_no_line_of_activity_is_lost_when_others_write_some(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")

    async def others() -> None:
        for n in range(50):
            while True:
                old = await store.call("HGET", JOBS.job("j1"), "activity") or b"[]"
                new = msgspec.json.encode([*msgspec.json.decode(old), {"epoch": 1, "msg": f"o{n}"}])
                script = (
                    "if (redis.call('HGET', KEYS[1], 'activity') or '[]') ~= ARGV[1] "
                    "then return 0 end redis.call('HSET', KEYS[1], 'activity', ARGV[2]) return 1"
                )
                if await store.call("EVAL", script, 1, JOBS.job("j1"), old, new):
                    break

    async def ours() -> None:
        for n in range(1, 51):
            line = Changes(at=NOW, activity=(f"a{n}",))
            await reports.apply(store, server.id, "one", [Report("j1", n, line)])

    await asyncio.gather(others(), ours())
    found = {line["msg"] for line in await field(store, "j1", "activity")}
    assert found == {f"o{n}" for n in range(50)} | {f"a{n}" for n in range(1, 51)}


async def test_a_limit_that_was_reached_is_an_action_to_carry_out(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    reached = LimitReached(at=NOW, limit=2, description="it used 5 GiB")
    for _ in range(2):
        await reports.apply(store, server.id, "one", numbered("j1", STARTED, reached))
    (item,) = await store.call("LRANGE", JOBS.actions(), 0, -1)
    assert msgspec.json.decode(item) == {"job": "j1", "limit": 2, "text": "it used 5 GiB"}
    assert (await field(store, "j1", "activity"))[0]["msg"] == "it used 5 GiB"


async def test_a_result_names_only_files_of_its_own_job(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")

    def file(path: str) -> dict[str, Any]:
        return {"id": "f1", "filename": "a", "path": path, "size": 1, "job": "j9", "server": "s9"}

    paths = ["jobs/j1/files/f1/a", "jobs/j2/files/f1/a", "../x", "jobs/j1/log.gz"]
    given = (*map(file, paths), {"path": 5})
    done = Result(at=NOW, code=0, files=given)
    await reports.apply(store, server.id, "one", numbered("j1", done))
    (kept,) = (await field(store, "j1", "_result"))["files"]
    assert (kept["path"], kept["job"], kept["server"]) == ("jobs/j1/files/f1/a", "j1", server.id)


async def test_pages_hear_of_changes_and_not_of_output(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    bodies = (STARTED, HELLO, changes(progress=0.1), WORLD, DONE)
    heard, news = [], Jobs().news()
    async for item in listen(store, news):
        if isinstance(item, Gap):
            for one in numbered("j1", *bodies):
                await reports.apply(store, server.id, "one", [one])
                await store.call("PUBLISH", news, "next")
        else:
            heard.append(item.body)
            if heard.count(b"next") == len(bodies):
                break
    assert heard == [b"j1", b"next", b"next", b"j1", b"next", b"next", b"j1", b"next"]


async def test_a_spoilt_key_spoils_one_job(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    await sent(store, server.id, "j2")
    await store.call("HSET", JOBS.job("j2"), "_reported", "many", "data", "no JSON", "tags", "7")
    await sent(store, server.id, "j3")
    await store.call("SET", "{jobs}:job:spoilt", "x")
    await store.call("SET", JOBS.log("j3"), "x")
    body = changes(data={"a": 1}, push={"tags": ["x"]})
    some = [Report(id_, 1, body) for id_ in ("j1", "j2", "spoilt")]
    some += numbered("j3", HELLO, DONE)
    applied = await reports.apply(store, server.id, "one", some)
    assert applied.acknowledged == {"j1": 1, "j2": 1, "j3": 2}
    assert applied.drop == ("spoilt",)
    assert await field(store, "j2", "data") == {"a": 1}
    await store.call("DEL", "{jobs}:job:spoilt", JOBS.log("j3"))


async def test_a_spoilt_queue_leaves_the_reports_with_the_agent(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    await store.call("SET", JOBS.finishing(), "x")
    with pytest.raises(Exception, match="WRONGTYPE"):
        await reports.apply(store, server.id, "one", numbered("j1", STARTED, DONE))
    assert await field(store, "j1", "_reported") is None
    await store.call("DEL", JOBS.finishing())
    applied = await reports.apply(store, server.id, "one", numbered("j1", STARTED, DONE))
    assert applied.acknowledged == {"j1": 2}


async def test_of_two_sessions_that_write_at_the_same_time_each_report_counts_once(
    store: Store,
) -> None:
    """The agent comes back while the old connection still writes what it had received."""
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    some = numbered("j1", *(changes(data={"n": [n]}) for n in range(40)))

    async def old() -> None:
        for first in range(0, 40, 2):
            await reports.apply(store, server.id, "one", some[: first + 2])

    async def new() -> None:
        await presence.connect(store, server.id, Link(session="two", process="web-2", since=NOW))
        await reports.apply(store, server.id, "two", some)

    results = await asyncio.gather(old(), new(), return_exceptions=True)
    assert [
        one for one in results if isinstance(one, Exception) and not isinstance(one, SessionLost)
    ] == []
    assert await field(store, "j1", "data") == {"n": list(range(40))}
    assert await store.call("HEXISTS", FLEET.links(), server.id) == 1
