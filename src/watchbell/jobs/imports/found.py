"""What a file describes: records to create, and what could not be carried over."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

ORDER = ("group", "category", "plugin", "tag", "channel", "event", "monitor", "alert", "dashboard")
"""Kinds, in the order in which they are created."""


class Item(Struct, frozen=True):
    kind: str
    """One of `ORDER`."""
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.kind} {self.values.get('title') or self.values.get('id')!r}"


class Omission(Struct, frozen=True):
    """Something of the file that is not imported, or not as it was."""

    subject: str
    """What it belongs to, such as `event 'Backup'` or `line 5`."""
    reason: str


class Found(Struct, frozen=True):
    items: tuple[Item, ...] = ()
    omissions: tuple[Omission, ...] = ()


class Gathering(Struct):
    """Items and omissions, gathered while a file is read."""

    items: list[Item] = []
    omissions: list[Omission] = []

    def omit(self, subject: str, reason: str) -> None:
        self.omissions.append(Omission(subject, reason))

    def found(self) -> Found:
        return Found(tuple(self.items), tuple(self.omissions))


def bare(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without those that say nothing."""
    return {name: each for name, each in values.items() if each not in (None, "", [], {}, ())}
