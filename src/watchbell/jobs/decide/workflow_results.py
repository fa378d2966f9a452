"""What jobs that have ended leave with their run, and lead to. Pure."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from watchbell.jobs import outcomes
from watchbell.jobs.decide import actions
from watchbell.jobs.decide.workflow_state import ActiveJob, EndedJob, Input, Kept, Values
from watchbell.jobs.decide.workflow_step import RunStep
from watchbell.jobs.decide.workflow_values import merged_usage
from watchbell.jobs.workflow_model import Stub
from watchbell.jobs.workflow_rules import CONTINUE
from watchbell.units import counted

MOST_BYTES = 32 << 20
"""Of what the jobs of a run pass on; what is beyond is left out."""
MOST_SHARED = 1 << 20
"""Bytes of what all jobs of a run share."""


class Results(RunStep):
    def _ended(self, job: EndedJob, *, is_refused: bool) -> None:
        active = self._state.active.pop(job.id, None)
        if active is None:
            return
        stub = _stub(job, active)
        if is_refused:
            self._settle(replace(stub, id=""), Values(), active)
            return
        if job.retry:
            self._state.active[job.retry] = active
            self._decision.kept.append(Kept(replace(stub, retried=True), Values()))
            if self._state.aborted:
                self._decision.aborts.append(job.retry)
            return
        self._gather(job)
        stub = replace(stub, shared=self._shared(job))
        self._settle(stub, self._bounded(job, Values(job.data, job.files)), active)

    def _gather(self, job: EndedJob) -> None:
        """What a job leaves with the run itself."""
        state = self._state
        self._add_tags(job.tags)
        state.table = job.table if job.table is not None else state.table
        state.html = job.html if job.html is not None else state.html
        state.cpu = merged_usage(state.cpu, job.cpu)
        state.mem = merged_usage(state.mem, job.mem)

    def _add_tags(self, tags: Iterable[str]) -> None:
        own = (tag for tag in tags if not tag.startswith("_"))
        self._state.tags = tuple(dict.fromkeys([*self._state.tags, *own]))

    def _shared(self, job: EndedJob) -> dict[str, Any]:
        """What it changes of what all jobs share, as far as there is room for it."""
        if not job.workflowData:
            return {}
        shared = {**self._state.data, **job.workflowData}
        size = len(msgspec.json.encode(job.workflowData))
        is_too_large = len(msgspec.json.encode(shared)) > MOST_SHARED
        if is_too_large or self._state.size + size > MOST_BYTES:
            self._log(f"workflowData of job {job.id} is left out: it would be too large.")
            return {}
        self._state.data = shared
        self._state.size += size
        return job.workflowData

    def _bounded(self, job: EndedJob, values: Values) -> Values:
        size = len(msgspec.json.encode(values))
        if self._state.size + size > MOST_BYTES:
            self._log(f"The data of job {job.id} is left out: the run has more than it may keep.")
            return Values()
        self._state.size += size
        return values

    def _settle(self, stub: Stub, values: Values, active: ActiveJob) -> None:
        """Counts a job that will not be tried again, and passes on what it leads to."""
        state, has_failed = self._state, outcomes.has_failed(stub.code)
        self._decision.kept.append(Kept(stub, values))
        if stub.id:
            self._values[stub.id] = values
        state.failed += has_failed
        state.succeeded += not has_failed
        if has_failed and not state.failure:
            words = stub.description.rstrip(".") or outcomes.described_code(stub.code)
            state.failure = f"{self._name(active.node)}: {words}"
        node = self._of(active.node)
        self._set(
            active.node,
            active=max(node.active - 1, 0),
            count=node.count + 1,
            failed=node.failed + has_failed,
            completed=self._now,
            reason=stub.description if has_failed else node.reason,
        )
        if state.aborted:
            return
        passed = Input(job=stub.id, rank=(self._graph.place(active.node), active.index))
        fired = actions.conditions(stub.code, [t for t in stub.tags if not t.startswith("_")])
        for wire in self._graph.outputs.get(active.node, ()):
            if (wire.condition or "success") in fired and self._leads_on(wire.dest):
                self._fire(wire.id, wire.source, wire.dest, passed)
        if active.group in state.groups:
            self._count_in_group(active.group, passed, has_failed=has_failed)

    def _leads_on(self, dest: str) -> bool:
        """Limits and actions of a node belong to its jobs, which have them already."""
        return self._graph.nodes[dest].type not in ("limit", "action")

    def _count_in_group(self, name: str, passed: Input, *, has_failed: bool) -> None:
        group = self._state.groups[name]
        group.done += 1
        group.succeeded += not has_failed
        if any(wire.condition == CONTINUE for wire in self._graph.outputs.get(group.node, ())):
            group.inputs = (*group.inputs, passed)
        self._end_group(name)

    def _end_group(self, name: str) -> None:
        """Goes on after the jobs that a controller launched at once, if all have ended."""
        group = self._state.groups[name]
        if group.done < group.total:
            return
        del self._state.groups[name]
        if not group.total:
            self._rest(group.controller)
            return
        needed = self._graph.nodes[group.controller].data.get(CONTINUE, 100)
        is_enough = group.succeeded * 100 >= needed * group.total
        reason = (
            "" if is_enough else f"{group.succeeded} of {counted(group.total, 'job')} succeeded"
        )
        self._rest(group.controller, reason=reason)
        if is_enough:
            joined = self._joined(group.node, group.inputs)
            for wire in self._graph.outputs.get(group.node, ()):
                if wire.condition == CONTINUE:
                    self._fire(wire.id, wire.source, wire.dest, joined)


def _stub(job: EndedJob, active: ActiveJob) -> Stub:
    return Stub(
        id=job.id,
        node=active.node,
        index=active.index,
        code=job.code,
        description=job.description,
        server=job.server,
        started=job.started,
        completed=job.completed,
        elapsed=job.elapsed,
        tags=job.tags,
    )
