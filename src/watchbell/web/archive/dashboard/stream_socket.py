"""The WebSocket `/stream`: to viewers only; what they send is ignored."""

import asyncio
import socket
from contextlib import suppress
from typing import Any

from litestar.types import Receive, Send
from uvicorn.protocols.utils import ClientDisconnected
from websockets.extensions.permessage_deflate import (
    PerMessageDeflate,
    ServerPerMessageDeflateFactory,
)

from watchbell.web.archive.dashboard.broadcaster import Broadcaster
from watchbell.web.archive.dashboard.frame_ring import Chunk
from watchbell.web.archive.dashboard.frames import WINDOW_BITS
from watchbell.web.server import WebSocket, WebSockets

_CHUNK = "watchbell.chunk"
_BUFFER = 128 << 10
"""Bytes that the system keeps for a viewer. More would only delay what it misses."""


class StreamSocket(WebSocket):
    """Also sends frames that are encoded already."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.conn.available_extensions = [
            ServerPerMessageDeflateFactory(
                server_no_context_takeover=True, client_no_context_takeover=True
            )
        ]

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        plain = transport.get_extra_info("socket")
        with suppress(OSError):
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)

    @property
    def _is_deflated(self) -> bool:
        """A viewer with a smaller window can't read our compressed frames, and gets plain ones."""
        return any(
            isinstance(one, PerMessageDeflate) and one.local_max_window_bits == WINDOW_BITS
            for one in self.conn.extensions
        )

    async def send(self, message: Any) -> None:
        if message["type"] != _CHUNK:
            await super().send(message)
            return
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        chunk: Chunk = message["chunk"]
        self.transport.write(chunk.joined(is_deflated=self._is_deflated))

    def keepalive_timeout(self) -> None:
        """A viewer that reads nothing would keep a connection that is merely closed open."""
        super().keepalive_timeout()
        self.transport.abort()

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.get_write_buffer_size():
            self.transport.abort()


VIEWERS = WebSockets(protocol=StreamSocket, most_message=4_096, ping_every=20.0, ping_timeout=60.0)


async def stream(broadcaster: Broadcaster, receive: Receive, send: Send) -> None:
    """Serves one viewer until it is gone."""

    async def give(chunk: Chunk) -> None:
        message: Any = {"type": _CHUNK, "chunk": chunk}
        await send(message)

    async def follow() -> None:
        with suppress(ClientDisconnected):
            await broadcaster.follow(give)

    await receive()
    await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
    async with asyncio.TaskGroup() as group:
        following = group.create_task(follow())
        while (await receive())["type"] != "websocket.disconnect":
            pass
        following.cancel()
