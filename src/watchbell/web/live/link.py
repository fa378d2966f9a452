"""The connection beneath a stream: told when the server stops, and cut where nobody reads."""

import asyncio

from litestar.types import Scope


class Link:
    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.stopping = asyncio.Event()
        """Set when the server stops, which then waits for answers to end."""

    def cut(self) -> None:
        """Hangs up at once, if there is something that the other side does not read."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()

    def extensions(self) -> dict[str, dict[object, object]]:
        """Of the scope of a request, in which `link_of` finds it."""
        return {"watchbell": {"link": self}}


def link_of(scope: Scope) -> Link | None:
    """Of a request; none where another server than ours serves."""
    extensions = scope.get("extensions") or {}
    link = extensions.get("watchbell", {}).get("link")
    return link if isinstance(link, Link) else None
