"""What is to be reported about servers: one went down, came back, or is no longer watched. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from watchbell.fleet.model import Server
from watchbell.jobs import check_reports
from watchbell.jobs.check_reports import CheckReport


class ServerState(Struct, frozen=True, kw_only=True):
    """What was last reported about a server."""

    hostname: str
    is_down: bool
    since: float


class Transition(NamedTuple):
    server: str
    state: ServerState | None
    """None where it is no longer watched."""
    report: CheckReport


class Silence(NamedTuple):
    """How long a server has been silent."""

    seconds: float
    """By the store's clock."""
    watched: float
    """For which we have watched it without a new sign of life, by our own clock and while the store
    was available. So neither a step of the store's clock nor an outage of the store, during which
    no agent can report, takes a server down."""
    has_changed: bool
    """Whether there was a sign of life since we watch it."""
    down_after: float

    @property
    def is_down(self) -> bool | None:
        """None where we have not watched it for long enough to say."""
        if self.watched >= self.down_after:
            return True
        is_recent = self.has_changed or 0 <= self.seconds < self.down_after
        return False if is_recent else None


def unsettled(known: Mapping[str, ServerState], silent: Mapping[str, Silence]) -> list[str]:
    """The servers about which there may be something to report: only their records are read.
    `silent` has the time since the last sign of life of each server."""
    return [
        server
        for server in {**known, **silent}
        if server not in silent
        or server not in known
        or known[server].is_down
        or silent[server].is_down is not False
    ]


def transition(
    server: str,
    record: Server | None,
    known: ServerState | None,
    silence: Silence | None,
    now: float,
) -> Transition | None:
    """What is to be reported about one server, if anything is."""
    if record is None or silence is None:
        return _ended(server, known, "the server was removed", now)
    host = record.hostname
    if not record.enabled and silence.is_down is not False:
        return _ended(server, known, "the server is disabled", now)
    if silence.is_down is None or (known and known.is_down == silence.is_down):
        return None
    state = ServerState(hostname=host, is_down=silence.is_down, since=now)
    if silence.is_down:
        return Transition(server, state, check_reports.server_down(host, silence.seconds, now))
    away = None if known is None else now - known.since
    return Transition(server, state, check_reports.server_up(host, away, now))


def _ended(server: str, known: ServerState | None, reason: str, now: float) -> Transition | None:
    if known is None:
        return None
    return Transition(server, None, check_reports.server_removed(known.hostname, reason, now))
