"""`/healthz`: 503 while the store is away, silent, or refuses writes."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests import servers
from tests.servers.process import Server
from tests.servers.refusal import SNAPSHOTS, misconf
from tests.web.site import served
from watchbell.store import url as store_url
from watchbell.store.client import Store


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    server.stop()
    yield
    server.start()


@contextmanager
def silent(server: Server) -> Iterator[None]:
    server.pause()
    yield
    server.resume()


@pytest.mark.parametrize("ill", [stopped, silent, misconf])
async def test_health_says_503_before_anybody_gives_up_and_is_well_again_after(
    folder: Path, ill: Callable[[Server], AbstractContextManager[None]]
) -> None:
    with servers.single(folder, [SNAPSHOTS]) as single:
        async with (
            Store(store_url.parse(single.url)) as store,
            served(store) as site,
            site.stranger() as visitor,
        ):
            assert (await visitor.get("/healthz")).status == 200
            with ill(single.server):
                # A store that is silent answers nothing for twenty seconds, and then is away.
                async with asyncio.timeout(15):
                    answer = await visitor.get("/healthz")
                assert answer.status == 503
                assert answer.headers["Retry-After"]
            assert (await visitor.get("/healthz")).status == 200
