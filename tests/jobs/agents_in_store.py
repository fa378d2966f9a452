"""An agent without processes: it takes orders and reports that jobs have ended."""

from collections import Counter
from contextlib import aclosing

from tests.jobs.dispatching import FLEET, put_server
from watchbell.clock import SYSTEM
from watchbell.fleet import presence
from watchbell.fleet.messages import Body, Output, Report, Result, Started
from watchbell.fleet.model import Link, Server
from watchbell.jobs import orders, reports
from watchbell.jobs.model import Code
from watchbell.store.client import Store
from watchbell.store.live import listen

BOOT = "boot"


class QuickAgent:
    """Runs every job in no time, with one result."""

    def __init__(self, store: Store, server: Server, code: Code = 0) -> None:
        self._store, self._server, self._code = store, server, code
        self._session = f"session of {server.id}"
        self.started: Counter[str] = Counter()

    async def join(self) -> None:
        await put_server(self._store, self._server)
        link = Link(session=self._session, process="test", since=0, boot=BOOT)
        await presence.connect(self._store, self._server.id, link)

    async def run(self) -> None:
        sent: tuple[bytes, ...] = ()
        async with aclosing(listen(self._store, FLEET.orders_channel())) as messages:
            async for _ in messages:
                while True:
                    taken = await orders.take(
                        self._store, self._server.id, self._session, BOOT, sent
                    )
                    sent = taken.texts
                    if not sent:
                        break
                    await self._carry_out(taken.orders)

    async def _carry_out(self, found: tuple[orders.Order, ...]) -> None:
        fresh = [order.job for order in found if not self.started[order.job]]
        now = SYSTEM.now()
        for job in fresh:
            self.started[job] += 1
        bodies: list[Body] = [
            Started(at=now, pid=1),
            Output(at=now, offset=0, line=0, text=b"hello\n"),
            Result(at=now, code=self._code, size=6, lines=1),
        ]
        await reports.apply(
            self._store,
            self._server.id,
            self._session,
            [Report(job, n, body) for job in fresh for n, body in enumerate(bodies, 1)],
        )
