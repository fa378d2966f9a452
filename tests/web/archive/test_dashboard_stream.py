"""The dashboard's WebSocket, with real viewers: fast, slow, many, and of other origins."""

import asyncio
import tracemalloc
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.extensions.permessage_deflate import (
    ClientPerMessageDeflateFactory,
    PerMessageDeflate,
)

from tests import servers
from tests.archive.crawling import NOW, SITE, append, running
from tests.waiting import eventually
from tests.web.archive.dashboards import (
    JOB,
    Dashboard,
    batch,
    numbers_of,
    publish,
    received,
    served,
    small_socket,
    subscribed,
)
from watchbell.archive import crawl_log, log_draining
from watchbell.archive.model import Increments, LogEntry
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.web.archive.dashboard.stream_socket import VIEWERS


async def test_every_entry_of_a_log_is_a_frame_with_the_whole_record(store: Store) -> None:
    owned = await running(store)
    async with served(store) as dashboard, dashboard.viewer() as viewer:
        await dashboard.viewed_by(1)
        await append(store, owned, 1, 200, 404)
        line = LogEntry(type="stdout", ts=NOW, message="Paused.")
        await crawl_log.append(store, owned, 2, [line], Increments())
        await log_draining.drain(store, SITE)
        first, second, third = await received(viewer, 3)
    assert [one["type"] for one in (first, second, third)] == ["download", "download", "stdout"]
    assert (first["response_code"], second["response_code"]) == (200, 404)
    assert third["message"] == "Paused."
    job = first["job_data"]
    assert first["ident"] == job["ident"] == SITE
    assert (job["url"], job["r2xx"], job["r4xx"], job["r5xx"]) == (
        *(f"https://{SITE}.example.com/", "1", "1"),
        "0",
    )
    assert all(isinstance(value, str) for value in job.values())


@pytest.mark.parametrize("compression", ["deflate", None])
async def test_a_viewer_gets_the_same_with_and_without_compression(
    store: Store, compression: str | None
) -> None:
    async with served(store) as dashboard, dashboard.viewer(compression=compression) as viewer:
        await dashboard.viewed_by(1)
        assert bool(viewer.protocol.extensions) is (compression is not None)
        for extension in viewer.protocol.extensions:
            assert isinstance(extension, PerMessageDeflate)
            assert extension.remote_no_context_takeover
        # Lengths of frames that are written in different ways, and one that is not compressed.
        for size in (0, 40, 60_000, 70_000):
            await publish(store, batch(range(1), padding="ü" * size))
            (message,) = await received(viewer, 1)
            assert message["padding"] == "ü" * size
            assert message["job_data"]["note"] == "grüße"


async def test_a_viewer_with_a_small_window_gets_plain_frames(store: Store) -> None:
    small = ClientPerMessageDeflateFactory(server_max_window_bits=9)
    async with served(store) as dashboard, dashboard.viewer(extensions=[small]) as viewer:
        await dashboard.viewed_by(1)
        await publish(store, batch(range(3), padding="abc" * 1_000))
        assert numbers_of(await received(viewer, 3)) == [0, 1, 2]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"no JSON", b"\xff\xfe", b"[]", b"null", b"{}", b'{"ident": "a"}', b"[" * 100_000),
        b'{"ident": 1, "job_data": {}, "entries": [{}]}',
        b'{"ident": "a", "job_data": [], "entries": [{}]}',
        b'{"ident": "a", "job_data": {"a": 1}, "entries": [{}]}',
        b'{"ident": "a", "job_data": {}, "entries": {}}',
        b'{"ident": "a", "job_data": {}, "entries": [1, null, "x", []]}',
        batch(range(2), {"note": "x" * 300_000}),
        batch(range(2), padding="x" * 300_000),
    ],
    ids=lambda body: repr(body[:50]),
)
async def test_a_batch_that_makes_no_sense_is_passed_over(store: Store, body: bytes) -> None:
    async with served(store) as dashboard, dashboard.viewer() as viewer:
        await dashboard.viewed_by(1)
        await publish(store, body)
        await publish(store, batch(range(5, 6)))
        assert numbers_of(await received(viewer, 1)) == [5]


async def test_an_entry_can_not_replace_the_record_of_its_crawl(store: Store) -> None:
    async with served(store) as dashboard, dashboard.viewer() as viewer:
        await dashboard.viewed_by(1)
        await publish(store, batch(range(1), job_data={"url": "https://example.net/"}, ident="x"))
        (message,) = await received(viewer, 1)
    assert (message["ident"], message["job_data"]["url"]) == (SITE, JOB["url"])


async def test_names_and_passwords_in_urls_are_hidden(store: Store) -> None:
    async with served(store) as dashboard, dashboard.viewer() as viewer:
        await dashboard.viewed_by(1)
        job = {**JOB, "url": "https://alice:secret@example.com/@alice?a@b"}
        await publish(store, batch(range(1), job, message="ftp://bob:p@ss@example.com/x failed"))
        (message,) = await received(viewer, 1)
    assert message["job_data"]["url"] == "https://***@example.com/@alice?a@b"
    assert message["message"] == "ftp://***@example.com/x failed"


async def test_what_viewers_send_is_ignored_unless_it_is_large(store: Store) -> None:
    async with served(store) as dashboard, dashboard.viewer() as viewer:
        await dashboard.viewed_by(1)
        await viewer.send("hello")
        await viewer.send(b"\0")
        await publish(store, batch(range(1)))
        assert numbers_of(await received(viewer, 1)) == [0]
        await viewer.send("x" * 100_000)
        with pytest.raises(ConnectionClosedError):
            await viewer.recv()
        await dashboard.viewed_by(0)


async def test_a_viewer_that_is_gone_is_forgotten(store: Store) -> None:
    async with served(store) as dashboard:
        async with dashboard.viewer() as viewer:
            await dashboard.viewed_by(1)
            viewer.transport.abort()
            await dashboard.viewed_by(0)
        async with dashboard.viewer() as other:
            await dashboard.viewed_by(1)
            await publish(store, batch(range(10, 11)))
            assert numbers_of(await received(other, 1)) == [10]


async def stalled(dashboard: Dashboard, stack: AsyncExitStack) -> ClientConnection:
    """A viewer that has stopped to read."""
    viewer = await stack.enter_async_context(
        dashboard.viewer(sock=small_socket(dashboard.port), compression=None, max_queue=1)
    )
    viewer.transport.pause_reading()
    stack.callback(viewer.transport.abort)
    return viewer


async def test_a_slow_viewer_misses_the_oldest_and_holds_nobody_up(store: Store) -> None:
    async with AsyncExitStack() as stack:
        dashboard = await stack.enter_async_context(served(store))
        slow = await stalled(dashboard, stack)
        fast = await stack.enter_async_context(dashboard.viewer())
        await dashboard.viewed_by(2)
        number, padding = 0, "x" * 2_000
        while dashboard.broadcaster.ring.first < 2_000:  # the slow one is far behind
            await publish(store, batch(range(number, number + 500), padding=padding))
            assert numbers_of(await received(fast, 500)) == [*range(number, number + 500)]
            number += 500
        slow.transport.resume_reading()
        found = [0]
        while found[-1] < number - 1:
            found += numbers_of(await received(slow, 1))
        dropped = dashboard.broadcaster.dropped
    assert found[1:] == sorted(set(found[1:]))
    assert found[-1_000:] == [*range(number - 1_000, number)]
    assert dropped == number - len(found[1:])
    assert dropped > 500


async def test_a_viewer_that_reads_nothing_is_cut_off_in_the_end(store: Store) -> None:
    impatient = replace(VIEWERS, ping_every=0.2, ping_timeout=0.2)
    async with AsyncExitStack() as stack:
        dashboard = await stack.enter_async_context(served(store, viewers=impatient))
        await stalled(dashboard, stack)
        await dashboard.viewed_by(1)
        for first in range(0, 2_000, 500):  # more than the system takes
            await publish(store, batch(range(first, first + 500), padding="x" * 2_000))
        await dashboard.viewed_by(0)


async def test_two_hundred_viewers_get_everything(store: Store) -> None:
    async with AsyncExitStack() as stack:
        dashboard = await stack.enter_async_context(served(store))
        viewers = [await stack.enter_async_context(dashboard.viewer()) for _ in range(200)]
        await dashboard.viewed_by(200)
        for first in range(0, 400, 100):
            await publish(store, batch(range(first, first + 100)))
        for viewer in viewers:
            assert numbers_of(await received(viewer, 400)) == [*range(400)]
    assert dashboard.broadcaster.dropped == 0


async def test_stalled_viewers_cost_little_memory(store: Store) -> None:
    async with AsyncExitStack() as stack:
        dashboard = await stack.enter_async_context(served(store))
        for _ in range(100):
            await stalled(dashboard, stack)
        await dashboard.viewed_by(100)
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        ring, padding = dashboard.broadcaster.ring, "x" * 2_000
        for first in range(0, 10_000, 500):
            await publish(store, batch(range(first, first + 500), padding=padding))
            await eventually(lambda wanted=first + 500: ring.end == wanted)  # type: ignore[misc]
        used, _ = tracemalloc.get_traced_memory()
    # The ring, and for each viewer what a connection may hold; a queue for each would be 250 MB.
    assert ring.size < 4_000_000
    assert used < 2 * ring.size + 100 * 200_000


async def test_viewers_stay_while_the_store_is_down_and_get_what_comes_after(folder: Path) -> None:
    with servers.single(folder) as single:
        async with (
            Store(store_url.parse(single.url)) as store,
            served(store) as dashboard,
            dashboard.viewer() as viewer,
        ):
            await dashboard.viewed_by(1)
            await publish(store, batch(range(1)))
            assert numbers_of(await received(viewer, 1)) == [0]
            await asyncio.to_thread(single.server.kill)
            await asyncio.to_thread(single.server.start)
            async with Store(store_url.parse(single.url)) as other:
                await subscribed(other)
                await publish(other, batch(range(1, 2)))
                assert numbers_of(await received(viewer, 1)) == [1]
            assert dashboard.broadcaster.viewers == 1


def coming_as(dashboard: Dashboard, host: str, origin: str | None) -> connect:
    """The library makes the header `Host` of the address; the connection leads elsewhere."""
    sock = small_socket(dashboard.port)
    return connect(f"ws://{host}/stream", origin=cast("Any", origin), sock=sock)


LISTED = "https://archive.example.com"


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:4567", None),
        ("127.0.0.1:4568", "http://127.0.0.1:4567"),
        ("archive.example.com", LISTED),
    ],
)
async def test_programs_and_pages_of_known_origins_get_the_stream(
    store: Store, host: str, origin: str | None
) -> None:
    async with served(store, origins=(LISTED,)) as dashboard, coming_as(dashboard, host, origin):
        await dashboard.viewed_by(1)


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:4568", "https://example.net"),
        ("127.0.0.1:4568", "null"),
        ("example.net:4568", "http://example.net:4568"),
        ("example.net:4568", None),
    ],
)
async def test_pages_of_other_sites_do_not_get_the_stream(
    store: Store, host: str, origin: str | None
) -> None:
    async with served(store, origins=(LISTED,)) as dashboard:
        with pytest.raises(InvalidStatus) as refused:
            await coming_as(dashboard, host, origin)
    answer = refused.value.response
    assert answer.status_code == 403
    assert b"archive.dashboard.origins" in (answer.body or b"")


async def test_there_is_no_other_websocket(store: Store) -> None:
    async with served(store) as dashboard:
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://127.0.0.1:{dashboard.port}/other")
        assert refused.value.response.status_code == 404
