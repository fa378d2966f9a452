"""Runs workflows by the deciding code alone: jobs end as a test says, in any order."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from tests.jobs.defined import Defined, defined
from watchbell.jobs import validation
from watchbell.jobs.decide import launch, workflow, workflow_jobs
from watchbell.jobs.decide.launch import NO_DEFAULTS, Wish
from watchbell.jobs.decide.workflow_state import End, EndedJob, RunState, Step, Values
from watchbell.jobs.decide.workflow_step import Decision, Surroundings
from watchbell.jobs.model import Code, Event, Job
from watchbell.jobs.workflow_model import Node, Stub

Outcome = Callable[[Job], "Code | EndedJob"]
SERVERS = ("s1", "s2", "s3")


def succeeds(_job: Job) -> Code:
    return 0


def catalogue(*events: Event, **values: Any) -> Defined:
    """With events named by letters, and these."""
    plain = [Event(id=name, title=name.upper()) for name in "abcdefgh"]
    return defined(*plain, *events, **values)


def read(value: dict[str, Any]) -> Event:
    event = validation.read("event", value)
    assert isinstance(event, Event)
    return event


class Simulation:
    def __init__(
        self,
        event: Event,
        outcome: Outcome = succeeds,
        *,
        known: Defined | None = None,
        most: int = 1_000,
        seed: int = 0,
        **wish: Any,
    ) -> None:
        self.known = known or catalogue(event)
        self.run = launch.prepare(self.known, Wish(event=event.id, **wish), "jrun", 1_000)
        self._outcome, self._most, self._chance = outcome, most, random.Random(seed)
        self._state = msgspec.json.encode(RunState())
        self.now = 1_000.0
        self.live: dict[str, Job] = {}
        self.launched: list[Job] = []
        self.stubs: list[Stub] = []
        self.values: dict[str, Values] = {}
        self.later: list[tuple[float, Step]] = []
        self.aborted: list[str] = []
        self.items: list[bytes] = []
        self.lines: list[str] = []
        self.end: End | None = None

    @property
    def state(self) -> RunState:
        return msgspec.json.decode(self._state, type=RunState)

    @property
    def count(self) -> Counter[str]:
        """How many jobs each node has launched."""
        return Counter(job.workflow.node for job in self.launched if job.workflow)

    def start(self) -> "Simulation":
        return self.step(Step(run="jrun", what="start"))

    def step(self, *steps: Step) -> "Simulation":
        def servers(_node: Node) -> Iterable[str]:
            return SERVERS

        around = Surroundings(
            prepare=lambda wanted, shared: workflow_jobs.prepare(
                self.known, self.run, wanted, shared, self.now, NO_DEFAULTS
            ),
            servers=lambda node: tuple(servers(node)),
            values=self.values,
            most_jobs=self._most,
        )
        self._apply(workflow.decided(self.run, self.state, steps, around, self.now))
        return self

    def _apply(self, decision: Decision) -> None:
        assert self.end is None, "a run that is over goes on"
        self._state = msgspec.json.encode(decision.state)
        for one in decision.kept:
            self.stubs.append(one.stub)
            self.values[one.stub.id] = one.values
        for _, job in decision.launches:
            assert job.id not in {one.id for one in self.launched}, "a job is launched twice"
            self.live[job.id] = job
            self.launched.append(job)
        self.later += decision.later
        self.aborted += decision.aborts
        self.items += decision.items
        self.lines += decision.lines
        self.end = decision.end

    def finish(self, job: Job, result: "Code | EndedJob | None" = None) -> "Simulation":
        del self.live[job.id]
        found = self._outcome(job) if result is None else result
        if job.id in self.aborted:
            found = "abort"
        if not isinstance(found, EndedJob):
            found = EndedJob(id=job.id, code=found, data={"from": node_of(job)})
        return self.step(Step(run="jrun", what="ended", job=found))

    def go_on(self) -> "Simulation":
        """Until it is over, or nothing can happen any more."""
        if not self.launched and not self.end:
            self.start()
        while self.end is None and (self.live or self.later):
            if self.live:
                self.finish(self._chance.choice(list(self.live.values())))
                continue
            self.later.sort(key=lambda one: one[0])
            self.now, step = self.later.pop(0)
            self.step(step)
        return self


def node_of(job: Job) -> str:
    return job.workflow.node if job.workflow else ""
