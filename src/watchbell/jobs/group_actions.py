"""Actions that groups of servers add to the alerts of their servers."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from watchbell.actors import Actor
from watchbell.errors import Refused
from watchbell.fleet.model import Group
from watchbell.jobs import permissions, validation
from watchbell.jobs.model import Action
from watchbell.store.client import Store

FIELD = "alert_actions"
GROUP = "group"
"""The source of such an action."""


async def checked(store: Store, actor: Actor, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a group as they are stored. Raises Refused, also where an action runs an event
    that they may not run."""
    given = fields.get(FIELD)
    if given is None:
        return {name: value for name, value in fields.items() if name != FIELD}
    if not isinstance(given, list | tuple):
        raise Refused("expected a list of actions", field=FIELD)
    found = [
        validation.alert_action(one, f"{FIELD}[{place}]", strict=True)
        for place, one in enumerate(given)
    ]
    plain = [msgspec.to_builtins(one) for one in found]
    await permissions.check_runs(store, actor, {"actions": plain})
    return {**fields, FIELD: plain}


def of(groups: Iterable[Group]) -> list[Action]:
    """Those of all of them; what other programs spoiled is left out."""
    found = []
    for group in groups:
        for one in group.alert_actions:
            try:
                action = validation.alert_action(one)
            except Refused:
                continue
            found.append(replace(action, source=GROUP))
    return found
