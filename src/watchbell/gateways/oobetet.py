"""Whether alerts come through end to end: what was seen of a watched check, and what follows."""

import enum
import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from watchbell.alerting.model import Alert, split_id
from watchbell.gateways.message_texts import HEADLINES, one_line
from watchbell.schedule.spoken import in_words

AGAIN = 55.0
"""Seconds between two alarms, at least."""

Kind = Literal["problem", "recovery"]
_KINDS: tuple[Kind, ...] = ("problem", "recovery")


class Verdict(enum.Enum):
    FINE = "problems and recoveries come through"
    NO_PROBLEM = "no problem has come through"
    NO_RECOVERY = "no recovery has come through"
    NOTHING = "neither a problem nor a recovery has come through"


class Act(enum.Enum):
    WAIT = "there is nothing to do"
    RAISE = "the alarm is raised, or raised again"
    RESOLVE = "the alarm is taken back"


class Seen(Struct):
    """When each kind was seen last; at first, when the watching began."""

    problem: float
    recovery: float


def judge(seen: Seen, max_latency: float, now: float) -> Verdict:
    late = [now - time > max_latency for time in (seen.problem, seen.recovery)]
    if all(late):
        return Verdict.NOTHING
    if any(late):
        return Verdict.NO_PROBLEM if late[0] else Verdict.NO_RECOVERY
    return Verdict.FINE


class Alarm(Struct, frozen=True):
    is_on: bool = False
    raised: float | None = None
    """When it was raised last, though it may be over."""


def due(verdict: Verdict, alarm: Alarm, now: float) -> Act:
    if verdict is Verdict.FINE:
        return Act.RESOLVE if alarm.is_on else Act.WAIT
    again = alarm.raised is None or now - alarm.raised >= AGAIN
    return Act.RAISE if again else Act.WAIT


def after(act: Act, alarm: Alarm, now: float) -> Alarm:
    """The alarm, once that was done."""
    if act is Act.RAISE:
        return Alarm(is_on=True, raised=now)
    return Alarm(is_on=False, raised=alarm.raised) if act is Act.RESOLVE else alarm


def in_chat(text: str, event_id: str) -> Kind | None:
    """Which kind of alert about the check a line in a chat is, if it is one."""
    entity, check = map(one_line, split_id(event_id))
    if not re.search(rf'"{re.escape(check)}" on {re.escape(entity)}(?![\w.-])', text):
        return None
    return next((kind for kind in _KINDS if text.startswith(f"{HEADLINES[kind]}:")), None)


def in_webhook(body: bytes, event_id: str) -> Kind | None:
    """The same of what a webhook is given."""
    try:
        alert: Any = msgspec.json.decode(body, type=dict[str, Any]).get("alert")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(alert, dict) or alert.get("event_id") != event_id or alert.get("rollup"):
        return None
    return next((kind for kind in _KINDS if alert.get("notification_type") == kind), None)


def message(
    verdict: Verdict, event_id: str, seen: Seen, now: float, *, medium: str, address: str, name: str
) -> Alert:
    """The alert, called `name`, by which the alarm is raised or taken back. All alarms about the
    check are of one check, so that a pager knows them for the same."""
    fine = verdict is Verdict.FINE
    oldest = int(now - min(seen.problem, seen.recovery))
    again = " again" if fine else f" for {in_words(oldest)}"
    return Alert(
        id=name,
        media=medium,
        address=address,
        contact_id="oobetet",
        contact_first_name="",
        contact_last_name="",
        event_id=f"watchbell:end to end {event_id}",
        state="ok" if fine else "critical",
        summary=f"of {event_id}, {verdict.value}{again}",
        notification_type="recovery" if fine else "problem",
    )
