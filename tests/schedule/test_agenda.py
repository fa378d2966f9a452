"""Entries by when they are due, through any sequence of changes."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from watchbell.schedule.agenda import Agenda, Entry
from watchbell.schedule.firing import Every, Limited

NAMES = st.sampled_from([f"job{n}" for n in range(6)])


class Pausable(Entry):
    is_paused = False

    @property
    def is_idle(self) -> bool:
        return self.is_paused


def entry_of(name: str, period: int, *, mark: int, jitter: int = 0) -> Pausable:
    return Pausable(name, Limited(Every(period), None, None, jitter), mark)


class AgendaMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.agenda = Agenda[Pausable]()
        self.model: dict[str, Pausable] = {}
        self.now = 1000.0

    @rule(name=NAMES, period=st.integers(1, 50), paused=st.booleans())
    def add(self, name: str, period: int, paused: bool) -> None:
        entry = entry_of(name, period, mark=int(self.now))
        entry.is_paused = paused
        self.agenda.add(entry)
        self.model[name] = entry

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        assert self.agenda.remove(name) is self.model.pop(name, None)

    @precondition(lambda self: bool(self.model))
    @rule(data=st.data())
    def pause_or_resume(self, data: st.DataObject) -> None:
        entry = self.model[data.draw(st.sampled_from(sorted(self.model)))]
        entry.is_paused = not entry.is_paused
        entry.mark = int(self.now)
        self.agenda.plan(entry)

    @rule(seconds=st.integers(0, 60), most=st.integers(1, 3))
    def take_few_ahead(self, seconds: int, most: int) -> None:
        until = self.now + seconds
        near = [entry for entry in self.model.values() if entry.ticket and entry.at <= until]
        taken = self.agenda.take_few(until, most)
        assert {entry.name for entry in taken} == (
            {entry.name for entry in near} if len(near) <= most else set()
        )
        for entry in taken:
            self.agenda.put_back(entry)
        assert all(entry.ticket for entry in near)

    @rule(seconds=st.integers(0, 60), most=st.integers(1, 3))
    def pass_time(self, seconds: int, most: int) -> None:
        self.now += seconds
        live = [entry for entry in self.model.values() if not entry.is_paused]
        due = sorted((e.at, e.ticket) for e in live if e.fire is not None and e.at <= self.now)
        taken = self.agenda.take_due(self.now, most)
        assert [entry.at for entry in taken] == [at for at, _ in due[:most]]
        for entry in taken:
            entry.mark = int(self.now)
            self.agenda.plan(entry)

    @invariant()
    def the_next_is_the_earliest(self) -> None:
        live = [entry.at for entry in self.model.values() if not entry.is_paused]
        assert self.agenda.next_at() == min(live, default=None)
        assert {entry.name for entry in self.agenda} == set(self.model)


AgendaMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestAgenda = AgendaMachine.TestCase


def test_one_that_was_removed_while_it_was_out_does_not_come_back() -> None:
    agenda = Agenda[Pausable]()
    entry = entry_of("a", 10, mark=100)
    agenda.add(entry)
    assert agenda.take_due(110, 5) == [entry]
    agenda.remove("a")
    agenda.plan(entry)
    assert agenda.next_at() is None
    other = entry_of("a", 10, mark=100)
    agenda.add(other)
    agenda.plan(entry)
    assert agenda.take_due(110, 5) == [other]


def test_ten_thousand_edits_of_one_job_leave_no_heap_behind() -> None:
    agenda = Agenda[Pausable]()
    for n in range(10_000):
        agenda.add(entry_of("a", 10, mark=n))
    assert len(agenda) == 1
    assert len(agenda._heap) < 3_000


@pytest.mark.parametrize("jitter", [0, 30])
def test_jitter_delays_a_fire_and_does_not_change_which_it_is(jitter: int) -> None:
    agenda = Agenda[Pausable]()
    entry = entry_of("a", 60, mark=60, jitter=jitter)
    agenda.add(entry)
    assert entry.fire == 120
    assert 120 <= entry.at <= 120 + jitter
    assert (entry.at == 120) == (jitter == 0)
