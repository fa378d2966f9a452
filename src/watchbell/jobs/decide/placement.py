"""Decides which servers may run a job, in which order they are tried, and why a job waits. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Literal

from msgspec import Struct

from watchbell.jobs.model import Algorithm

Start = Literal["first", "turn", "chance", "fewest"]
"""Where the search for a free slot starts in the list of servers: at its beginning, at the server
whose turn it is, anywhere, or at the one with the fewest jobs."""


class Obstacle(Enum):
    """Why a server takes no jobs."""

    DISABLED = "disabled"
    OFFLINE = "offline"
    ALERT = "held back by an alert"


class ServerState(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    """Its title, or else its hostname."""
    groups: tuple[str, ...] = ()
    slots: int = 1
    is_enabled: bool = True
    is_online: bool = True
    cpu: float | None = None
    """Percent, by the last sample."""
    memory: float | None = None
    """Bytes in use, by the last sample."""
    alerts: tuple[str, ...] = ()
    """Titles of active alerts that keep new jobs away."""

    @property
    def obstacle(self) -> Obstacle | None:
        if not self.is_enabled:
            return Obstacle.DISABLED
        if not self.is_online:
            return Obstacle.OFFLINE
        return Obstacle.ALERT if self.alerts else None

    @property
    def obstacle_words(self) -> str:
        """`offline`, or which alert it is."""
        obstacle = self.obstacle
        if obstacle is Obstacle.ALERT:
            named = ", ".join(repr(title) for title in self.alerts)
            return f"held back by the alert{'s' if len(self.alerts) > 1 else ''} {named}"
        return obstacle.value if obstacle else ""


class FleetState(Struct, frozen=True):
    """The servers and groups as they are at one time."""

    servers: Mapping[str, ServerState] = {}
    groups: Mapping[str, str] = {}
    """Ids and titles."""
    is_known: bool = True
    """Whether they could be read at all."""

    def matching(self, targets: Collection[str]) -> list[ServerState]:
        """The servers that the targets name, by id or by group."""
        wanted = set(targets)
        return [
            server
            for server in self.servers.values()
            if server.id in wanted or not wanted.isdisjoint(server.groups)
        ]

    def knows(self, target: str) -> bool:
        return (
            target in self.servers
            or target in self.groups
            or any(target in server.groups for server in self.servers.values())
        )


class Candidate(Struct, frozen=True):
    server: ServerState
    obstacle: Obstacle | None
    """Why it is not considered; None where it is."""


class Order(Struct, frozen=True):
    """The servers on which a job may run, in the order in which a free slot is searched."""

    servers: tuple[str, ...]
    start: Start


_STARTS: dict[Algorithm, Start] = {
    "random": "chance",
    "round_robin": "turn",
    "least_cpu": "first",
    "least_mem": "first",
    "prefer_first": "first",
    "prefer_last": "first",
    "fewest_jobs": "fewest",
}


def candidates(targets: Collection[str], fleet: FleetState) -> list[Candidate]:
    return [Candidate(server, server.obstacle) for server in fleet.matching(targets)]


def order(algorithm: Algorithm, found: Iterable[Candidate]) -> Order:
    usable = [one.server for one in found if one.obstacle is None]
    usable.sort(key=lambda server: (server.name.casefold(), server.id))
    if algorithm == "prefer_last":
        usable.reverse()
    elif algorithm == "least_cpu":
        usable.sort(key=lambda server: _known(server.cpu))
    elif algorithm == "least_mem":
        usable.sort(key=lambda server: _known(server.memory))
    return Order(tuple(server.id for server in usable), _STARTS[algorithm])


def _known(value: float | None) -> float:
    """Servers without a sample come last."""
    return float("inf") if value is None else value


def no_target(targets: Sequence[str], fleet: FleetState) -> str:
    """Why no server can ever run a job with these targets; empty where one may."""
    if not fleet.is_known or any(fleet.knows(target) for target in targets):
        return ""
    return f"No available servers matching targets: {', '.join(targets) or 'there are none'}"


def waiting_reason(targets: Sequence[str], fleet: FleetState, ahead: int | None = None) -> str:
    """Why a job waits for a slot. `ahead`: jobs that are before it, where that is known."""
    found = candidates(targets, fleet)
    usable = [one.server for one in found if one.obstacle is None]
    if not usable:
        return _nobody(targets, fleet, found)
    slots = sum(server.slots for server in usable)
    where = usable[0].name if len(usable) == 1 else f"{len(usable)} servers"
    if not slots:
        reason = f"{where} {'has' if len(usable) == 1 else 'have'} no slots"
    elif slots == 1:
        reason = f"the only slot on {where} is in use"
    else:
        reason = f"all {slots} slots on {where} are in use"
    return reason + _ahead(ahead)


def _nobody(targets: Sequence[str], fleet: FleetState, found: Sequence[Candidate]) -> str:
    if not found:
        names = ", ".join(fleet.groups.get(target, target) for target in targets)
        return f"no server belongs to {names}"
    if len(found) == 1 and found[0].obstacle:
        return f"{found[0].server.name} is {found[0].server.obstacle_words}"
    counts = [(sum(1 for one in found if one.obstacle is kind), kind) for kind in Obstacle]
    words = ", ".join(f"{count} {kind.value}" for count, kind in counts if count)
    return f"none of {len(found)} servers is available: {words}"


def limit_reason(limit: int, ahead: int | None = None) -> str:
    """Why a job waits in the queue of its event."""
    running = "another job" if limit == 1 else f"{limit} other jobs"
    verb = "is" if limit == 1 else "are"
    return f"{running} of this event {verb} in progress, the most at a time" + _ahead(ahead)


def _ahead(ahead: int | None) -> str:
    if not ahead:
        return ""
    return f"; {ahead} job{'s' if ahead > 1 else ''} ahead"
