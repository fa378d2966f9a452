"""Which actions a change of an alert sets off, and what is recorded of them. Pure."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from watchbell.fleet.model import AlertRecord
from watchbell.jobs.decide.actions import effect
from watchbell.jobs.model import Action, AlertDef


class Named(NamedTuple):
    name: str
    """Names it for all time; what it creates is named after it."""
    action: Action


def done(alert: AlertRecord) -> tuple[Action, ...]:
    """What was carried out for it; what other programs spoiled is left out."""
    found = []
    for one in alert.actions:
        try:
            found.append(msgspec.convert(one, Action))
        except msgspec.ValidationError:
            continue
    return tuple(found)


def due(
    alert: AlertRecord, definition: AlertDef | None, added: Iterable[Action], trigger: str
) -> list[Named]:
    """The actions that are not done yet. Of those that do the same, only one: the definition's
    rather than those of groups and settings, which are `added`."""
    own = definition.actions if definition else ()
    is_exclusive = definition is not None and definition.exclusive_actions
    wanted: dict[object, Action] = {}
    for one in (*own, *(() if is_exclusive else added)):
        if one.enabled and one.trigger == trigger:
            wanted.setdefault(effect(one), one)
    over = {effect(one) for one in done(alert) if one.trigger == trigger}
    return [Named(_name(alert.id, one), one) for key, one in wanted.items() if key not in over]


def _name(alert: str, action: Action) -> str:
    """By what it does, not by its place: the definition may be changed between two attempts."""
    what = msgspec.json.encode([action.trigger, *map(_plain, effect(action))])
    return f"{alert}-{action.trigger}-{hashlib.sha256(what).hexdigest()[:12]}"


def _plain(part: object) -> object:
    return sorted(part) if isinstance(part, frozenset) else part


def recorded(known: Sequence[Action], results: Iterable[Action]) -> tuple[Action, ...]:
    """Recording results again changes nothing."""
    over = {(one.trigger, effect(one)) for one in known}
    new = [one for one in results if (one.trigger, effect(one)) not in over]
    return (*known, *new)
