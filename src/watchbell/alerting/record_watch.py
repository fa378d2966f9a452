"""Follows what other programs change, in records or in the working layout, and brings both
together again.

The store reports the keys that change. A thing whose sides differ then was changed by another
program: the side that changed last wins. Digests of both sides, from when they were last equal,
tell which one that is after a time without reports.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from contextlib import aclosing, suppress

import msgspec
from msgspec.structs import replace
from redis.exceptions import ResponseError

from watchbell import ids, logs
from watchbell.alerting import (
    contacts,
    entities,
    known_checks,
    record_check_sides,
    record_keeping,
    record_locks,
    record_mirror,
    record_sides,
    record_units,
    record_verify,
)
from watchbell.alerting.keys import ALL, AlertingOwn
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.record_lua import ON
from watchbell.alerting.record_mirror import Difference
from watchbell.alerting.record_sides import Kind, Sides
from watchbell.alerting.record_suspects import RECORDS, UNDECIDED, WORKING, Suspects, watched
from watchbell.clock import Clock
from watchbell.errors import LockLost, NotFound, Refused
from watchbell.probes import probe
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.live import Gap, changed_keys
from watchbell.store.lock import locked
from watchbell.store.replies import hash_fields, text, text_or_none
from watchbell.store.script import Script

_TICK = 0.5
"""Seconds from one look to the next while something waits for a lock."""
_PAUSE = 0.1
"""Seconds after each look, in which reports gather."""
_COUNT_EVERY = 1.0
"""Seconds from one comparison of the enabled checks of entities to the next."""
_LOCK_SECONDS = 10.0
_OF_STATES = ("check", "check_state")
_SLICE = 50
_SHOWN = 5

_FIELD = "generation"
"""The field of the stamps that says since when records are kept."""

# KEYS[1] the switch, KEYS[2] stamps; ARGV[1] its value while records are kept, ARGV[2] field,
# ARGV[3] a new generation, or nothing. Returns the generation.
_GENERATION = Script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
if ARGV[3] ~= '' then redis.call('HSETNX', KEYS[2], ARGV[2], ARGV[3]) end
return redis.call('HGET', KEYS[2], ARGV[2])
""")

# KEYS[1] stamps; ARGV[1] field, ARGV[2] generation, ARGV[3…] fields and values, which are stored if
# the generation is still the same.
_STAMP = Script("""
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
""")


class RecordWatch:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._own = AlertingOwn(store.prefix)
        self._log = logs.get(role="processor")
        self._checks = record_check_sides.Checks(store)
        self._settings: tuple[Kind, ...] = (
            record_check_sides.Enabled(store),
            record_check_sides.OwnContacts(store),
        )
        self._kinds: dict[str, Kind] = {
            kind.name: kind
            for kind in (
                record_sides.Contacts(store),
                *self._settings,
                record_sides.Entities(store),
                self._checks,
                record_check_sides.Maintenance(store, "scheduled"),
                record_check_sides.Maintenance(store, "unscheduled"),
            )
        }
        self._stamps: dict[str, Sides] = {}
        self._suspects = Suspects(store, self._checks, self._settings)
        self._is_new = asyncio.Event()
        self._reports: list[list[bytes]] = []
        self._has_gap = False
        self._generation = ""
        self._next_count = 0.0

    async def run(self) -> None:
        """Works while records are kept and no other processor does."""
        while True:
            try:
                if await patiently(lambda: record_keeping.keeping(self._store)) == "on":
                    key = self._own.record_watcher()
                    async with locked(self._store, key, _LOCK_SECONDS):
                        await self._watch()
            except (LockLost, Refused):
                pass  # another works
            await asyncio.sleep(1)

    async def _watch(self) -> None:
        """Until records are no longer kept."""
        await patiently(lambda: record_locks.take_over(self._store, self._own.record_stamps()))
        try:
            async with asyncio.TaskGroup() as group:
                listener = group.create_task(self._listen())
                while await patiently(lambda: record_keeping.keeping(self._store)) == "on":
                    await self._reported()
                    await patiently(self.step)
                    await asyncio.sleep(_PAUSE)
                listener.cancel()
        except ExceptionGroup as failed:
            refused, others = failed.split(ResponseError)
            if refused is None or others is not None:
                raise
            raise refused.exceptions[0] from failed

    async def _reported(self) -> None:
        """Waits for reports, but not for long."""
        try:
            async with asyncio.timeout(_TICK if self._suspects else 1):
                await self._is_new.wait()
        except TimeoutError:
            pass
        self._is_new.clear()

    async def _listen(self) -> None:
        """Of all keys, since names of entities come first in keys of maintenance."""
        prefix = self._store.prefix
        async with aclosing(changed_keys(self._store, [prefix])) as items:
            async for item in items:
                if isinstance(item, Gap):
                    self._has_gap = True
                elif keys := watched(item, prefix.encode()):
                    self._reports.append(keys)
                else:
                    continue
                self._is_new.set()

    async def step(self) -> None:
        """Settles what changed since the last step; everything after a gap, or a step that
        failed."""
        try:
            await self._step()
        except BaseException:
            self._has_gap = True
            raise

    async def _step(self) -> None:
        if self._generation:
            await self._is_current()
        if self._has_gap:
            self._has_gap = False
            await self.sweep()
        reports, self._reports = self._reports, []
        for keys in reports:
            await self._guarded(self._suspects.add(keys), "keys")
        await self._guarded(self._suspects.add_checks(), "check")
        if self._clock.monotonic() >= self._next_count:
            self._next_count = self._clock.monotonic() + _COUNT_EVERY
            await self._guarded(self._suspects.add_enabled(), "enabled")
        await self._guarded(self._mirror_drops(), "notification_block")
        await self._settle_suspects()

    async def sweep(self) -> None:
        """Everything is looked at, as after a time without reports."""
        places = [self._own.records(), self._own.record_stamps()]
        answer = await _GENERATION(self._store, places, [ON, _FIELD, ids.token()])
        self._generation = text_or_none(answer) or ""
        stored = await hash_fields(self._store, self._own.record_stamps())
        for field in (_FIELD, record_locks.OWNER):
            stored.pop(field.encode(), None)
        self._stamps = {}
        for name, value in stored.items():
            with suppress(msgspec.DecodeError):  # it counts as one that was never stored
                self._stamps[text(name)] = msgspec.json.decode(value, type=Sides)
        await self._suspects.add_all(self._stamps, await _working(self._store))
        await self._guarded(self._sweep_blocks(), "notification_block")

    async def _mirror_drops(self) -> None:
        """Blocks of alerts are the notifier's own, so they need no lock."""
        drops = await self._suspects.foreign_drops()
        async for some in _slices(drops):
            await record_mirror.write(self._store, [("block", drop) for drop in some])

    async def _sweep_blocks(self) -> None:
        async for drops in record_units.suppressing(self._store):
            self._suspects.drops.update(drops)
        strays = [("stray", "blocks", one) for one in await record_verify.stray_blocks(self._store)]
        await record_mirror.write(self._store, strays)

    async def _settle_suspects(self) -> None:
        for kind in self._kinds.values():
            changed = self._suspects.take(kind.name)
            async for some in _slices(list(changed)):
                await self._settle_slice(kind, some, changed)
        if not self._suspects:
            self._suspects.tags.clear()
        await self._guarded(self._report_states(), "check_state")

    async def _settle_slice(self, kind: Kind, some: list[str], changed: dict[str, str]) -> None:
        """All together; one after the other where the store refuses one of them."""
        try:
            await self._settle(kind, some, changed)
        except ResponseError:
            for name in some:
                await self._guarded(self._settle(kind, [name], changed), f"{kind.name} {name}")

    async def _report_states(self) -> None:
        found = await self._suspects.foreign_states()
        if not found:
            return
        async with record_locks.held(self._store, _OF_STATES, self._now()) as is_held:
            if is_held:
                probe("record_watch.locked")
                await self._suspects.report_states(found)
            else:
                self._suspects.states.update(text(one[0]) for one in found)

    def _now(self) -> int:
        return int(self._clock.now())

    async def _guarded(self, work: Awaitable[None], kind: str) -> None:
        """A key of a wrong type stops nothing else."""
        try:
            await work
        except ResponseError as error:
            self._log.error("the store refused", kind=kind, reason=str(error))

    async def _settle(self, kind: Kind, names: Sequence[str], changed: dict[str, str]) -> None:
        now = await kind.sides(names)
        differing = await self._differing(kind, now)
        if differing:
            async with record_locks.held(self._store, kind.classes, self._now()) as is_held:
                probe("record_watch.locked")
                if is_held:
                    now, differing = await self._resolve_all(kind, names, changed)
                else:
                    self._suspects.put_back(kind.name, {name: changed[name] for name in differing})
        await self._stamp(
            {f"{kind.name} {name}": one for name, one in now.items() if name not in differing}
        )

    async def _resolve_all(
        self, kind: Kind, names: Sequence[str], changed: dict[str, str]
    ) -> tuple[dict[str, Sides], set[str]]:
        """Under the lock both sides are read once more, and again when all is done, before another
        program can change them. Returns the sides, and those that still differ."""
        before = await kind.sides(names)
        mirrored = {
            name
            for name in await self._differing(kind, before)
            if await self._resolve(kind, name, before[name], changed[name])
        }
        now = await kind.sides(names)
        differing = await self._differing(kind, now)
        # The working layout has changed again. The stamp says that its record is not news, else
        # what was deleted would be created again from its record.
        await self._stamp(
            {
                f"{kind.name} {name}": replace(now[name], working=before[name].working)
                for name in differing & mirrored
            }
        )
        return now, differing

    async def _differing(self, kind: Kind, now: dict[str, Sides]) -> set[str]:
        units = {name: self._units(kind, name, one) for name, one in now.items()}
        every = [unit for several in units.values() for unit in several]
        if not every:  # presence is all that counts
            return {name for name, one in now.items() if bool(one.record) != bool(one.working)}
        if not (await record_mirror.look(self._store, every)).differences:
            return set()
        return {
            name
            for name, several in units.items()
            if (await record_mirror.look(self._store, several)).differences
        }

    def _units(self, kind: Kind, name: str, now: Sides) -> list[Unit]:
        before = self._stamp_of(kind, name) or Sides()
        tags = self._suspects.tags.get((kind.name, name), set())
        return kind.units(name, replace(before, tags=(*before.tags, *tags)), now)

    def _stamp_of(self, kind: Kind, name: str) -> Sides | None:
        return self._stamps.get(f"{kind.name} {name}")

    async def _stamp(self, equal: dict[str, Sides]) -> None:
        """Remembers the sides that are equal now."""
        key = self._own.record_stamps()
        new = {name: one for name, one in equal.items() if self._stamps.get(name) != one}
        flat: list[Argument] = []
        for name, one in new.items():
            if one.record or one.working:
                self._stamps[name] = one
                flat += [name, msgspec.json.encode(one)]
            elif self._stamps.pop(name, None):
                await self._store.call("HDEL", key, name)
        probe("record_watch.settled")
        if flat:
            await _STAMP(self._store, [key], [_FIELD, self._generation, *flat])

    async def _resolve(self, kind: Kind, name: str, now: Sides, changed: str) -> bool:
        """Whether the record was written from the working layout."""
        before = self._stamp_of(kind, name)
        units = self._units(kind, name, now)
        winner, is_conflict = decided(before, now, changed)
        if is_conflict and not changed:
            # The report of the later change may still come.
            self._suspects.put_back(kind.name, {name: UNDECIDED})
            return False
        if is_conflict:
            found = (await record_mirror.look(self._store, units)).differences
            shown = [_words(one) for one in found if "pagerduty" not in one.key][:_SHOWN]
            about = f"{kind.name} {name}"
            self._log.warning("both layouts changed", about=about, kept=winner, differences=shown)
        if not await self._is_current():
            return False
        probe("record_watch.decided")
        if winner == RECORDS and not await self._is_adopted(kind, name, before, now):
            return False
        probe("record_watch.adopted")
        await record_mirror.write(self._store, [*units, *record_sides.after(kind, name)])
        probe("record_watch.written")
        return winner == WORKING

    async def _is_adopted(self, kind: Kind, name: str, before: Sides | None, now: Sides) -> bool:
        about = f"{kind.name} {name}"
        try:
            if now.record:
                await kind.adopt(name, before or Sides(), self._now())
            else:
                await kind.remove(name, self._now())
        except (Refused, NotFound) as error:
            self._log.warning("record is invalid", about=about, reason=str(error))
            return False
        self._log.info("record adopted" if now.record else "record is gone", about=about)
        return True

    async def _is_current(self) -> bool:
        """Whether records were kept all the time since the sweep. Who drops them says so first, so
        this is asked after they were read: a record that was dropped is not one that was deleted.
        """
        switch, stamps = self._own.records(), self._own.record_stamps()
        answer = await _GENERATION(self._store, [switch, stamps], [ON, _FIELD, ""])
        if text_or_none(answer) == self._generation:
            return True
        self._has_gap = True
        return False


def decided(before: Sides | None, now: Sides, changed: str) -> tuple[str, bool]:
    """The side that wins where the two differ, and whether both have changed. `changed` is the one
    that was reported last; another text where none was, or both at once."""
    if before is None:
        if not now.working:
            return RECORDS, False
        # Never seen together: what has no record yet gets one.
        return (RECORDS if now.record and changed == RECORDS else WORKING), False
    in_records, in_working = now.record != before.record, now.working != before.working
    if in_records and in_working:
        return (RECORDS if changed == RECORDS else WORKING), True
    return (RECORDS if in_records else WORKING), False


async def _working(store: Store) -> dict[str, Iterable[str]]:
    """What the working layout has of each kind."""
    return {
        "contact": await contacts.all_ids(store),
        "entity": [*await entities.names(store), ALL],
        "check": await known_checks.every(store),
    }


async def _slices(names: list[str]) -> AsyncIterator[list[str]]:
    for first in range(0, len(names), _SLICE):
        yield names[first : first + _SLICE]
        await asyncio.sleep(0)


def _words(one: Difference) -> str:
    return f"{one.key} {one.field}: record {one.found!r}, working layout {one.expected!r}"
