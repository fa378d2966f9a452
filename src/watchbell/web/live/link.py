"""The connection of a stream, which ends when the server stops or nobody reads."""

import asyncio

from litestar.types import Scope


class Link:
    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.stopping = asyncio.Event()
        """Set when the server stops, which then waits for answers to end."""

    def cut(self) -> None:
        """Closes the connection at once if the other side does not read."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()

    def extensions(self) -> dict[str, dict[object, object]]:
        """The key in a request's scope under which `link_of` finds it."""
        return {"watchbell": {"link": self}}


def link_of(scope: Scope) -> Link | None:
    """Of a request; None under another server than ours."""
    extensions = scope.get("extensions") or {}
    link = extensions.get("watchbell", {}).get("link")
    return link if isinstance(link, Link) else None
