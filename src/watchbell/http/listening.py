"""The end of servers of asyncio."""

import asyncio


def stop(server: asyncio.Server) -> None:
    """Accepts no more, and closes the server after the connections that it has just accepted have
    begun: asyncio would drop them without closing their sockets."""
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    loop.call_soon(server.close)
