"""Alerting against a small model: random days of events, people and accidents on a real store.

The same examples are tried each time. To explore others, for as long as wanted:
`WATCHBELL_TEST_EXAMPLES=2000 ./watchbell test tests/alerting/test_machine.py`
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, ClassVar, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests import servers
from tests.alerting import forgetting, record_model
from tests.alerting.consistency import Picture, found_in
from tests.alerting.model import Check, Medium, Model, Person, Rule, address
from tests.alerting.scenes import START, Stage, consumed
from tests.conftest import emptied
from tests.families import FAMILIES
from watchbell.alerting import (
    check_settings,
    contact_links,
    contacts,
    entities,
    indexes,
    maintenance,
    record_verify,
    validation,
)
from watchbell.alerting import model as alerting
from watchbell.alerting import notifier as notifying
from watchbell.alerting import processor as processing
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.processor import Processor
from watchbell.alerting.record_mirror import Difference
from watchbell.alerting.silence import Silence
from watchbell.errors import LeaseLost, NotFound
from watchbell.settings import Alerting as Settings
from watchbell.store import queue
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys, tagged

T = TypeVar("T")

INDEXES = {
    *(AlertingOwn.open_problems, AlertingOwn.alerting_media, AlertingOwn.rollups),
    *(AlertingOwn.drops, AlertingOwn.drop_expiries, AlertingOwn.event_tags),
}
KEPT = frozenset(FAMILIES) - INDEXES
"""Also what is compared, as decisions are, and the batches that processes took."""

EXAMPLES = int(os.environ.get("WATCHBELL_TEST_EXAMPLES", "0"))
ENTITIES = ("web-1.example.com", "db")
CHECKS = (
    "web-1.example.com:HTTP:80",
    "web-1.example.com:Disk /var",
    "db:HTTP:80",
    "db:load",
)
MEDIA = ("email", "sms", "jabber", "pagerduty")
EDGES = (1, 10, 29, 30, 31, 59, 60, 61, 300, 840, 899, 900, 901, 3600, 14_399, 14_400, 40_000)
JUMPS = st.sampled_from(EDGES) | st.integers(1, 1000) | st.just(172_800)
LENGTHS = st.sampled_from((60, 300, 899, 900, 3600, 14_400))
NAMES = st.sampled_from(CHECKS)
SEVERITIES = ("unknown", "warning", "critical")

some_media = st.lists(st.sampled_from(MEDIA), max_size=3, unique=True).map(tuple)


@st.composite
def rule_made(draw: st.DrawFn, name: str) -> Rule:
    return Rule(
        name,
        entities=draw(st.sampled_from([(), (), ("db",), ENTITIES])),
        regex_entities=draw(st.sampled_from([(), (), ("^d",), ("web", r"\.com$")])),
        tags=draw(st.sampled_from([(), (), ("load",), ("example.com", "disk")])),
        regex_tags=draw(st.sampled_from([(), (), ("^go?ld$",), ("var", "^web")])),
        hours=draw(st.sampled_from([None, None, (8, 18)])),
        media={severity: draw(some_media) for severity in SEVERITIES},
        blackholes=tuple(s for s in SEVERITIES if draw(st.integers(0, 7)) == 7),
    )


@st.composite
def person_made(draw: st.DrawFn, name: str) -> Person:
    media = {
        medium: Medium(
            interval=draw(st.sampled_from((60, 900, 900, 3600))),
            threshold=0 if medium == "pagerduty" else draw(st.sampled_from((0, 0, 1, 2, 3))),
        )
        for medium in draw(st.lists(st.sampled_from(MEDIA), min_size=1, unique=True))
    }
    links = draw(st.sets(st.sampled_from(("ALL", *ENTITIES, *CHECKS)), min_size=1))
    made = [draw(rule_made(f"{name}-{n}")) for n in range(draw(st.integers(0, 3)))]
    return Person(name, media, made, links)


@st.composite
def event_made(draw: st.DrawFn) -> dict[str, Any]:
    entity, _, check = draw(NAMES).partition(":")
    kinds = ("ok", "ok", "critical", "critical", "critical", "warning", "unknown")
    state = draw(st.sampled_from((*kinds, "acknowledgement", "test_notifications")))
    is_action = state in ("acknowledgement", "test_notifications")
    if not is_action and draw(st.integers(0, 30)) == 30:
        is_action = True  # somebody names a state in an action
    event: dict[str, Any] = {
        "type": "action" if is_action else "service",
        "state": state,
        "entity": draw(st.sampled_from((entity, entity, entity.upper()))),
        "check": check,
    }
    optional = {
        "summary": st.sampled_from(("fine", "down", "päüse: 5 %")),
        "tags": st.sampled_from((["gold"], ["gld", "load"])),
        "initial_failure_delay": st.sampled_from((0, 0, 10, 60)),
        "repeat_failure_delay": st.sampled_from((0, 300)),
        "initial_recovery_delay": st.sampled_from((0, 30)),
        "ttl": st.sampled_from((0, 60, 900)),
        "duration": LENGTHS,
    }
    for name, values in optional.items():
        if draw(st.integers(0, 3)) == 3:
            event[name] = draw(values)
    return event


class World(RuleBasedStateMachine):
    """The product on a store, and the model; after every step they say the same."""

    runner: ClassVar[asyncio.Runner]
    store: ClassVar[Store]
    with_records: ClassVar[bool] = False
    is_forgetful: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.run(emptied(self.store))
        self.now, self.numbered = START, 0
        self.forgotten = START
        self.crashes = {"processor": 0, "notifier": 0}
        self.stopped: list[tuple[Processor, queue.Batch]] = []

    def run(self, steps: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(steps)

    @initialize(
        people=st.tuples(person_made("alice"), person_made("bob"), person_made("charlie")),
        count=st.integers(1, 3),
        new_check_maintenance=st.sampled_from((0, 0, 0, 600)),
        recovery=st.sampled_from((0, 0, 45)),
    )
    def begin(
        self,
        people: tuple[Person, ...],
        count: int,
        new_check_maintenance: int,
        recovery: int,
    ) -> None:
        chosen = Settings(
            new_check_maintenance=new_check_maintenance, initial_recovery_delay=recovery
        )
        self.model = Model(
            people=list(people[:count]),
            delays={"initial_recovery": recovery},
            new_check_maintenance=new_check_maintenance,
        )
        self.settings = chosen
        self.keys = Stage(self.store).keys
        self.own = Stage(self.store).own
        self.processors = [Processor(self.store, chosen, pid) for pid in (1, 2)]
        self.notifiers = [Notifier(self.store, chosen) for _ in range(2)]
        self.silence = Silence(self.store)
        if self.with_records:
            self.run(self.store.call("SET", self.own.records(), "on"))
        self.run(self._introduce())

    async def _introduce(self) -> None:
        identifiers = {name: await entities.ensure(self.store, name) for name in ENTITIES}
        for person in self.model.people:
            await contacts.save(self.store, _contact(person), with_rules=True)
            for link in person.links:
                entity, _, check = link.partition(":")
                await contact_links.link(
                    self.store, person.name, identifiers.get(entity, link), check or None
                )

    # --- what happens

    @rule(seconds=JUMPS)
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule(events=st.lists(event_made(), min_size=1, max_size=4), at_once=st.booleans())
    def events_come(self, events: list[dict[str, Any]], at_once: bool) -> None:
        for event in events:
            self._come(event)
        if at_once:
            self.everything_is_done()

    @rule(
        name=NAMES,
        state=st.sampled_from(SEVERITIES),
        lasting=st.sampled_from((29, 30, 31, 60)),
        ends=st.sampled_from((None, None, "ok", "ok", "acknowledgement")),
    )
    def a_failure_lasts(self, name: str, state: str, lasting: int, ends: str | None) -> None:
        self._reported(name, state)
        self.now += lasting
        self._reported(name, state)
        if ends is not None:
            self.now += lasting
            self._reported(name, ends)

    @rule(name=NAMES, state=st.sampled_from(("ok", "ok", *SEVERITIES, "acknowledgement")))
    def a_check_reports(self, name: str, state: str) -> None:
        self._reported(name, state)

    def _reported(self, name: str, state: str) -> None:
        if self.is_forgetful:
            self.run(self._forget())
        entity, _, check = name.partition(":")
        kind = "action" if state == "acknowledgement" else "service"
        self._come({"type": kind, "state": state, "entity": entity, "check": check})
        self.everything_is_done()

    def _come(self, event: dict[str, Any]) -> None:
        self.numbered += 1
        event = {**event, "time": self.numbered}
        self.run(self.store.call("LPUSH", self.keys.events(), msgspec.json.encode(event)))
        self.model.events.append(event)

    @rule(raw=st.sampled_from((b"", b"\xff{", b"{}", b'{"type":"service"}', b"[5]")))
    def something_else_comes(self, raw: bytes) -> None:
        self.run(self.store.call("LPUSH", self.keys.events(), raw))
        self.model.events.append(raw)

    @rule(number=st.integers(0, 1))
    def a_processor_works(self, number: int) -> None:
        self.run(_all_of(processing.step, self.processors[number], self.now))
        self.model.process(self.now)
        self.crashes["processor"] = 0

    @rule(number=st.integers(0, 1))
    def a_notifier_works(self, number: int) -> None:
        self.run(_all_of(notifying.step, self.notifiers[number], self.now))
        self.model.notify(self.now)
        self.crashes["notifier"] = 0

    @rule()
    def silence_is_heard(self) -> None:
        assert self.run(self.silence.report(self.now)) == self.model.call_silent(self.now)

    @rule()
    def everything_is_done(self) -> None:
        self.a_processor_works(0)
        self.silence_is_heard()
        self.a_processor_works(0)
        self.a_notifier_works(0)

    @rule()
    def a_processor_works_while_a_notifier_decides(self) -> None:
        """As if it had worked right after it."""
        notifier = Notifier(self.store, self.settings)
        taken = self._met(notifier, _all_of(processing.step, self.processors[1], self.now))
        self.model.notify(self.now, taken)
        self.model.process(self.now)
        self.crashes["processor"] = 0

    @rule()
    def a_notifier_works_while_a_processor_decides(self) -> None:
        """As if it had worked right before it."""
        processor = Processor(self.store, self.settings, 4)
        taken = self._met(processor, _all_of(notifying.step, self.notifiers[1], self.now))
        self.model.notify(self.now)
        self.model.process(self.now, taken)
        self.crashes["notifier"] = 0

    def _met(self, worker: Processor | Notifier, other: Coroutine[Any, Any, None]) -> int:
        """The other works between what a worker decides and what it writes."""

        async def both() -> int:
            batch = await worker.taker.take()
            if batch is None:
                await other
                return 0
            acknowledge = worker.taker.acknowledge

            async def late(*given: Any) -> Any:
                await other
                return await acknowledge(*given)

            worker.taker.acknowledge = late  # type: ignore[method-assign,assignment]
            await worker.process(batch, self.now)
            await worker.taker.release()
            return len(batch.items)

        return self.run(both())

    # --- what goes wrong

    # What three died with is put aside, so that at most two do.

    @precondition(lambda self: self.crashes["processor"] < 2 and self.model.events)
    @precondition(lambda self: not self.stopped)
    @rule()
    def a_processor_stops_with_a_batch(self) -> None:
        """Its lease lapses; whoever takes next gets what it held."""
        processor = Processor(self.store, self.settings, 3)
        batch = self.run(processor.taker.take())
        assert batch is not None
        self.run(self._lapse(self.keys.events(), processor.taker.name))
        self.stopped.append((processor, batch))
        self.crashes["processor"] += 1

    @precondition(lambda self: self.stopped)
    @rule()
    def it_goes_on_as_if_nothing_had_been(self) -> None:
        processor, batch = self.stopped.pop()
        try:
            self.run(processor.process(batch, self.now))
        except LeaseLost:
            return
        self.model.process(self.now, len(batch.items))
        self.run(processor.taker.release())

    @precondition(lambda self: self.crashes["notifier"] < 2 and self.model.notifications)
    @rule()
    def a_notifier_stops_with_a_batch(self) -> None:
        notifier = Notifier(self.store, self.settings)
        assert self.run(notifier.taker.take()) is not None
        self.run(self._lapse(self.keys.notifications(), notifier.taker.name))
        self.crashes["notifier"] += 1

    async def _lapse(self, key: str, taker: str) -> None:
        await self.store.call("ZADD", StoreKeys().takers(tagged(key)), "XX", 0, taker)

    # --- what people do

    @rule(name=NAMES, begins=st.sampled_from((-5000, -300, -1, 0, 0, 1, 60, 900)), length=LENGTHS)
    def maintenance_is_planned(self, name: str, begins: int, length: int) -> None:
        start = self.now + begins
        self.run(maintenance.create_scheduled(self.store, name, start, length, "planned", self.now))
        self.model.plan(name, start, length, self.now)

    @precondition(lambda self: any(check.planned for check in self.model.checks.values()))
    @rule(chosen=st.integers(0, 100))
    def maintenance_is_ended(self, chosen: int) -> None:
        windows = [(c.name, start) for c in self.model.checks.values() for start in c.planned]
        name, start = windows[chosen % len(windows)]
        ended = self.run(maintenance.end_scheduled(self.store, name, start, self.now))
        assert ended == self.model.end(name, start, self.now)

    @rule(name=NAMES)
    def a_check_is_disabled(self, name: str) -> None:
        try:
            self.run(check_settings.disable(self.store, name))
        except NotFound:
            assert not self.model.disable(name)
        else:
            assert self.model.disable(name)

    @rule(number=st.integers(0, 2))
    def an_operator_silences_somebody_or_no_longer(self, number: int) -> None:
        person = self.model.people[number % len(self.model.people)]
        person.silenced = not person.silenced
        key = self.keys.contact_drop(person.name)
        command = ["SET", key, "d", "EX", 100_000_000] if person.silenced else ["DEL", key]
        self.run(self.store.call(*command))

    # --- what holds

    @invariant()
    def both_say_the_same(self) -> None:
        if not hasattr(self, "model"):
            return
        picture = self.run(Picture.of(self.store, self.now))
        assert found_in(picture) == []
        for check in self.model.checks.values():
            seen, expected = picture.story(check.name), _expected(check, self.now)
            wrong = _differences(seen, expected)
            assert wrong == {}, f"{check.name}: {wrong}"
            self._compare_decisions(picture, check)
        queued = [picture.opened(one) for one in picture.list(self.keys.notifications())]
        if not self._held_by_a_notifier(picture):
            assert queued == list(self.model.notifications)
        counters = picture.table(self.keys.counters())
        assert {name: int(number) for name, number in counters.items()} == self.model.counters
        self._compare_alerts(picture)
        self._compare_rollups(picture)
        if self.with_records:
            assert record_model.mistakes(picture) == []
            assert self.run(_verified(self.store)) == []
        if self.is_forgetful:
            self.run(self._forget())

    async def _forget(self) -> None:
        """All indexes go, and are built from Flapjack's keys."""
        await forgetting.forget(self.store, self.now - self.forgotten, KEPT)
        self.forgotten = self.now
        await indexes.build(self.store)

    def _held_by_a_notifier(self, picture: Picture) -> bool:
        taken = StoreKeys().taken(tagged(self.keys.notifications()), "")
        return any(picture.beginning(taken).values())

    def _compare_decisions(self, picture: Picture, check: Check) -> None:
        entity, _, name = check.name.partition(":")
        found = [
            msgspec.json.decode(one, type=alerting.Decision)
            for one in picture.list(self.own.decisions(entity, name))
        ]
        ours = next((one for one in found if one.by == "processor"), None)
        assert (check.decision is None) == (ours is None)
        if ours is not None:
            seen = {name: getattr(ours, name) for name in ("verdict", "state", "time", "until")}
            wrong = _differences(seen, check.decision)
            assert wrong == {}, f"{check.name}: {wrong}"
        others = next((one for one in found if one.by == "notifier"), None)
        if check.fates is not None:
            assert others is not None, check.name
            silenced = {person.name for person in self.model.people if person.silenced}
            fates = {one.contact: one.media for one in others.contacts}
            assert set(fates) == set(check.fates)
            for person, media in check.fates.items():
                assert set(fates[person]) == set(media)
                for medium, fate in media.items():
                    if person in silenced or fate == "INTERVAL":
                        assert fates[person][medium].partition(":")[0] == fate.partition(":")[0]
                    else:
                        assert fates[person][medium] == fate

    def _compare_alerts(self, picture: Picture) -> None:
        for medium in MEDIA:
            found = [picture.opened(one) for one in picture.list(self.keys.queue(medium))]
            identifiers = {one.pop("id") for one in found}
            assert len(identifiers) == len(found)
            expected = self.model.alerts.pop(medium, [])
            wrong = [_differences(*pair) for pair in zip(found, expected, strict=False)]
            assert found == expected, wrong
        for medium in MEDIA:
            self.run(consumed(self.store, medium))

    def _compare_rollups(self, picture: Picture) -> None:
        rolled_up = set()
        for person in self.model.people:
            for name, medium in person.media.items():
                found = picture.scores(self.keys.alerting_checks(person.name, name))
                assert found == medium.alerting
                if medium.rolled_up:
                    rolled_up.add(f"{person.name}:media:{name}")
        assert picture.members(self.own.rollups()) - {indexes.COMPLETE} == rolled_up


def _differences(
    seen: dict[str, Any], expected: dict[str, Any] | None
) -> dict[str, tuple[Any, Any]]:
    """Name to what was seen and what the model says."""
    both = {name: (found, (expected or {}).get(name)) for name, found in seen.items()}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


async def _all_of(step: Callable[[T, int], Coroutine[Any, Any, Any]], worker: T, now: int) -> None:
    while await step(worker, now) is not None:
        pass


async def _verified(store: Store) -> list[Difference]:
    return [one async for one in record_verify.differences(store)]


def _contact(person: Person) -> alerting.Contact:
    return alerting.Contact(
        id=person.name,
        first_name=person.name.title(),
        media={
            name: alerting.Medium(
                address=address(person.name, name),
                interval=medium.interval,
                rollup_threshold=medium.threshold,
            )
            for name, medium in person.media.items()
        },
        rules=tuple(_rule(person.name, one) for one in person.rules),
    )


def _rule(contact: str, made: Rule) -> alerting.Rule:
    restrictions: list[dict[str, object]] = []
    if made.hours is not None:
        begin, end = made.hours
        restrictions.append(
            {
                "start_time": f"2013-04-18 {begin:02}:00:00",
                "end_time": f"2013-04-18 {end:02}:00:00",
                "rrules": [{"rule_type": "Daily", "interval": 1}],
            }
        )
    media = {f"{severity}_media": named for severity, named in made.media.items()}
    holes = {f"{severity}_blackhole": severity in made.blackholes for severity in SEVERITIES}
    return validation.checked_rule(
        alerting.Rule(
            id=made.name,
            contact_id=contact,
            entities=made.entities,
            regex_entities=made.regex_entities,
            tags=made.tags,
            regex_tags=made.regex_tags,
            time_restrictions=tuple(restrictions),
            **media,  # type: ignore[arg-type]
            **holes,  # type: ignore[arg-type]
        )
    )


def _expected(check: Check, now: int) -> dict[str, Any]:
    """The story of the check as the model has it."""
    names = ("state", "changed", "updated", "summary", "enabled", "history", "planned", "told")
    return {
        **{name: getattr(check, name) for name in (*names, "acknowledged", "due")},
        "scheduled": check.scheduled if check.scheduled_until(now) else None,
        "unscheduled": check.unscheduled if check.unscheduled_until(now) else None,
    }


@pytest.fixture
def world(server: servers.Single) -> Iterator[type[World]]:
    with asyncio.Runner() as runner:

        async def opened() -> Store:
            return Store(store_url.parse(server.url))

        store = runner.run(opened())

        class Running(World):
            pass

        Running.runner, Running.store = runner, store
        yield Running
        runner.run(store.close())


@pytest.mark.parametrize("with_records", [False, True], ids=["alone", "with records"])
def test_whatever_happens_the_model_would_have_said_so(
    world: type[World], with_records: bool
) -> None:
    world.with_records = with_records
    examine(world, 30 if with_records else 100)


def test_whatever_happens_nothing_of_ours_is_needed_to_continue(world: type[World]) -> None:
    world.is_forgetful = True
    examine(world, 50)


def examine(world: type[World], examples: int) -> None:
    run_state_machine_as_test(
        world,
        settings=settings(
            max_examples=EXAMPLES or examples,
            phases=[Phase.generate, *([Phase.shrink] if EXAMPLES else [])],
            stateful_step_count=30,
            derandomize=not EXAMPLES,
            database=None,
            deadline=None,
            print_blob=bool(EXAMPLES),
            suppress_health_check=list(HealthCheck),
        ),
    )
