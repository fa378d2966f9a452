"""Servers of a test's own that leave no connection behind."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from watchbell.http.listening import stop

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(
    serve: Serve, host: str, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Serves each connection in a task, and gives the port. At the end, what is still open is cut
    off, and all tasks have ended."""
    open_: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
    is_over = False

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if is_over:
            writer.transport.abort()
            return
        task = asyncio.create_task(served(reader, writer))
        open_[task] = writer
        task.add_done_callback(end)

    def end(task: asyncio.Task[None]) -> None:
        open_.pop(task).close()

    server = await asyncio.start_server(accept, host, 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        is_over = True
        stop(server)
        for task, writer in tuple(open_.items()):
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*open_, return_exceptions=True)
        for _ in range(5):  # connections that were being accepted, and the ends of the others
            await asyncio.sleep(0)
