"""What applies where a rule does not: outside its hours, or for other checks."""

from zoneinfo import ZoneInfo

from msgspec.structs import replace

from watchbell.alerting.decide.routing import Addressee, Condition, addressee, route
from watchbell.alerting.model import Contact, Notification, Rule, State
from watchbell.schedule.names import listed

_SEVERITIES: tuple[State, ...] = ("critical", "warning", "unknown")
_STEP, _STEPS = 1_800, 2 * 24 * 8
"""Half hours of eight days."""


def remainder(contact: Contact, rule: Rule, default_zone: str, now: int) -> str:
    """In one sentence, by the code that decides; empty where the rule applies to everything.

    The contact has the rule among its rules.
    """
    to = addressee(contact, default_zone)
    own = next(one for one in to.conditions if one.rule.id == rule.id)
    moment = _outside(own, to.zone, now) if own.is_timed else now
    if moment is None or not (own.is_timed or own.is_specific):
        return ""
    others = [one for one in to.conditions if one is not own]
    general = tuple(one for one in others if not one.is_specific)
    unless = ", unless another specific rule matches" if len(others) > len(general) else ""
    where = "Outside its hours" if own.is_timed else "Where it does not match"
    rest, name = replace(to, conditions=general), contact.first_name
    found = {state: _media(rest, state, moment) for state in _SEVERITIES}
    ways = [f"{state} by {listed(media)}" for state, media in found.items() if media]
    if not ways:
        return f"{where}, {name} is not notified{unless}."
    return f"{where}, the general rule applies: {name} is notified of {', '.join(ways)}{unless}."


def _outside(own: Condition, zone: ZoneInfo, now: int) -> int | None:
    """The next half hour at which the rule does not apply; None where it always does."""
    first = now - now % _STEP
    moments = (first + step * _STEP for step in range(_STEPS))
    return next((moment for moment in moments if not own.is_its_time(zone, moment)), None)


def _media(to: Addressee, state: State, moment: int) -> list[str]:
    """General rules ask for no check in particular."""
    sample = Notification(event_id="any:check", state=state, type="problem", severity=state)
    return route(to, sample, moment).media
