"""An agent without processes for jobs of workflows: a test says how each ends."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec import Struct, field

from tests.jobs.agents_in_store import BOOT, QuickAgent
from tests.jobs.dispatching import FLEET, KEYS, put_event
from watchbell.clock import SYSTEM
from watchbell.fleet.messages import Body, Changes, Report, Result, Started
from watchbell.fleet.model import Server
from watchbell.jobs import job_records, launches, orders, reports, validation
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import Wish
from watchbell.jobs.job_changes import folder
from watchbell.jobs.model import Category, Code, Event, Job, JobFile, Plugin
from watchbell.jobs.workflow_model import JobWorkflow
from watchbell.store.client import Store
from watchbell.store.live import listen

ONE = Server(id="s1", hostname="one", groups=("main",), max_jobs=500)
SHELL = Plugin(id="shellplug", title="Shell", command="true")


class Place(Struct, frozen=True):
    """Which job of a run it is: its node, its number there, and which attempt."""

    node: str
    index: int
    attempt: int


class Answer(Struct, frozen=True):
    code: Code = 0
    data: Any = None
    shares: dict[str, Any] = {}
    file: str = ""
    """The name of one that it uploads."""


def succeed(_place: Place) -> Answer | None:
    return Answer()


class WorkflowAgent(QuickAgent):
    """`answer` may return None for a job that goes on until `release` is called."""

    def __init__(
        self,
        store: Store,
        answer: Callable[[Place], Answer | None] = succeed,
        server: Server = ONE,
    ) -> None:
        super().__init__(store, server)
        self._answer = answer
        self.places: Counter[Place] = Counter()
        self.aborted: list[str] = []
        self._reported: Counter[str] = Counter()
        self.held: dict[Place, str] = {}

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
                    await self._do(taken.orders)

    async def _do(self, found: tuple[orders.Order, ...]) -> None:
        for order in found:
            if order.kind == "abort":
                self.aborted.append(order.job)
                await self.report(order.job, Answer("abort"))
            elif not self.started[order.job]:
                self.started[order.job] += 1
                await self._begin(order.job, place_of(order.fields))

    async def _begin(self, job: str, place: Place) -> None:
        self.places[place] += 1
        answer = self._answer(place)
        if answer is None:
            self.held[place] = job
            await self._report(job, [Started(at=SYSTEM.now(), pid=1)])
        else:
            await self.report(job, answer)

    async def release(self, place: Place, answer: Answer | None = None) -> None:
        await self.report(self.held.pop(place), answer or Answer())

    async def report(self, job: str, answer: Answer) -> None:
        now = SYSTEM.now()
        bodies: list[Body] = [] if answer.data is None else [Changes(now, {"data": answer.data})]
        if answer.shares:
            bodies.append(Changes(now, {"workflowData": answer.shares}))
        await self._report(
            job,
            [
                Started(at=now, pid=1),
                *bodies,
                Result(
                    at=now,
                    code=answer.code,
                    description="",
                    files=self._files(job, answer.file),
                ),
            ],
        )

    def _files(self, job: str, name: str) -> tuple[dict[str, Any], ...]:
        path, server = f"{folder(job)}{name}", self._server.id
        file = JobFile(id="f1", filename=name, path=path, size=1, job=job, server=server)
        return (msgspec.to_builtins(file),) if name else ()

    async def _report(self, job: str, bodies: list[Body]) -> None:
        found = [Report(job, n, body) for n, body in enumerate(bodies, self._reported[job] + 1)]
        self._reported[job] += len(bodies)
        await reports.apply(self._store, self._server.id, self._session, found)


def place_of(fields: Mapping[str, msgspec.Raw]) -> Place:
    workflow = msgspec.json.decode(fields["workflow"], type=JobWorkflow)
    retry = msgspec.json.decode(fields.get("retry_count", b"0"), type=int)
    return Place(workflow.node, workflow.index, retry)


class Known(Struct):
    events: dict[str, Event] = {}
    categories: dict[str, Category] = {}
    plugins: dict[str, Plugin] = field(default_factory=lambda: {"shellplug": SHELL})


async def put(store: Store, *values: dict[str, Any], **kinds: Any) -> Known:
    """Stores events, given as JSON, and what they need."""
    found = [validation.read("event", value) for value in values]
    events = [one for one in found if isinstance(one, Event)]
    general = Category(id="general", title="General")
    known = Known({one.id: one for one in events}, {"general": general}, **kinds)
    for one in events:
        await put_event(store, one)
    await store.call("HSET", KEYS.categories(), "general", msgspec.json.encode(general))
    await store.call("HSET", KEYS.plugins(), "shellplug", msgspec.json.encode(SHELL))
    return known


async def launch_run(store: Store, known: Known, name: str, job: str = "jrun", **wish: Any) -> Job:
    made = launch.prepare(known, Wish(event=name, **wish), job, SYSTEM.now())
    await launches.launch(store, [made], "UTC")
    return made


async def finished(store: Store, job: str = "jrun") -> Job | None:
    found = await job_records.read(store, job)
    return found if found and found.state == "complete" else None
