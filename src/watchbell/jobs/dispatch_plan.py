"""Decides for a batch of jobs what the dispatcher's script is to do with each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from watchbell.fleet.messages import Result
from watchbell.jobs.decide import actions, concurrency, placement
from watchbell.jobs.decide.concurrency import Concurrency
from watchbell.jobs.decide.placement import FleetState
from watchbell.jobs.model import ABORTED, Algorithm, Category, Event, Job
from watchbell.store.effects import verbatim

R = TypeVar("R", bound=Struct)

FIELDS = ("event", "category", "targets", "algo", "limits", "actions", "test", "type")
"""What the dispatcher reads of a job."""
QUEUE = "_queue"
"""The field that names the queue of a node of a workflow, where the job waits in that one."""
FAILED = "The dispatcher failed on it; see its log"


class Definitions(Struct, frozen=True):
    events: Mapping[str, Event] = {}
    categories: Mapping[str, Category] = {}


class Plan:
    def __init__(
        self,
        fleet: FleetState,
        definitions: Definitions,
        now: float,
        chance: Callable[[], int],
    ) -> None:
        """`chance` returns random whole numbers."""
        self._fleet, self._definitions = fleet, definitions
        self._now, self._chance = now, chance
        self._numbers: dict[tuple[tuple[str, ...], Algorithm], int] = {}
        self._orders: list[list[Any]] = []
        self._jobs: list[list[Any]] = []
        self._failed = self._aborted(FAILED, retry_ok=True)

    def add(self, item: bytes, fields: Sequence[bytes | None]) -> None:
        """A job by its id, and its fields as they are in the store: FIELDS, and QUEUE."""
        try:
            job = _job(item, fields)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.refuse(item, f"The record of the job is damaged: {error}")
        else:
            self._add(item, job, is_apart=fields[len(FIELDS)] is not None)

    def _add(self, item: bytes, job: Job, *, is_apart: bool) -> None:
        """`is_apart`: whether its own limits count, not those of its event."""
        event = self._definitions.events.get(job.event)
        is_run, is_adhoc = job.type == "workflow", job.type == "adhoc"
        if not is_adhoc and (reason := concurrency.obstacle(event, is_test=job.test)):
            self.refuse(item, reason)
        elif not is_run and (reason := placement.no_target(job.targets, self._fleet)):
            self.refuse(item, reason, retry_ok=True)
        else:
            suspension = actions.suspension(job) if job.actions else None
            self._jobs.append(
                [
                    verbatim(item),
                    "",
                    0 if is_run else self._order(job),
                    self._chance(),
                    *self._limits(self._concurrency(job, event, is_apart=is_apart)),
                    self._failed,
                    "" if suspension is None else verbatim(actions.item(job.id, suspension)),
                    [verbatim(one) for one in actions.started(job)] if job.actions else [],
                    is_run,
                ]
            )

    def refuse(self, item: bytes, reason: str, *, retry_ok: bool = False) -> None:
        """The job ends without having been started."""
        result = self._aborted(reason, retry_ok=retry_ok)
        self._jobs.append([verbatim(item), result, 0, 0, -1, 0, "", "", result, "", [], False])

    def packed(self) -> bytes:
        named = {server for order in self._orders for server in order[0]}
        servers = {
            server.id: [server.slots, server.groups, _json(server.groups)]
            for server in map(self._fleet.servers.__getitem__, named)
        }
        return msgspec.msgpack.encode(
            {
                "now": f"{self._now:.3f}",
                "suspended": _json(actions.SUSPENDED),
                "servers": servers,
                "orders": self._orders,
                "jobs": self._jobs,
            }
        )

    def _order(self, job: Job) -> int:
        """The number of the order in which servers are tried, counted from 1."""
        key = (job.targets, job.algo)
        if key not in self._numbers:
            order = placement.order(job.algo, placement.candidates(job.targets, self._fleet))
            reason = placement.waiting_reason(job.targets, self._fleet)
            self._orders.append([order.servers, order.start, _json(reason)])
            self._numbers[key] = len(self._orders)
        return self._numbers[key]

    def _concurrency(self, job: Job, event: Event | None, *, is_apart: bool) -> Concurrency:
        if job.test or is_apart:  # the caller decides which limits a test has
            return concurrency.of_limits(job.limits)
        return concurrency.of_event(event, self._definitions.categories.get(job.category))

    def _limits(self, limits: Concurrency) -> list[Any]:
        if limits.jobs is None:
            return [-1, 0, "", ""]
        most = -1 if limits.queue is None else limits.queue
        reason = concurrency.QUEUE_FULL if most else concurrency.TOO_MANY
        return [
            limits.jobs,
            most,
            _json(placement.limit_reason(limits.jobs)),
            self._aborted(reason),
        ]

    def _aborted(self, reason: str, *, retry_ok: bool = False) -> msgspec.Raw:
        return verbatim(aborted(reason, self._now, retry_ok=retry_ok))


def aborted(reason: str, now: float, *, retry_ok: bool = False) -> bytes:
    """The result of a job that ends without one of its agent's."""
    return msgspec.json.encode(Result(at=now, code=ABORTED, description=reason, retry_ok=retry_ok))


def parsed(raw: bytes, kind: type[R]) -> R | None:
    """A record of the store; None where there is none, or other programs spoiled it."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _job(item: bytes, fields: Sequence[bytes | None]) -> Job:
    known = [
        b'"%s":%s' % (name.encode(), value)
        for name, value in zip(FIELDS, fields[: len(FIELDS)], strict=True)
        if value is not None
    ]
    text = b'{"id":%s,"state":"ready",%s}' % (
        msgspec.json.encode(item.decode()),
        b",".join(known),
    )
    return msgspec.json.decode(text, type=Job)


def _json(value: object) -> msgspec.Raw:
    return verbatim(msgspec.json.encode(value))
