"""The loop that runs workflows: takes what happened to runs, decides what each does next, and
writes that in one script together with the acknowledgement.

All that happens to one run is in one hand at a time, since the run is the key of order of the
queue. So any number of these loops work side by side.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell import logs
from watchbell.clock import Clock
from watchbell.jobs import workflow_scripts
from watchbell.jobs.decide import launch, workflow, workflow_ends, workflow_jobs
from watchbell.jobs.decide.launch import Defaults
from watchbell.jobs.decide.workflow_state import RunState, Step, Values
from watchbell.jobs.decide.workflow_step import Decision, Surroundings
from watchbell.jobs.decide.workflow_values import NeedsValues
from watchbell.jobs.dispatch_plan import aborted
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.job_records import JobRecord
from watchbell.jobs.keys import Jobs
from watchbell.jobs.launches import day_of
from watchbell.jobs.model import Job
from watchbell.jobs.workflow_model import Node, Stub
from watchbell.probes import probe
from watchbell.settings import Jobs as Settings
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.effects import verbatim
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.replies import text

_LEASE = 4.0
"""Seconds after which another conductor takes over from one that died."""
_MOST = 200
_DEADLY = 10
"""Conductors that may die with a step in hand before its run is ended."""
_REFUSED = "The store refused to write its state"
_SPOILED = "The state of the workflow can't be read"


class Facts(Struct, frozen=True):
    record: JobRecord
    stubs: Sequence[Stub] = ()
    values: Mapping[str, Values] = {}
    has_values: bool = False


class WorkflowRunner:
    def __init__(
        self,
        store: Store,
        known: launch.Definitions,
        view: FleetView,
        settings: Settings,
        clock: Clock,
        defaults: Defaults,
        *,
        lease: float = _LEASE,
    ) -> None:
        self._store, self._known, self._view = store, known, view
        self._settings, self._clock, self._defaults = settings, clock, defaults
        self._ready = Jobs(store.prefix).ready()
        queue = Queue(key=Jobs(store.prefix).workflow_steps(), side="LEFT", order_by=("run",))
        self.taker = Taker(store, queue, lease=lease, most=_MOST)
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""
        await self.taker.work(self.process, role="conductor")

    async def process(self, batch: Batch) -> None:
        """Loads, decides and applies, and acknowledges the batch."""
        steps = self._by_run(batch.items)
        found = await patiently(lambda: workflow_scripts.load(self._store, list(steps)))
        probe("workflows.loaded")
        now = self._clock.now()
        items = [
            await self._item(record, steps[run], now, is_deadly=batch.attempts >= _DEADLY)
            for run, record in zip(steps, found, strict=True)
            if record is not None
        ]
        probe("workflows.decided")
        args: list[Argument] = [day_of(now, self._settings.timezone), msgspec.msgpack.encode(items)]
        refused = await self.taker.acknowledge(batch, workflow_scripts.APPLY, [self._ready], args)
        probe("workflows.applied")
        for reason in refused or ():
            self._log.error("a workflow was ended, because the store refused", reason=text(reason))

    def _by_run(self, items: Sequence[bytes]) -> dict[str, list[Step]]:
        found: dict[str, list[Step]] = {}
        for raw in items:
            try:
                step = msgspec.json.decode(raw, type=Step)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                self._log.error("a step of a workflow can't be read", reason=str(error))
                continue
            found.setdefault(step.run, []).append(step)
        return found

    async def _item(
        self, record: JobRecord, steps: Sequence[Step], now: float, *, is_deadly: bool
    ) -> dict[str, Any]:
        """What the script is to write. A run that can't be decided ends; it stops no other."""
        run = record.job
        if is_deadly:
            return _ended(record, "Conductors ended while they ran the workflow", now)
        try:
            decision, facts = await self._decided(Facts(record), steps, now)
            return await self._written(facts, decision, now)
        except Exception:  # noqa: BLE001 it concerns one run only
            self._log.exception("a workflow can't be run", job=run.id)
            return _ended(record, "The workflow can't be run; see the conductor's log", now)

    async def _decided(
        self, facts: Facts, steps: Sequence[Step], now: float
    ) -> tuple[Decision | None, Facts]:
        """None where the state is spoiled."""
        state = workflow_scripts.state_of(facts.record)
        if state is None or facts.record.job.workflow is None:
            return None, facts
        try:
            around = self._around(facts, now)
            return workflow.decided(facts.record.job, state, steps, around, now), facts
        except NeedsValues:
            if facts.has_values:
                raise
            return await self._decided(await self._with_values(facts), steps, now)

    async def _with_values(self, facts: Facts) -> Facts:
        run = facts.record.job.id
        stubs, values = await patiently(lambda: workflow_scripts.kept(self._store, run))
        return Facts(facts.record, stubs, values, has_values=True)

    def _around(self, facts: Facts, now: float) -> Surroundings:
        run = facts.record.job

        def servers(node: Node) -> list[str]:
            wanted = workflow_jobs.targets(self._known, run, node)
            found = self._view.state.matching(wanted)
            return sorted(one.id for one in found if one.obstacle is None)

        return Surroundings(
            prepare=lambda wanted, shared: workflow_jobs.prepare(
                self._known, run, wanted, shared, now, self._defaults
            ),
            servers=servers,
            values=facts.values,
            most_jobs=self._settings.max_jobs_per_workflow,
        )

    async def _written(self, facts: Facts, decision: Decision | None, now: float) -> dict[str, Any]:
        run = facts.record.job
        if decision is None:
            return _ended(facts.record, _SPOILED, now)
        if decision.end is None:
            fields = workflow_ends.in_progress(run, decision, now)
            return _item(run, decision, {**fields, workflow_scripts.STATE: decision.state}, now)
        if not facts.has_values:
            facts = await self._with_values(facts)
        stubs = [*facts.stubs, *(one.stub for one in decision.kept)]
        values = {**facts.values, **{one.stub.id: one.values for one in decision.kept}}
        fields = workflow_ends.ended(run, decision, stubs, values, now)
        item = _item(run, decision, fields, now)
        return {**item, "result": verbatim(workflow_ends.result(run, decision.end, now))}


def _item(run: Job, decision: Decision, fields: Mapping[str, Any], now: float) -> dict[str, Any]:
    """For the script."""
    state: RunState = decision.state
    jobs, refusals = workflow_scripts.launch_items(run.id, [job for _, job in decision.launches])
    reason = f"The workflow was aborted: {state.aborted}"
    return {
        "id": run.id,
        "fields": [
            word
            for name, value in fields.items()
            for word in (name, verbatim(msgspec.json.encode(value)))
        ],
        "stubs": workflow_scripts.stubs_of(decision.kept),
        "values": workflow_scripts.values_of(decision.kept),
        "launches": jobs,
        "refusals": refusals,
        "actions": [verbatim(one) for one in decision.items],
        "later": [
            [f"{at:.6f}", verbatim(msgspec.json.encode(step))] for at, step in decision.later
        ],
        "aborts": decision.aborts,
        "aborted": verbatim(aborted(reason, now)),
        "wanted": _wanted(reason),
        "result": False,
        "failed": verbatim(aborted(_REFUSED, now, retry_ok=True)),
        "given_up": _wanted(f"The workflow was aborted: {_REFUSED}"),
    }


def _wanted(reason: str) -> object:
    """For the agents of jobs that are aborted."""
    return verbatim(msgspec.json.encode({"reason": reason, "retry_ok": False, "by": ""}))


def _ended(record: JobRecord, reason: str, now: float) -> dict[str, Any]:
    """A run that ends at once, whatever it was doing; its jobs are aborted if they are known."""
    state = workflow_scripts.state_of(record)
    aborts = list(state.active) if state else []
    item = _item(record.job, Decision(state=RunState(aborted=reason), aborts=aborts), {}, now)
    return {**item, "result": verbatim(aborted(reason, now, retry_ok=True))}
