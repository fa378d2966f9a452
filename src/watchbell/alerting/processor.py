"""The processor: takes check events, decides what they mean, and writes that with their
acknowledgement."""

import socket
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from watchbell import logs
from watchbell.alerting import priority
from watchbell.alerting.change_feed import ChangeFeed
from watchbell.alerting.check_writes import CheckWrites
from watchbell.alerting.decide.check_facts import QUIET, Delays, Policy
from watchbell.alerting.effects import EFFECTS
from watchbell.alerting.event import NOOP, encode, parse
from watchbell.alerting.event_batch import EventBatch
from watchbell.alerting.facts import CheckFacts
from watchbell.alerting.hours import hour
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.errors import LeaseLost
from watchbell.probes import probe
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.effects import Command, Word, flat, packed, verbatim
from watchbell.store.pipelining import pipelined, yielding
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.script import Script

ARCHIVE_MOST = 100_000
"""The most events that are archived per hour."""
INSTANCE_SECONDS = 12 * 86_400
DEADLY = 3
"""Processors that may die with an event in hand before it is rejected."""
_SHOWN = 1_000
_MOST = 1_000

# KEYS[1] a hash, ARGV[1] the seconds that it is kept, ARGV[2…] its fields and values: a processor
# that dies while it starts leaves none behind for ever.
_BOOT = Script("""
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('EXPIRE', KEYS[1], ARGV[1])
""")


class Tally(Struct):
    """The counts of one step."""

    events: int = 0
    notifications: int = 0
    rejected: int = 0


class ParsedPiece(Struct, gc=False):
    """A piece of a batch after parsing."""

    items: list[bytes]
    parsed: list[CheckEvent | Rejection]
    """The result of each item."""
    events: list[CheckEvent]
    cleanup: list[Command] = []
    rejected: list[tuple[bytes, str]] = []


class Processor:
    piece = 250
    """Events of a batch that are decided on at once."""

    def __init__(self, store: Store, settings: Settings, pid: int) -> None:
        self._store, self._settings = store, settings
        self._checks = CheckWrites(store.prefix)
        self._facts = CheckFacts(store.prefix)
        self._keys, self._own = self._checks.keys, self._checks.own
        self._instance = (socket.getfqdn(), pid)
        self._policy = policy(settings)
        queue = Queue(key=self._keys.events(), order_by=("entity", "check"))
        urgent = priority.events(store.prefix, _MOST)
        self.taker = Taker(store, queue, most=_MOST, urgent=urgent)

    async def boot(self, now: int) -> None:
        """Resets the counters of this instance."""
        boot, counters = self._keys.instance(*self._instance), self._counters
        zero = [x for name in ("all", "ok", "failure", "action", "invalid") for x in (name, 0)]
        await _BOOT(self._store, [boot], [INSTANCE_SECONDS, "boot_time", now])
        await _BOOT(self._store, [counters], [INSTANCE_SECONDS, *zero])

    @property
    def _counters(self) -> str:
        return self._keys.instance_counters(*self._instance)

    async def process(self, batch: Batch, now: int) -> Tally:
        """Loads, decides and applies a batch as of `now`, and acknowledges it."""
        parsed, tally, switch = _parsed(batch, now), Tally(), [self._own.records()]
        event_batch = EventBatch(self._checks, self._policy, parsed, now)

        async def load(piece: Batch) -> ParsedPiece:
            first = batch.left - piece.left
            parsed_piece = _parsed_piece(piece.items, parsed[first : first + len(piece.items)])
            wanted = event_batch.unread(parsed_piece.events)
            facts, parsed_piece.cleanup, count = await patiently(
                lambda: self._facts.load(self._store, wanted, now)
            )
            event_batch.remember(facts, count)
            probe("processor.loaded")
            return parsed_piece

        async def decide(_: Batch, parsed_piece: ParsedPiece) -> bytes:
            words = flat(parsed_piece.cleanup)
            words += await self._decided(parsed_piece, event_batch, tally)
            words += event_batch.unchanged_commands()
            words += flat(self._shared(parsed_piece, now))
            words += flat(self._rejections(parsed_piece.rejected, now))
            tally.events += len(parsed_piece.events)
            tally.rejected += len(parsed_piece.rejected)
            probe("processor.decided")
            return packed(words)

        async def apply(piece: Batch, commands: bytes) -> None:
            refused = await self.taker.acknowledge(piece, EFFECTS.acknowledging, switch, [commands])
            probe("processor.applied")
            for command in refused or ():
                logs.get(role="processor").error("the store refused", command=command)

        await pipelined(batch.pieces(self.piece), load, decide, apply)
        return tally

    async def _decided(
        self, parsed_piece: ParsedPiece, event_batch: EventBatch, tally: Tally
    ) -> list[Word]:
        """The commands that follow from each event, as words."""
        words, changes = list[Word](), ChangeFeed()
        numbers = event_batch.numbered(len(parsed_piece.parsed))
        events = zip(parsed_piece.items, parsed_piece.parsed, numbers, strict=True)
        async for item, event, number in yielding(events, 100):
            if isinstance(event, Rejection):
                parsed_piece.rejected.append((item, event.reason))
                continue
            try:
                found, outcome = event_batch.judged(event, number)
            except Exception as error:  # noqa: BLE001 one event stops none of the others
                logs.get(role="processor").exception("event failed", check=event.id)
                parsed_piece.rejected.append((item, f"the processor failed on it: {error!r}"))
                continue
            words += found
            if outcome is not QUIET:
                changes.note(event.id, outcome)
            tally.notifications += outcome.notification is not None
        return words + flat(changes.commands(self._own))

    def _shared(self, parsed_piece: ParsedPiece, now: int) -> Iterable[Command]:
        """The writes that the events share: indexes, counters and the archive."""
        service = [event for event in parsed_piece.events if event.type == "service"]
        by_entity: dict[str, set[str]] = {}
        for event in service:
            by_entity.setdefault(event.entity, set()).add(event.check)
        if by_entity:
            yield ["ENABLE_ENTITIES", self._keys.current_entities(), now, *by_entity]
        for entity, names in by_entity.items():
            yield ["ENABLE_CHECKS", self._keys.current_checks(entity), entity, now, *names]
        yield from self._counted(parsed_piece.parsed)
        if self._settings.archive and parsed_piece.events:
            yield from self._archived(parsed_piece, now)
        yield ["DEL", self._keys.wakes()]

    def _counted(self, parsed: Sequence[CheckEvent | Rejection]) -> Iterable[Command]:
        counts = Counter(map(_counter, parsed))
        counts["all"] = len(parsed)
        for name, number in counts.items():
            yield ["HINCRBY", self._keys.counters(), name, number]
            yield ["HINCRBY", self._counters, name, number]
        yield ["EXPIRE", self._counters, INSTANCE_SECONDS]
        yield ["EXPIRE", self._keys.instance(*self._instance), INSTANCE_SECONDS]

    def _archived(self, parsed_piece: ParsedPiece, now: int) -> Iterable[Command]:
        good = [
            verbatim(_copy(item, event, now))
            for item, event in zip(parsed_piece.items, parsed_piece.parsed, strict=True)
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
            record = msgspec.json.encode({"time": now, "reason": reason, "event": shown})
            yield ["LPUSH", raw, verbatim(item)]
            yield ["LPUSH", reasons, verbatim(record)]
        for key in (raw, reasons):
            yield ["EXPIRE", key, self._settings.rejected_days * 86_400]


def _parsed(batch: Batch, now: int) -> list[CheckEvent | Rejection]:
    if batch.attempts < DEADLY:
        return [parse(item, now) for item in batch.items]
    return [Rejection(f"{batch.attempts} processors died with it in hand") for _ in batch.items]


def _parsed_piece(items: list[bytes], parsed: list[CheckEvent | Rejection]) -> ParsedPiece:
    events = [one for one in parsed if isinstance(one, CheckEvent)]
    if len(events) < len(parsed):  # a noop is not counted
        kept = [pair for pair in zip(items, parsed, strict=True) if pair[1] is not NOOP]
        items, parsed = [item for item, _ in kept], [one for _, one in kept]
    return ParsedPiece(items, parsed, events)


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


def _copy(item: bytes, event: CheckEvent, now: int) -> bytes:
    """An event as it is archived: measurements are found there by their time, so an event that came
    without one gets ours."""
    return encode(event) if event.perfdata is not None and event.time == now else item


def _counter(parsed: CheckEvent | Rejection) -> str:
    if isinstance(parsed, Rejection):
        return "invalid"
    if parsed.type == "action":
        return "action"
    return "ok" if parsed.state == "ok" else "failure"


async def step(processor: Processor, now: int) -> Tally | None:
    """Processes one batch; None if nothing waits. Items that went back to the queue are not
    counted."""
    batch = await processor.taker.take()
    if batch is None:
        return None
    try:
        return await processor.process(batch, now)
    except LeaseLost:
        return Tally()
