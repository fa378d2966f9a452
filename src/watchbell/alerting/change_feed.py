"""Publishes changes of checks to open pages; a message may be lost."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from watchbell.alerting.decide.check_facts import Outcome
from watchbell.alerting.keys import AlertingOwn
from watchbell.store.client import Store
from watchbell.store.effects import Command


class ChangeFeed(Struct):
    """Checks of a batch that look different now, and those whose windows changed."""

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
    """A command that publishes checks whose maintenance changed."""
    return ["PUBLISH", own.changed_windows(), _encoded(ids)]


async def publish(store: Store, ids: Iterable[str]) -> None:
    await store.call(*of_checks(AlertingOwn(store.prefix), ids))


def checks_named(body: bytes) -> list[str]:
    """The checks that a message names; none where the message is not ours."""
    try:
        return msgspec.json.decode(body, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def _encoded(ids: Iterable[str]) -> str:
    return msgspec.json.encode(list(ids)).decode()
