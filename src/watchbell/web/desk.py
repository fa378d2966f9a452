"""What endpoints work with, made once for a server."""

from collections.abc import Mapping
from typing import Any

from litestar import Request
from msgspec import Struct

from watchbell.clock import Clock
from watchbell.cron.board import Board
from watchbell.gateways.answers import Answers
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.access import Identity
from watchbell.web.api_keys import ApiKeys
from watchbell.web.calendar import Calendar
from watchbell.web.intake.writing import Intake
from watchbell.web.latency import Latency
from watchbell.web.limits import Limit
from watchbell.web.live.background import Background
from watchbell.web.live.board import CheckBoard
from watchbell.web.live.pulse import Pulse
from watchbell.web.live.streams import Streams
from watchbell.web.problems import too_often
from watchbell.web.roster import Roster
from watchbell.web.sessions import Sessions
from watchbell.web.users import Actor, Users
from watchbell.web.weights import Weights

Asked = Request[Any, Any, Any]


class Desk(Struct, frozen=True):
    settings: Settings
    origins: Mapping[str, str]
    """Where the value of each setting comes from, where that is known."""
    store: Store
    clock: Clock
    users: Users
    sessions: Sessions
    api_keys: ApiKeys
    answers: Answers
    weights: Weights
    intake: Intake
    streams: Streams
    background: Background
    board: CheckBoard
    pulse: Pulse
    calendar: Calendar
    roster: Roster
    jobs: Board
    latency: Latency

    def now(self) -> int:
        return int(self.clock.now())


def desk_of(request: Asked) -> Desk:
    desk: Desk = request.app.state["desk"]
    return desk


def identity_of(request: Asked) -> Identity:
    """Who asks; there on all endpoints that are not public."""
    identity: Identity = request.scope["user"]
    return identity


def address_of(request: Asked) -> str:
    return request.client.host if request.client else ""


def actor_of(request: Asked) -> Actor:
    """On whose behalf an endpoint changes something."""
    return Actor(identity_of(request).told, desk_of(request).now(), address_of(request))


async def noted(request: Asked, action: str, subject: str = "", details: str = "") -> None:
    """Into the audit log, for what a domain has changed: its records know nothing of the log."""
    entry = actor_of(request).entry(action, subject, details)
    await audit.record(desk_of(request).store, entry)


async def spend(request: Asked, limit: Limit, name: str) -> None:
    """Counts a try of somebody's, and refuses it where there were too many."""
    if wait := await limit.spend(desk_of(request).store, name):
        raise too_often(wait)
