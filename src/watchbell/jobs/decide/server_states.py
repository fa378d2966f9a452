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
    seconds: float
    is_down: bool


def unsettled(known: Mapping[str, ServerState], silent: Mapping[str, Silence]) -> list[str]:
    """The servers about which there may be something to report: only their records are read.
    `silent` has the time since the last sign of life of each server."""
    return [
        server
        for server in {**known, **silent}
        if server not in silent
        or server not in known
        or known[server].is_down
        or silent[server].is_down
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
    if not record.enabled and silence.is_down:
        return _ended(server, known, "the server is disabled", now)
    if known is not None and known.is_down == silence.is_down:
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
