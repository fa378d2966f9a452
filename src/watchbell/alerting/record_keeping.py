"""Whether Flapjack's records are kept, and all of them at once: built, compared, removed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Literal

from msgspec import Struct

from watchbell.alerting import (
    indexes,
    record_locks,
    record_mirror,
    record_units,
    record_verify,
)
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.record_keys import CLASSES, Records
from watchbell.alerting.record_lua import ON
from watchbell.alerting.record_mirror import Refusal
from watchbell.errors import Refused
from watchbell.probes import probe
from watchbell.store.client import Primary, Store
from watchbell.store.lock import locked
from watchbell.store.replies import text
from watchbell.store.search import scanned

OFF = "off"
"""The value of the switch where records were kept, and may be stale now."""
_SETTLED, _POLL = 2.0, 0.125
"""Seconds in which a change by another program is taken over, and between two looks at a lock."""
_SLICE = 50
"""Units that one step builds, so that it holds up nobody else for long."""
_TOGETHER, _MOST_WAITING = 20, 1_000
"""Slices that are written under one lock, and that wait for that."""
_LOCK_SECONDS = 10.0
FOREIGN, REMOVED = "foreign", "removed"
"""Codes of Refused: the records are another program's, or somebody has removed them."""

_NEW, _STALE = b"new", b"stale"
Kept = Literal["no", "partly", "all"]
"""`partly` is what an interrupted build leaves."""
Keeping = Literal["on", "off", "never"]
Progress = Callable[[int], None]
"""How many units, or keys, are done."""


class Built(Struct):
    units: int = 0
    refused: list[Refusal] = []
    """Parts that can't be built, since a key has a wrong type."""


async def keeping(store: Store) -> Keeping:
    """`never` where this store has no records of ours, but maybe another program's."""
    found = await store.call("GET", AlertingOwn(store.prefix).records())
    if found is None:
        return "never"
    return "on" if text(found) == ON else "off"


async def counts(store: Store) -> dict[str, int]:
    """The number of records of each class."""
    prefix = store.prefix
    return {name: int(await store.call("SCARD", f"{prefix}{name}::ids")) for name in CLASSES}


async def build(store: Store, progress: Progress) -> Built:
    """Creates the records that the working layout implies, while everything runs.

    From the first step on every change is written to both. What is there already is compared, so
    a build that was interrupted is repeated and is soon where it was. Raises Refused where another
    process builds, and with a code where this one should not be repeated.
    """
    own = AlertingOwn(store.prefix)
    if await store.call("EXISTS", own.record_builder()):
        raise Refused(
            "another process is building the records; `watchbell records status` counts them"
        )
    async with locked(store, own.record_builder(), _LOCK_SECONDS):
        before, has_any = await kept(store), any((await counts(store)).values())
        if has_any and await keeping(store) == "never":
            raise Refused(
                "this store has records that Watchbell did not write; `watchbell records adopt` "
                "takes them over, and `watchbell records drop` removes them",
                code=FOREIGN,
            )
        if before == "no":
            await begin(store, is_new=not has_any)
        if not await indexes.are_complete(store):  # some records are made of them
            await indexes.build(store)
        is_new = await store.call("GET", own.record_build()) == _NEW
        strays = Built()
        if not is_new:  # what nothing accounts for is first, since it may be listed elsewhere
            strays = await write(store, record_verify.strays(store), progress, before)

        def shown(done: int) -> None:
            progress(strays.units + done)

        units = await write(store, record_units.units(store), shown, before)
        await store.call("DEL", own.record_build())
    return Built(strays.units + units.units, strays.refused + units.refused)


async def kept(store: Store) -> Kept:
    """How much of the records was kept until now."""
    if await keeping(store) != "on":
        return "no"
    is_building = await store.call("EXISTS", AlertingOwn(store.prefix).record_build())
    return "partly" if is_building else "all"


async def write(
    store: Store, source: AsyncIterator[list[Unit]], progress: Progress, before: Kept
) -> Built:
    """Brings the records of all units up to date. Where they were kept already, other programs may
    have changed some just now: what differs is left for a moment to who follows such changes. What
    is missing after an interrupted build is created at once."""
    built, waiting = Built(), list[list[Unit]]()
    async for units in source:
        for first in range(0, len(units), _SLICE):
            some = units[first : first + _SLICE]
            step = "write" if before == "no" else await _step(store, some, before)
            if step == "wait":
                waiting.append(some)
            elif step == "write":
                built.refused += await _written(store, some)
            built.units += len(some)
            progress(built.units)
            if step == "write":
                probe("record_build.written")
        if len(waiting) >= _MOST_WAITING:
            built.refused += await _settled(store, waiting)
            waiting = []
    built.refused += await _settled(store, waiting)
    return built


async def _step(store: Store, units: list[Unit], before: Kept) -> Literal["write", "wait", "skip"]:
    looked = await record_mirror.look(store, units)
    if not looked.differences and not looked.refused:
        return "skip"
    is_missing = all(one.found is None for one in looked.differences)
    return "write" if before == "partly" and is_missing and not looked.refused else "wait"


async def _written(store: Store, units: list[Unit]) -> list[Refusal]:
    written = await record_mirror.write(store, units)
    if not written.is_kept:
        raise Refused("the records were removed meanwhile", code=REMOVED)
    return written.refused


async def _settled(store: Store, waiting: list[list[Unit]]) -> list[Refusal]:
    """Writes what still differs after a moment, a part under the locks of other programs."""
    if waiting:
        await asyncio.sleep(_SETTLED)
    refused: list[Refusal] = []
    for first in range(0, len(waiting), _TOGETHER):
        refused += await _write_under_locks(store, waiting[first : first + _TOGETHER])
    return refused


async def _write_under_locks(store: Store, slices: list[list[Unit]]) -> list[Refusal]:
    """Once no other program has held a lock for a moment, in which its change was taken over."""
    has_waited = False
    while True:
        now, _ = await store.call("TIME")
        async with record_locks.held(store, CLASSES, int(now)) as is_held:
            if is_held and not has_waited:
                return [one for some in slices for one in await _written(store, some)]
        has_waited = not is_held
        await asyncio.sleep(_SETTLED if is_held else _POLL)


async def begin(store: Store, *, is_new: bool) -> None:
    """Begins a build, which the next process completes if this one is killed. It is `new` where
    there are no records yet, so that all there will be are right."""
    await store.call("SET", AlertingOwn(store.prefix).record_build(), _NEW if is_new else _STALE)
    await switch_on(store)


async def switch_on(store: Store) -> None:
    """From now on every change is written to the records, too."""
    await store.call("SET", AlertingOwn(store.prefix).records(), ON)


async def stop(store: Store) -> None:
    """From now on the records that there are become stale. Nobody takes what is missing among them
    for deleted: the stamps are gone first."""
    own = AlertingOwn(store.prefix)
    if await keeping(store) == "on":
        await store.call("SET", own.records(), OFF)
    await store.call("DEL", own.record_stamps())


async def drop(store: Store, progress: Progress) -> int:
    """Removes all records, and keeps none from now on. Returns the number of keys."""
    await stop(store)
    own, gone = AlertingOwn(store.prefix), 0
    for name in CLASSES:
        async for primary, page in _keys_of(store, name):
            gone += await primary.call("UNLINK", *page)
            progress(gone)
    await store.call("DEL", own.records(), own.record_build(), own.record_ids())
    return gone


_PARTS = {
    name: [one for one in Records.families() if one.pattern.startswith(f"{name}:")]
    for name in CLASSES
}


def _is_index(key: str, name: str) -> bool:
    """Also of a value that the document does not have, such as a state."""
    return key.startswith(f"{name}::by_")


async def _keys_of(store: Store, name: str) -> AsyncIterator[tuple[Primary, list[bytes]]]:
    """The keys of the records of one class; others begin alike."""
    begin = f"{store.prefix}{name}:"
    for kind in sorted({family.kind for family in _PARTS[name]}):
        fitting = [family for family in _PARTS[name] if family.kind == kind]
        async for primary, page in scanned(store, begin, kind):
            keys = [(key, text(key).removeprefix(store.prefix)) for key in page]
            found = [
                raw
                for raw, key in keys
                if any(one.matches(key) for one in fitting) or _is_index(key, name)
            ]
            if found:
                yield primary, found
