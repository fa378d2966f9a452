"""An agent that connects to a site, as far as the site can tell."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.fleet.crew import INFO, NOW
from tests.jobs.assigned import BOOT
from tests.web.site import Site
from watchbell.fleet import tokens
from watchbell.fleet.messages import (
    FromAgent,
    Hello,
    KnownJob,
    Refusal,
    Report,
    Reports,
    ToAgent,
    Welcome,
    encode,
    to_agent,
)

M = TypeVar("M", bound=ToAgent)


class Agent:
    def __init__(self, link: ClientConnection) -> None:
        self.link = link

    async def send(self, message: FromAgent) -> None:
        await self.link.send(encode(message))

    async def report(self, *reports: Report) -> None:
        await self.send(Reports(reports=reports))

    async def next(self, kind: type[M]) -> M:
        """The next message of this kind; others are passed over."""
        while True:
            message = to_agent.decode(await self.link.recv(decode=False))
            if isinstance(message, kind):
                return message
            assert not isinstance(message, Refusal), message.reason

    async def refused(self) -> Refusal:
        """The refusal, after which the server closes the connection."""
        while True:
            message = to_agent.decode(await self.link.recv(decode=False))
            if isinstance(message, Refusal):
                await self.link.wait_closed()
                return message

    async def closed(self) -> None:
        """Until the server closes the connection; messages are passed over."""
        with suppress(ConnectionClosed):
            while True:
                await self.link.recv()

    async def greet(self, hostname: str = "db-1", **more: Any) -> Welcome:
        await self.send(Hello(**{"hostname": hostname, "info": INFO, "boot": BOOT, **more}))
        return await self.next(Welcome)


def url(site: Site) -> str:
    return f"{site.url.replace('http', 'ws', 1)}/api/agent/v1/link"


@asynccontextmanager
async def linked(site: Site, token: str) -> AsyncIterator[Agent]:
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(url(site), additional_headers=headers, max_size=None) as link:
        yield Agent(link)


async def join_token(site: Site, **more: Any) -> str:
    text, _ = await tokens.create_join(site.store, "alice", NOW, **more)
    return text


@asynccontextmanager
async def joined(
    site: Site, hostname: str = "db-1", jobs: tuple[KnownJob, ...] = (), **more: Any
) -> AsyncIterator[tuple[Agent, Welcome]]:
    """A new server that is connected."""
    async with linked(site, await join_token(site)) as agent:
        yield agent, await agent.greet(hostname, jobs=jobs, **more)
