"""Definitions for tests: what a catalogue holds, without a store."""

from typing import Any

from msgspec import Struct, field

from watchbell.jobs.model import Category, Event, Plugin, Timing

SHELL = Plugin(id="shellplug", title="Shell", command="/bin/sh", uid="daemon", env={"A": "plugin"})
GENERAL = Category(id="general", title="General")


class Defined(Struct, kw_only=True):
    events: dict[str, Event] = {}
    categories: dict[str, Category] = field(default_factory=lambda: {"general": GENERAL})
    plugins: dict[str, Plugin] = field(default_factory=lambda: {"shellplug": SHELL})


def event(name: str = "backup", *timings: Timing, **fields: Any) -> Event:
    return Event(id=name, title=name.capitalize(), timings=timings, **fields)


def defined(*events: Event, **kinds: Any) -> Defined:
    return Defined(events={one.id: one for one in events}, **kinds)
