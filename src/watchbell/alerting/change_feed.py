"""Messages for those who show checks live, published as checks change; none has to arrive."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from watchbell.alerting.decide.check_facts import Outcome
from watchbell.alerting.keys import AlertingOwn
from watchbell.store.client import Store
from watchbell.store.effects import Command


class ChangeFeed(Struct):
    """What changed in a batch: checks in what is seen of them, and those whose windows did."""

    checks: dict[str, None] = {}
    windows: dict[str, None] = {}

    def note(self, event_id: str, outcome: Outcome) -> None:
        if outcome.opened or outcome.entered or outcome.planned or outcome.ended is not None:
            self.windows[event_id] = None
        elif outcome.changed:
            self.checks[event_id] = None

    def commands(self, own: AlertingOwn) -> Iterable[Command]:
        if self.checks:
            yield of_checks(own, self.checks)
        if self.windows:
            yield of_windows(own, self.windows)


def of_checks(own: AlertingOwn, ids: Iterable[str]) -> list[str]:
    """A command. An id without a check, as `web-1:`, means all checks of the entity."""
    return ["PUBLISH", own.changed_checks(), _encoded(ids)]


def of_windows(own: AlertingOwn, ids: Iterable[str]) -> list[str]:
    """A command, for what changed the maintenance of checks."""
    return ["PUBLISH", own.changed_windows(), _encoded(ids)]


async def publish(store: Store, ids: Iterable[str]) -> None:
    await store.call(*of_checks(AlertingOwn(store.prefix), ids))


def checks_named(body: bytes) -> list[str]:
    """The checks that a message names; none where it is not one of ours."""
    try:
        return msgspec.json.decode(body, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def _encoded(ids: Iterable[str]) -> str:
    return msgspec.json.encode(list(ids)).decode()
