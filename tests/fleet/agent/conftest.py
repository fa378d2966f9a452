"""An agent within the test, and the server that it is connected to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.fleet.agent.link_server import TOKEN, LinkServer
from tests.waiting import eventually
from watchbell.fleet.agent.agent import run
from watchbell.fleet.agent.agent_folder import Joined
from watchbell.settings import Agent as AgentSettings

Agents = Callable[..., AbstractAsyncContextManager[asyncio.Task[None]]]


@pytest.fixture
async def server() -> AsyncIterator[LinkServer]:
    async with LinkServer() as running:
        yield running


class Served(Protocol):
    @property
    def url(self) -> str: ...


@asynccontextmanager
async def running_agent(
    folder: Path, server: Served, **more: Any
) -> AsyncIterator[asyncio.Task[None]]:
    settings = more.pop("settings", AgentSettings())
    joined = Joined(urls=more.pop("urls", (server.url,)), ca=more.pop("ca", ""))
    options = {"token": TOKEN, "on_stop": "end", **more}
    task = asyncio.get_running_loop().create_task(run(settings, folder, joined, **options))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and task.exception():
            raise task.exception()  # type: ignore[misc]


@pytest.fixture
async def agent(folder: Path, server: LinkServer) -> AsyncIterator[asyncio.Task[None]]:
    async with running_agent(folder / "agent", server) as task:
        yield task
    jobs = folder / "agent" / "jobs"
    await eventually(lambda: list(jobs.iterdir()) == [], why="the removal of all jobs")
