"""Takes snapshots with the jobs and alerts that are active, and the ones that watches want."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from watchbell import ids, logs
from watchbell.clock import Clock
from watchbell.errors import NotFound, Refused
from watchbell.fleet import groups, servers, snapshots, watches
from watchbell.fleet.model import SnapshotHead, SnapshotSource, Target
from watchbell.fleet.monitoring import alerts
from watchbell.fleet.snapshots import Occasion, Taking
from watchbell.fleet.watches import Watched
from watchbell.jobs.keys import Jobs
from watchbell.probes import probe
from watchbell.settings import Jobs as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.script import READ, Script

_EVERY = 1.0
_PRUNE_EVERY = 60.0
_DAY = 86_400
_MOST_JOBS = _MOST_ALERTS = 1_000
"""That a snapshot names."""

# KEYS sets of jobs of servers. Returns the jobs of each.
_ACTIVE = Script(
    READ
    + """
local found = {}
for i, key in ipairs(KEYS) do found[i] = read('SMEMBERS', key) or {} end
return found
"""
)


async def active_jobs(store: Store, of: Sequence[str]) -> list[str]:
    """The jobs that these servers have, the newest last."""
    keys = Jobs(store.prefix)
    if not of:
        return []
    found = await _ACTIVE(store, [keys.server_jobs(one) for one in of])
    jobs = sorted(job.decode(errors="replace") for each in found for job in each)
    return jobs[-_MOST_JOBS:]


async def take(
    store: Store,
    kind: Target,
    target: str,
    *,
    source: SnapshotSource,
    now: float,
    username: str = "",
    cause: str = "",
    id: str = "",  # noqa: A002
    occasion: Occasion | None = None,
) -> tuple[SnapshotHead, bool]:
    """Of a server or group: the snapshot, and whether it was taken now. Raises NotFound, and
    Refused for a group without servers."""
    taking = Taking(source=source, now=now, id=id, username=username, cause=cause)
    if kind == "server":
        server = await servers.get(store, target)
        taking = await _with_activity(store, taking, [target])
        return await snapshots.take_server(store, server, taking, occasion)
    group = await groups.get(store, target)
    members = await snapshots.members(store, target)
    taking = await _with_activity(store, taking, [one.id for one in members])
    return await snapshots.take_group(store, group, taking, occasion)


async def _with_activity(store: Store, taking: Taking, of: Sequence[str]) -> Taking:
    return replace(taking, jobs=await active_jobs(store, of), alerts=await active_alerts(store, of))


async def active_alerts(store: Store, of: Sequence[str]) -> list[str]:
    """The alerts that these servers have, the newest last."""
    wanted = set(of)
    found = [one.id for one in await alerts.active(store) if one.server in wanted]
    return found[-_MOST_ALERTS:]


class SnapshotTaker:
    """Any number may run side by side: of each minute of a watch, one snapshot is kept."""

    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._log = logs.get(role="conductor")
        self._pruned_at = -_PRUNE_EVERY

    async def run(self) -> None:
        while True:
            await enduring(lambda: patiently(self.take_due), "conductor", "watches")
            await enduring(lambda: patiently(self._prune), "conductor", "limits of snapshots")
            await asyncio.sleep(_EVERY)

    async def take_due(self) -> int:
        """Takes the snapshots of this minute. Returns how many."""
        taken = 0
        for watched in await watches.every(self._store):
            if self._clock.now() >= watched.watch.until:
                await self._end(watched, "its time is over")
                continue
            occasion = watched.occasion(self._clock.now())
            if occasion is not None:
                taken += await self._take(watched, occasion)
        return taken

    async def _take(self, watched: Watched, occasion: Occasion) -> int:
        watch = watched.watch
        name = f"{occasion.field}:{occasion.minute}:{watch.created}"
        probe("watch.taking")
        try:
            _, is_new = await take(
                self._store,
                watch.type,
                watch.target,
                source="watch",
                now=self._clock.now(),
                username=watch.username,
                id=ids.derived_id(snapshots.LETTERS, occasion.minute * 60, name),
                occasion=occasion,
            )
        except NotFound as error:
            await self._end(watched, str(error))
            return 0
        except Refused:  # no server of the group is connected now
            return 0
        probe("watch.taken")
        return int(is_new)

    async def _end(self, watched: Watched, reason: str) -> None:
        watch = watched.watch
        if await watches.end(self._store, watch.type, watch.target, text=watched.text):
            self._log.info("a watch ended", type=watch.type, target=watch.target, reason=reason)

    async def _prune(self) -> None:
        if self._clock.monotonic() - self._pruned_at < _PRUNE_EVERY:
            return
        oldest = self._clock.now() - self._settings.keep_snapshots * _DAY
        while await snapshots.prune(self._store, self._settings.most_snapshots, oldest):
            pass
        self._pruned_at = self._clock.monotonic()
