"""Streams: how they live, and what ends them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientPayloadError, ClientResponse, ClientTimeout
from litestar import get

from tests.waiting import PATIENCE, eventually
from tests.web.site import BY, Site, Visitor, serving_app
from watchbell.actors import signed_in
from watchbell.clock import SYSTEM
from watchbell.errors import StoreUnavailable
from watchbell.web import server
from watchbell.web.access import needs
from watchbell.web.app import application
from watchbell.web.live import sse, streams
from watchbell.web.live.sse import EVENT_STREAM, Event, EventStream, LastEvent, Resume, streamed
from watchbell.web.live.streams import Streams
from watchbell.web.problems import HttpProblem
from watchbell.web.request_envelope import RequestEnvelope
from watchbell.web.services import Asked


class Source:
    """Tells what it is given to tell, and notices when it is let go of."""

    def __init__(self) -> None:
        self.given: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.begun = self.closed = 0
        self.told = 0
        self.since = ""

    async def events(self) -> AsyncIterator[Event]:
        self.begun += 1
        try:
            while (data := await self.given.get()) is not None:
                if isinstance(data, Exception):
                    raise data
                self.told += 1
                yield Event(f"{self.told}", "said", data)
        finally:
            self.closed += 1


@asynccontextmanager
async def streaming(site: Site, seconds: float = 60) -> AsyncIterator[tuple[Site, Source]]:
    source = Source()

    @get("/said/live", opt=needs("read"), media_type=EVENT_STREAM)
    async def live(request: Asked, last: LastEvent = "", resume: Resume = "") -> EventStream:
        source.since = last or resume
        return streamed(request, source.events())  # type: ignore[arg-type]

    app = application(site.services)
    app.register(live)
    async with serving_app(RequestEnvelope(app, seconds), site.services) as other:
        yield other, source


@asynccontextmanager
async def reading(visitor: Visitor, path: str, **more: Any) -> AsyncIterator[ClientResponse]:
    timeout = ClientTimeout(total=PATIENCE)
    async with visitor.http.get(visitor.site.url + path, timeout=timeout, **more) as answer:
        yield answer


async def line(answer: ClientResponse) -> str:
    """The next line that says something."""
    while text := (await answer.content.readline()).decode():
        if text.strip():
            return text.strip()
    return "the end"


async def lines(answer: ClientResponse, count: int) -> list[str]:
    return [await line(answer) for _ in range(count)]


async def test_events_are_told_as_they_come(site: Site) -> None:
    async with (
        streaming(site) as (live, source),
        live.somebody("viewer") as alice,
        reading(alice, "/said/live") as answer,
    ):
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Accel-Buffering"] == "no"
        assert "ETag" not in answer.headers
        assert await line(answer) == "retry: 2000"
        for word in (b'"a"', b'"\xc3\xbc"'):
            source.given.put_nowait(word)
            said = await lines(answer, 3)
            assert said == [f"id: {source.told}", "event: said", f"data: {word.decode()}"]


async def test_a_stream_outlives_the_time_for_an_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "BEAT", 0.5)
    async with (
        streaming(site, seconds=2) as (live, source),
        live.somebody("viewer") as alice,
        reading(alice, "/said/live") as answer,
    ):
        assert await lines(answer, 6) == ["retry: 2000", *":::::"]
        source.given.put_nowait(b"1")
        assert "data: 1" in await lines(answer, 4)


async def test_a_reader_says_where_to_go_on(site: Site) -> None:
    async with streaming(site) as (live, source), live.somebody("viewer") as alice:
        async with reading(alice, "/said/live?resume=7"):
            assert source.since == "7"
        async with reading(alice, "/said/live?resume=7", headers={"Last-Event-ID": "8"}):
            assert source.since == "8"
        assert (await alice.get(f"/said/live?resume={'7' * 300}")).status == 400


async def test_a_reader_who_is_gone_is_noticed(site: Site) -> None:
    async with streaming(site) as (live, source), live.somebody("viewer") as alice:
        async with reading(alice, "/said/live") as answer:
            assert await line(answer) == "retry: 2000"
            await eventually(lambda: source.begun)
            assert live.services.streams.open == 1
            answer.close()
        await eventually(lambda: source.closed)
        await eventually(lambda: live.services.streams.open == 0)


async def test_a_reader_who_reads_nothing_holds_one_event_and_is_given_up(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "STALLED", 0.3)
    async with streaming(site) as (live, source), live.program("read") as program:
        key = program.http.headers["Authorization"]
        host, port = live.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1)
        request = f"GET /said/live HTTP/1.1\r\nHost: a\r\nAuthorization: {key}\r\n\r\n"
        writer.write(request.encode())
        for _ in range(100):
            source.given.put_nowait(b"1" * 1_000_000)
        await eventually(lambda: source.closed)
        assert source.told < 20
        await eventually(lambda: live.services.streams.open == 0)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1 << 30)
        writer.close()


async def test_the_end_of_a_session_ends_its_streams(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "BEAT", 0.05)
    async with streaming(site) as (live, source), live.somebody("viewer") as alice:
        async with reading(alice, "/said/live") as answer:
            assert await lines(answer, 2) == ["retry: 2000", ":"]
            assert (await alice.ask("DELETE", "/api/v1/session")).status == 204
            assert (await answer.content.read()).strip(b":\n") == b""
        assert source.closed
        assert (await alice.get("/said/live")).status == 401


async def test_a_stream_keeps_no_session_alive(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "BEAT", 0.05)
    async with (
        streaming(site) as (live, _),
        live.somebody("viewer") as alice,
        reading(alice, "/said/live") as answer,
    ):
        sessions = live.services.sessions
        monkeypatch.setattr(type(live.services), "now", lambda _: int(SYSTEM.now()) + 3_600)
        assert await lines(answer, 4) == ["retry: 2000", *":::"]
        assert {one.seen for one in (await sessions.all(0)).values()} <= {
            one.began for one in (await sessions.all(0)).values()
        }


async def test_another_role_or_a_revoked_key_ends_a_stream(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "BEAT", 0.05)
    async with streaming(site) as (live, source):
        async with live.somebody("editor", "bob") as bob, reading(bob, "/said/live") as answer:
            assert await line(answer) == "retry: 2000"
            await live.services.users.set_role("bob", "viewer", BY)
            assert (await answer.content.read()).strip(b":\n") == b""
        async with live.program("read") as program, reading(program, "/said/live") as answer:
            assert await line(answer) == "retry: 2000"
            (key,) = await live.services.api_keys.all()
            await live.services.api_keys.revoke(key.id, BY)
            assert (await answer.content.read()).strip(b":\n") == b""
        assert source.closed == 2


@pytest.mark.parametrize("size", [0, 20_000_000])
async def test_a_server_that_stops_does_not_wait_for_streams(
    site: Site, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those whose readers have fallen behind are cut, the others end in order."""
    monkeypatch.setattr(server, "_STOP_SECONDS", 600)
    async with asyncio.timeout(60), site.somebody("viewer") as alice:
        async with streaming(site) as (live, source):
            answers = [await alice.http.get(f"{live.url}/said/live") for _ in range(2)]
            for _ in range(6 if size else 0):  # enough for both: none fits into buffers on the way
                source.given.put_nowait(b"1" * size)
            for answer in answers if size else ():
                await answer.content.readexactly(1_000)
        assert source.closed == 2
        for answer in answers:
            if size:
                with pytest.raises(ClientPayloadError):
                    await answer.content.read()
            else:
                assert await answer.content.read() == b"retry: 2000\n\n"
            answer.close()


async def test_a_server_that_is_cancelled_ends_in_order_too(site: Site) -> None:
    """As a role is: nothing of it lives on."""
    async with site.somebody("viewer") as alice, asyncio.TaskGroup() as group:
        begun = asyncio.get_running_loop().create_future()

        async def serve() -> None:
            async with streaming(site) as (live, source):
                begun.set_result((live, source))
                await asyncio.Event().wait()

        task = group.create_task(serve())
        live, source = await begun
        async with alice.http.get(f"{live.url}/said/live") as answer:
            task.cancel()
            assert await answer.content.read() == b"retry: 2000\n\n"
        assert source.closed == 1


async def test_a_source_that_fails_ends_its_own_stream_alone(site: Site) -> None:
    async with streaming(site) as (live, source), live.somebody("viewer") as alice:
        for failure in (StoreUnavailable("away"), RuntimeError("a fault of ours"), None):
            async with reading(alice, "/said/live") as answer:
                assert await line(answer) == "retry: 2000"
                source.given.put_nowait(failure)
                assert await line(answer) == "the end"
        assert source.closed == 3
        assert live.services.streams.open == 0


async def test_there_are_only_so_many_streams(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_OF_ONE", 2)
    async with (
        streaming(site) as (live, _),
        live.somebody("viewer") as alice,
        live.somebody("viewer", "bob") as bob,
        reading(alice, "/said/live"),
        reading(alice, "/said/live") as second,
    ):
        refused = await alice.get("/said/live")
        assert (refused.status, refused.headers["Retry-After"]) == (429, "30")
        async with reading(bob, "/said/live") as others:
            assert others.status == 200
        second.close()
        await eventually(lambda: live.services.streams.open == 1)
        async with reading(alice, "/said/live") as again:
            assert again.status == 200


def test_all_together_are_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST", 3)
    counted = Streams()
    people = [signed_in(name, "viewer") for name in "abc"]
    with (
        counted.counted(people[0]),
        counted.counted(people[0]),
        counted.counted(people[1]),
        pytest.raises(HttpProblem, match="3 streams are open"),
    ):
        counted.check(people[2])
    counted.check(people[2])
    assert counted.open == 0
