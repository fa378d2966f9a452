"""The processor: takes check events, decides what they mean, and writes it as it lets them go."""

import socket
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from watchbell import logs
from watchbell.alerting import effects
from watchbell.alerting.checks import Checks
from watchbell.alerting.decide.check import Delays, Facts, Outcome, Policy, follow, judge
from watchbell.alerting.effects import Command
from watchbell.alerting.event import NOOP, encode, ephemeral_tags, parse
from watchbell.alerting.facts import CheckFacts
from watchbell.alerting.hours import hour
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.errors import LeaseLost
from watchbell.probes import probe
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.script import Script

ARCHIVE_MOST = 100_000
"""Events that are kept of one hour, at the most."""
INSTANCE_SECONDS = 12 * 86_400
DEADLY = 3
"""Processors that died with an event in hand, after which it is not looked at again."""
_SHOWN = 1_000

# KEYS[1] a hash, ARGV[1] the seconds that it is kept, ARGV[2…] its fields and values: a processor
# that dies while it starts leaves none behind for ever.
_BOOT = Script("""
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('EXPIRE', KEYS[1], ARGV[1])
""")


class Tally(Struct):
    """What a step did."""

    events: int = 0
    notifications: int = 0
    rejected: int = 0


class Processor:
    def __init__(self, store: Store, settings: Settings, pid: int) -> None:
        self._store, self._settings = store, settings
        self._checks = Checks(store.prefix)
        self._facts = CheckFacts(store.prefix)
        self._keys, self._own = self._checks.keys, self._checks.own
        self._instance = (socket.getfqdn(), pid)
        self._policy = policy(settings)
        queue = Queue(key=self._keys.events(), order_by=("entity", "check"))
        self.taker = Taker(store, queue, most=500)

    async def boot(self, now: int) -> None:
        """This instance's counters begin anew."""
        boot, counters = self._keys.instance(*self._instance), self._counters
        zero = [x for name in ("all", "ok", "failure", "action", "invalid") for x in (name, 0)]
        await _BOOT(self._store, [boot], [INSTANCE_SECONDS, "boot_time", now])
        await _BOOT(self._store, [counters], [INSTANCE_SECONDS, *zero])

    @property
    def _counters(self) -> str:
        return self._keys.instance_counters(*self._instance)

    async def process(self, batch: Batch, now: int) -> Tally:
        """Load, decide, apply: what a batch means as of `now`, and its acknowledgement."""
        if batch.attempts < DEADLY:
            parsed = [parse(item, now) for item in batch.items]
        else:
            parsed = [Rejection(f"{batch.attempts} processors died with it in hand")]
        items, events = batch.items, [one for one in parsed if isinstance(one, CheckEvent)]
        if len(events) < len(parsed):  # a noop says nothing, and counts for nothing
            heard = [pair for pair in zip(items, parsed, strict=True) if pair[1] is not NOOP]
            items, parsed = [item for item, _ in heard], [one for _, one in heard]
        facts, tidying, count = await patiently(lambda: self._load(events, now))
        probe("processor.loaded")
        commands, outcomes, failed = self._decide(parsed, facts, count, now)
        rejected = [
            *failed,
            *(
                (item, one.reason)
                for item, one in zip(items, parsed, strict=True)
                if isinstance(one, Rejection)
            ),
        ]
        commands = [
            *tidying,
            *commands,
            *self._shared(items, parsed, events, now),
            *self._rejections(rejected, now),
        ]
        probe("processor.decided")
        refused = await self.taker.acknowledge(
            batch, effects.run, [], [effects.packed(effects.flat(commands))]
        )
        probe("processor.applied")
        for words in refused or ():
            logs.get(role="processor").error("the store refused", command=words)
        told = sum(outcome.notification is not None for outcome in outcomes)
        return Tally(len(events), told, len(rejected))

    async def _load(
        self, events: Sequence[CheckEvent], now: int
    ) -> tuple[dict[str, Facts], list[Command], int]:
        deep: dict[tuple[str, str], bool] = {}
        for event in events:
            pair = (event.entity, event.check)
            deep[pair] = deep.get(pair, False) or event.state != "ok"
        wanted = [(entity, check, flag) for (entity, check), flag in deep.items()]
        facts, tidying, count = await self._facts.load(self._store, wanted, now)
        return {f"{one.entity}:{one.check}": one for one in facts}, tidying, count

    def _decide(
        self,
        parsed: Sequence[CheckEvent | Rejection],
        facts: dict[str, Facts],
        count: int,
        now: int,
    ) -> tuple[list[Command], list[Outcome], list[tuple[bytes, str]]]:
        """The commands and outcomes of all, and those over which we failed, with the reason."""
        commands: list[Command] = []
        outcomes: list[Outcome] = []
        failed: list[tuple[bytes, str]] = []
        for number, event in enumerate(parsed, count + 1):
            if isinstance(event, Rejection):
                continue
            try:
                found, outcome = self._decided(event, facts[event.id], number, now)
            except Exception as error:  # noqa: BLE001 one event stops none of the others
                logs.get(role="processor").exception("event failed", check=event.id)
                failed.append((encode(event), f"we failed over it: {error!r}"))
                continue
            commands += found
            outcomes.append(outcome)
        return commands, outcomes, failed

    def _decided(
        self, event: CheckEvent, check: Facts, number: int, now: int
    ) -> tuple[list[Command], Outcome]:
        tags = frozenset(event.tags) | ephemeral_tags(event.entity, event.check)
        outcome = judge(check, event, tags, self._policy, number, now)
        commands = self._checks.commands(check, event, outcome, number, now)
        if event.type == "service":
            commands += self._silence(check, event, now)
        follow(check, event, outcome, now)
        return commands, outcome

    def _silence(self, check: Facts, event: CheckEvent, now: int) -> Iterable[Command]:
        """A report promises the next one, or takes back what the one before it promised."""
        ttl = event.ttl if event.ttl is not None else check.ttl
        if ttl:
            yield ["ZADD", self._own.silence(), now + ttl, event.id]
        elif check.is_awaited:
            yield ["ZREM", self._own.silence(), event.id]
        check.is_awaited = bool(ttl)

    def _shared(
        self,
        items: Sequence[bytes],
        parsed: Sequence[CheckEvent | Rejection],
        events: Sequence[CheckEvent],
        now: int,
    ) -> Iterable[Command]:
        """What a batch writes at once: indexes, counters and the archive."""
        service = [event for event in events if event.type == "service"]
        by_entity: dict[str, set[str]] = {}
        for event in service:
            by_entity.setdefault(event.entity, set()).add(event.check)
        if by_entity:
            entities = [x for entity in by_entity for x in (now, entity)]
            yield ["ZADD", self._keys.current_entities(), *entities]
        for entity, names in by_entity.items():
            scored = [x for name in names for x in (now, name)]
            yield ["ZADD", self._keys.current_checks(entity), *scored]
        yield from self._counted(parsed)
        if self._settings.archive and events:
            yield from self._archived(items, parsed, now)
        yield ["DEL", self._keys.wakes()]

    def _counted(self, parsed: Sequence[CheckEvent | Rejection]) -> Iterable[Command]:
        counts = Counter(map(_counter, parsed))
        counts["all"] = len(parsed)
        for name, number in counts.items():
            yield ["HINCRBY", self._keys.counters(), name, number]
            yield ["HINCRBY", self._counters, name, number]
        yield ["EXPIRE", self._counters, INSTANCE_SECONDS]
        yield ["EXPIRE", self._keys.instance(*self._instance), INSTANCE_SECONDS]

    def _archived(
        self, items: Sequence[bytes], parsed: Sequence[CheckEvent | Rejection], now: int
    ) -> Iterable[Command]:
        good = [
            effects.verbatim(item)
            for item, event in zip(items, parsed, strict=True)
            if isinstance(event, CheckEvent)
        ]
        archive = self._keys.archive(hour(now))
        yield ["LPUSH", archive, *good]
        yield ["LTRIM", archive, 0, ARCHIVE_MOST - 1]
        yield ["EXPIRE", archive, max(self._settings.archive_seconds, 1)]
        yield ["SADD", self._keys.archives(), archive]

    def _rejections(self, rejected: Sequence[tuple[bytes, str]], now: int) -> Iterable[Command]:
        if not rejected:
            return
        raw, reasons = self._keys.rejected(hour(now)), self._own.rejections(hour(now))
        for item, reason in rejected:
            shown = item[:_SHOWN].decode(errors="replace")
            told = msgspec.json.encode({"time": now, "reason": reason, "event": shown})
            yield ["LPUSH", raw, effects.verbatim(item)]
            yield ["LPUSH", reasons, effects.verbatim(told)]
        for key in (raw, reasons):
            yield ["EXPIRE", key, self._settings.rejected_days * 86_400]


def policy(settings: Settings) -> Policy:
    delays = Delays(
        settings.initial_failure_delay,
        settings.repeat_failure_delay,
        settings.initial_recovery_delay,
    )
    return Policy(
        delays=delays,
        new_check_maintenance=settings.new_check_maintenance,
        new_check_ignore_tags=frozenset(settings.new_check_ignore_tags),
    )


def _counter(parsed: CheckEvent | Rejection) -> str:
    if isinstance(parsed, Rejection):
        return "invalid"
    if parsed.type == "action":
        return "action"
    return "ok" if parsed.state == "ok" else "failure"


async def step(processor: Processor, now: int) -> Tally | None:
    """One batch, or None where nothing waits; what went back to the queue counts for nothing."""
    batch = await processor.taker.take()
    if batch is None:
        return None
    try:
        return await processor.process(batch, now)
    except LeaseLost:
        return Tally()
