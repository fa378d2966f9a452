"""Serves the dashboard on its ports."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec.structs import replace

from watchbell.clock import Clock
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web import server
from watchbell.web.archive.dashboard.app import application
from watchbell.web.archive.dashboard.broadcaster import Broadcaster
from watchbell.web.archive.dashboard.origins import Origins
from watchbell.web.archive.dashboard.routes import Sources
from watchbell.web.archive.dashboard.stream_socket import VIEWERS
from watchbell.web.server import WebSockets
from watchbell.web.server_url import server_url


@asynccontextmanager
async def serving(
    settings: Settings,
    store: Store,
    clock: Clock,
    allowed: Origins,
    on_change: Callable[[int], None] = lambda _: None,
    viewers: WebSockets = VIEWERS,
) -> AsyncIterator[tuple[int, Broadcaster]]:
    """Gives the port, and the broadcaster, which is to be run. TLS, proxies and the limit of
    connections are those of the web server."""
    chosen = settings.archive.dashboard
    broadcaster = Broadcaster(store, on_change)
    sources = Sources(store, clock, server_url(settings))
    async with server.serving(
        application(sources, broadcaster, allowed),
        replace(settings.web, host=chosen.host, port=chosen.port),
        section="archive.dashboard",
        second_port=chosen.stream_port,
        websockets=viewers,
    ) as port:
        yield port, broadcaster
