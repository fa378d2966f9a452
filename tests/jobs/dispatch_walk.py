"""Steps that lead the dispatcher through whatever may happen, and what must hold after each."""

from typing import Any

import msgspec

from tests.jobs.dispatching import (
    FLEET,
    KEYS,
    a_job,
    finish,
    launch,
    limited,
    put_event,
    put_server,
)
from watchbell.actors import system
from watchbell.clock import SetClock
from watchbell.fleet import presence
from watchbell.fleet.model import Link, Server
from watchbell.jobs import aborts
from watchbell.jobs.dispatcher import Dispatcher
from watchbell.jobs.drainer import Drainer
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.model import Event
from watchbell.jobs.reaper import Reaper
from watchbell.settings import Jobs as JobSettings
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys
from watchbell.store.script import Script

EVENTS = {"e0": ("main",), "e1": ("s0", "s1"), "e2": ("s1", "main")}
SERVERS = ("s0", "s1")
_QUEUE = StoreKeys()
_ALICE = system("Alice")


# Returns every key of a collection and its content.
_EVERYTHING = Script("""
local reads = {
  list = {'LRANGE', 0, -1}, set = {'SMEMBERS'}, zset = {'ZRANGE', 0, -1}, hash = {'HGETALL'}
}
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local read = reads[redis.call('TYPE', key).ok]
  if read then found[#found + 1] = {key, redis.call(read[1], key, unpack(read, 2))} end
end
return found
""")


class Snapshot:
    """Everything that the store knows of jobs."""

    def __init__(self, jobs: dict[str, dict[str, Any]], lists: dict[str, list[str]]) -> None:
        self.jobs, self.lists = jobs, lists

    def members(self, key: str) -> list[str]:
        return self.lists.get(key, [])

    def state(self, job: str) -> str:
        return str(self.jobs[job]["state"])

    @property
    def ready(self) -> list[str]:
        """In the list, or in the hands of a taker."""
        return [
            job
            for key, found in self.lists.items()
            if key == KEYS.ready() or key.startswith(_QUEUE.taken(KEYS.ready(), ""))
            for job in found
        ]


class Walk:
    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, SetClock(1_000_000)
        self.view = FleetView(store, 15, self.clock)
        self.drainer = Drainer(store, self.view)
        settings = JobSettings(down_after=15, lost_after=900)
        self.reaper = Reaper(store, self.view, settings, self.clock)
        self.dispatchers = [self._dispatcher() for _ in range(2)]
        self.batches: list[Any] = [None, None]
        self.servers = {
            name: Server(id=name, hostname=name, groups=("main",), max_jobs=1) for name in SERVERS
        }
        self.events = {name: Event(id=name, title=name) for name in EVENTS}
        self.known = [self.events, self.events]
        """The events as each dispatcher has read them with its batch."""
        self.applied = self.events
        """Those by which the last batch was handled."""
        self.launched = 0

    def _dispatcher(self) -> Dispatcher:
        return Dispatcher(self.store, self.view, self.clock, most=3)

    async def begin(self) -> None:
        for server in self.servers.values():
            await put_server(self.store, server)
            await self.connect(server.id)
        for event in self.events.values():
            await put_event(self.store, event)

    # Steps.

    async def launch(self, event: str, priority: int) -> None:
        job = a_job(f"j{self.launched}", event, *EVENTS[event], priority=priority)
        self.launched += 1
        await launch(self.store, job)

    async def launch_some(self, event: str, number: int) -> None:
        for _ in range(number):
            await self.launch(event, 0)

    async def take(self, who: int) -> None:
        self.batches[who] = await self.dispatchers[who].taker.take()
        self.known[who] = dict(self.events)

    async def apply(self, who: int, *, again: bool = False) -> None:
        """Handles what is in hand, or what is there to take; `again`: the answer was lost."""
        await self.view.load()
        if self.batches[who] is None:
            await self.take(who)
        batch, self.batches[who], self.applied = self.batches[who], None, self.known[who]
        for _ in range(1 + again) if batch else ():
            await self.dispatchers[who].process(batch)

    async def die(self, who: int) -> None:
        """A dispatcher dies, and another one is started."""
        name = self.dispatchers[who].taker.name
        await self.store.call("ZADD", _QUEUE.takers(KEYS.ready()), "XX", 0, name)
        self.dispatchers[who], self.batches[who] = self._dispatcher(), None

    async def finish(self, number: int) -> None:
        found = await self.snapshot()
        over = [job for job in found.jobs if found.state(job) in ("active", "finishing")]
        if over:
            await self._finish(over[number % len(over)])

    async def _finish(self, job: str) -> None:
        await self.store.call("LREM", KEYS.finishing(), 0, job)
        await finish(self.store, job)

    async def abort(self, number: int) -> None:
        found = sorted((await self.snapshot()).jobs)
        if found:
            job = found[number % len(found)]
            await aborts.abort(self.store, job, "no longer needed", _ALICE, now=0)

    async def send(self, number: int) -> None:
        found = await self.snapshot()
        active = sorted(job for job in found.jobs if found.state(job) == "active")
        if active:
            key = KEYS.job(active[number % len(active)])
            await self.store.call("HSET", key, "remote", "true", "_boot", '"b"')

    async def set_slots(self, server: str, slots: int) -> None:
        await self._change(server, max_jobs=slots)

    async def enable(self, server: str, is_enabled: bool) -> None:
        await self._change(server, enabled=is_enabled)

    async def _change(self, server: str, **changes: Any) -> None:
        self.servers[server] = msgspec.structs.replace(self.servers[server], **changes)
        await put_server(self.store, self.servers[server])

    async def set_limit(self, event: str, jobs: int, queue: int) -> None:
        plain = Event(id=event, title=event)
        self.events[event] = limited(event, jobs, queue) if jobs else plain
        await put_event(self.store, self.events[event])

    async def connect(self, server: str) -> None:
        await presence.connect(self.store, server, Link(session="s", process="p", since=0))

    async def lose(self, server: str) -> None:
        await self.store.call("HDEL", FLEET.links(), server)
        await self.store.call("ZADD", FLEET.seen(), 1, server)

    async def reap(self) -> None:
        await self.view.load()
        self.clock.advance(15)
        await self.view.load()
        await self.reaper.reap()

    async def drain(self) -> None:
        await self.view.load()
        await self.drainer.drain()

    # What must hold.

    async def snapshot(self) -> Snapshot:
        jobs, lists = {}, {}
        for raw, content in await _EVERYTHING(self.store, []):
            key, found = raw.decode(), [one.decode() for one in content]
            if key.startswith(KEYS.job("")):
                pairs = zip(found[::2], found[1::2], strict=True)
                fields = {name: msgspec.json.decode(value) for name, value in pairs}
                jobs[key.removeprefix(KEYS.job(""))] = fields
            else:
                lists[key] = found
        return Snapshot(jobs, lists)

    async def check(self, before: Snapshot) -> Snapshot:
        now = await self.snapshot()
        for job in now.jobs:
            self._check_job(now, job)
        for server in SERVERS:
            for job in now.members(KEYS.server_jobs(server)):
                fields = now.jobs[job]
                assert server in (fields.get("server"), fields.get("_slot")), (server, job)
        for event in EVENTS:
            occupied, queued = now.members(KEYS.occupied(event)), now.members(KEYS.queued(event))
            assert all(now.jobs[job]["event"] == event for job in occupied)
            assert not set(occupied) & set(queued)
            new = set(occupied) - set(before.members(KEYS.occupied(event)))
            self._check_order(now, new, queued)
        self._check_limits(before, now)
        return now

    def _check_job(self, now: Snapshot, job: str) -> None:
        fields = now.jobs[job]
        state, event = fields["state"], fields["event"]
        has_place = job in now.members(KEYS.occupied(event))
        waits = [job in now.members(KEYS.waiting(target)) for target in fields["targets"]]
        is_queued = job in now.members(KEYS.queued(event))
        if state == "ready":
            assert now.ready.count(job) == 1, job
            assert not any([*waits, is_queued]), job
        elif state == "queued":
            assert is_queued != all(waits), job
            assert any(waits) == all(waits) == has_place, job
            assert "_slot" not in fields, job
        elif state == "active":
            assert has_place, job
            assert job in now.members(KEYS.server_jobs(fields["server"])), job
            assert not any([*waits, is_queued]), job
        else:
            assert now.members(KEYS.finishing()).count(job) == 1, job
            assert not any([*waits, is_queued]), job

    def _check_order(self, now: Snapshot, new: set[str], queued: list[str]) -> None:
        for job in new:
            for other in queued:
                one, two = now.jobs[job], now.jobs[other]
                if one.get("priority") == two.get("priority"):
                    assert one["_turn"] < two["_turn"], f"{job} has overtaken {other}"

    def _check_limits(self, before: Snapshot, now: Snapshot) -> None:
        """Whatever was begun in this step, the limits hold that its dispatcher has read."""
        was = {job for job in before.jobs if before.state(job) == "active"}
        for job, fields in now.jobs.items():
            if fields["state"] != "active" or job in was:
                continue
            server, event = fields["server"], fields["event"]
            slots = self.servers[server].max_jobs
            assert slots is not None
            assert len(now.members(KEYS.server_jobs(server))) <= slots, server
            limits = self.applied[event].limits
            if limits:
                assert len(now.members(KEYS.occupied(event))) <= (limits[0].amount or 0), event

    async def settle(self) -> Snapshot:
        """Everything that can be done is done."""
        for who in range(2):
            await self.apply(who)
        await self.drain()
        while (await self.snapshot()).ready:
            for who in range(2):
                await self.apply(who)
        return await self.snapshot()

    async def check_nobody_waits_in_vain(self) -> None:
        now = await self.settle()
        await self.view.load()
        for server in self.view.state.servers.values():
            if (
                server.obstacle is None
                and len(now.members(KEYS.server_jobs(server.id))) < server.slots
            ):
                for target in (server.id, *server.groups):
                    assert not now.members(KEYS.waiting(target)), (server.id, target)
        for event, definition in self.events.items():
            if now.members(KEYS.queued(event)):
                occupied = len(now.members(KEYS.occupied(event)))
                assert definition.limits, event
                assert occupied >= (definition.limits[0].amount or 0), event

    async def finish_everything(self) -> None:
        """With a fleet that works, every job comes to its end and leaves nothing behind."""
        for server in SERVERS:
            await self._change(server, enabled=True, max_jobs=2)
            await self.connect(server)
        for _ in range(self.launched + 1):
            now = await self.settle()
            for job in now.jobs:
                if now.state(job) in ("active", "finishing"):
                    await self._finish(job)
            if not now.jobs:
                break
        now = await self.snapshot()
        assert now.jobs == {}
        begun = ("occupied", "server_jobs", "waiting", "queued", "finishing", "ready:taken")
        assert not [key for key in now.lists if any(word in key for word in begun)]
