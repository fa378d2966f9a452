"""A house: a real `watchbell up` with all its roles, and a desk of ours on its store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import ClientError, ClientSession

from tests import servers
from tests.conftest import Up
from tests.waiting import eventually
from tests.web.site import chosen
from watchbell.clock import SYSTEM
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.web.app import open_services
from watchbell.web.services import Services


class House:
    def __init__(self, up: Up, url: str, services: Services) -> None:
        self.up, self.url, self.services, self.store = up, url, services, services.store

    @property
    def first_link(self) -> str:
        """Where the first administrator gets in, as it was printed at the start."""
        words = self.up.log.read_text().split()
        return next(one for one in words if one.startswith(f"{self.url}/sign-in/"))

    async def stop(self) -> None:
        await asyncio.to_thread(self.up.end)

    async def start(self) -> None:
        await asyncio.to_thread(self.up.again)
        await serving(self.url)


async def serving(url: str) -> None:
    async with ClientSession() as http:

        async def answers() -> bool:
            try:
                async with http.get(f"{url}/healthz") as answer:
                    return answer.status == 200
            except ClientError:
                return False

        await eventually(answers, 20, f"pages at {url}")


@asynccontextmanager
async def housed(folder: Path, **environment: str) -> AsyncIterator[House]:
    """`environment` are more settings, as WATCHBELL_ names them."""
    with servers.held_port() as hold:
        port = str(hold.getsockname()[1])
        up = Up(folder / "data", "--port", "0", WATCHBELL_WEB_PORT=port, **environment)
        try:
            await asyncio.to_thread(up.ready)
            url = f"http://{servers.HOST}:{port}"
            await serving(url)
            async with Store(store_url.parse(up.url)) as store:
                yield House(up, url, await open_services(chosen(), store, SYSTEM))
        finally:
            await asyncio.to_thread(up.end)
