"""What a run of a workflow does next: its state and what happened become a new state, jobs to
launch, or its end. Pure.

A *token* is a node that is to run once. Each step turns what happened into tokens, runs them until
none is left, and then releases the joins at which nothing more can arrive. Since a graph has no
circles, that ends; a bound on tokens ends what would take too long.
"""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from watchbell.jobs import outcomes
from watchbell.jobs.decide import actions
from watchbell.jobs.decide.actions import NODE_TRIGGER
from watchbell.jobs.decide.workflow_controllers import Controllers
from watchbell.jobs.decide.workflow_results import Results
from watchbell.jobs.decide.workflow_state import (
    ActiveJob,
    End,
    Input,
    RunState,
    Step,
    Token,
    Values,
)
from watchbell.jobs.decide.workflow_step import Decision, Launch, Surroundings
from watchbell.jobs.model import ABORTED, Job, JobFile
from watchbell.jobs.workflow_model import FANNING, RUNNING, Node, NodeState, Stub
from watchbell.units import counted

NOT_LAUNCHED = "launch"
"""The code of a job that could not be launched."""
_MOST_TOKENS = 20_000
"""Besides jobs, and what follows them in a run that repeats an earlier one."""


class Run(Controllers, Results):
    def decided(self, steps: Iterable[Step]) -> Decision:
        for step in steps:
            self._take(step)
            self._run_tokens()
        self._run_all()
        self._end_if_over()
        return self._decision

    def _run_all(self) -> None:
        self._run_tokens()
        while not self._state.aborted and self._release_join():
            self._run_tokens()

    def _take(self, step: Step) -> None:
        state = self._state
        match step.what:
            case "start" if not state.nodes and not state.aborted:
                self._start()
                self._run_all()
                self._begin_again()
            case "ended" | "refused" if step.job is not None:
                self._ended(step.job, is_refused=step.what == "refused")
            case "wait" if step.wait in state.waits:
                wait = state.waits.pop(step.wait)
                self._rest(wait.node)
                self._fire_all(wait.node, wait.input)
            case "abort" if not state.aborted:
                self._abort(step.reason, retry_ok=step.retry_ok)
            case "limit" if step.limit in state.deadlines and not state.aborted:
                del state.deadlines[step.limit]
                self._reach_limit(step)
            case "suspend" if not state.suspended and not state.aborted:
                state.suspended = step.reason
                self._log(step.reason)
            case "resume" if state.suspended:
                self._resume(step)

    def _start(self) -> None:
        start, self._state.data = self._workflow.start, dict(self._job.workflowData)
        self._set(start, started=self._now, completed=self._now)
        for place, limit in enumerate(self._job.limits):
            if limit.type == "time" and limit.enabled and limit.duration:
                self._state.deadlines[place] = self._now + limit.duration
        self._decision.later += self._state.timed_steps(self._job.id)
        self._fire_all(start, self._given())

    def _given(self) -> Input:
        """What the run itself got."""
        given = self._job.input
        return Input(data=given.get("data"), files=_files(given.get("files", ())))

    def _reach_limit(self, step: Step) -> None:
        limit = self._job.limits[step.limit]
        reason = f"The limit of {outcomes.seconds(limit.duration or 0)} was reached"
        if limit.abort:
            self._state.limit = step.limit
            self._abort(reason, retry_ok=True)
        else:
            self._log(reason)
            self._decision.items.append(actions.limit_item(self._job.id, step.limit, reason))

    def _resume(self, step: Step) -> None:
        held, self._state.held, self._state.suspended = self._state.held, (), ""
        where = f" at {self._name(step.node)}" if step.node else ""
        self._log(f"Resumed{where} by {step.by}" if step.by else f"Resumed{where}")
        if step.node and step.node in self._graph.nodes:
            self._give_up_groups({one.group for one in held}, f"the run was resumed{where}")
            held = (Token(node=step.node, input=held[-1].input if held else Input()),)
        self._tokens += held

    def _give_up_groups(self, names: Collection[str], reason: str) -> None:
        """Of jobs that will not all be launched."""
        for name in self._state.groups.keys() & names:
            self._rest(self._state.groups.pop(name).controller, reason=reason)

    def _run_tokens(self) -> None:
        while self._tokens:
            token = self._tokens.popleft()
            if self._state.aborted:
                continue
            if self._state.suspended:
                self._state.held = (*self._state.held, token)
                continue
            self._ran += 1
            most = _MOST_TOKENS + 2 * self._around.most_jobs
            if self._ran > most:
                self._abort(f"More than {most:,} nodes would run in one step")
                continue
            self._run(token)

    def _run(self, token: Token) -> None:
        node = self._graph.nodes[token.node]
        if node.type in RUNNING:
            self._run_job(node, token)
        elif node.type == "action":
            self._run_action(node)
        elif node.type == "controller":
            getattr(self, f"_run_{node.controller}")(node, token)

    def _run_job(self, node: Node, token: Token) -> None:
        if self._is_kept(node.id):
            self._replay(node, token)
            return
        state, most = self._state, self._around.most_jobs
        if state.launched >= most:
            self._abort(f"The workflow has launched {most:,} jobs, which is the most it may")
            return
        known = self._of(node.id)
        index = known.max
        started = known.started or self._now
        self._set(node.id, started=started, active=known.active + 1, max=index + 1)
        active = ActiveJob(node.id, index, token.group)
        made = self._prepared(node, token, index)
        if isinstance(made, str):
            self._log(f"{self._name(node.id)} can't be launched: {made}")
            stub = Stub(id="", node=node.id, index=index, code=NOT_LAUNCHED, description=made)
            self._settle(stub, Values(), active)
            return
        state.launched += 1
        state.active[made.id] = active
        self._decision.launches.append((node.id, made))

    def _replay(self, node: Node, token: Token) -> None:
        """The result that the earlier run has, in place of a job. Where it has none, nothing."""
        known = self._of(node.id)
        index = known.max
        found = {one.stub.index: one for one in self._workflow.replay.get(node.id, ())}.get(index)
        if found is None:
            self._leave_out(node, token)
            return
        self._set(
            node.id,
            started=known.started or self._now,
            max=index + 1,
            active=known.active + 1,
        )
        files = _files(found.files)
        self._add_tags(found.stub.tags)
        self._state.data = {**self._state.data, **found.stub.shared}
        stub = replace(found.stub, node=node.id, replay=True)
        self._settle(stub, Values(found.data, files), ActiveJob(node.id, index, token.group))

    def _leave_out(self, node: Node, token: Token) -> None:
        self._set(node.id, reason="the earlier run has no result of it")
        if group := self._state.groups.get(token.group):
            group.total -= 1
            self._end_group(token.group)

    def _begin_again(self) -> None:
        """A run that repeats a part of an earlier one begins at its node even if what is before
        that leads elsewhere."""
        name = self._workflow.rerun_from
        node = self._graph.nodes.get(name)
        if node is None or self._of(name).started or self._state.aborted:
            return
        parts = self._results_before(name)
        if node.controller == "join":
            inputs = parts or [self._given()]
        else:
            inputs = [self._joined(name, parts)] if len(parts) > 1 else parts or [self._given()]
        self._tokens += [Token(node=name, input=one) for one in inputs]

    def _results_before(self, name: str) -> list[Input]:
        """Of the nearest nodes that lead to it and have results."""
        left, seen, found = [name], set[str](), list[Input]()
        while left:
            for wire in self._graph.inputs.get(left.pop(), ()):
                if wire.source in seen:
                    continue
                seen.add(wire.source)
                jobs = [one for one in self._decision.kept if one.stub.node == wire.source]
                ids = [(one.stub.id, one.stub.index) for one in jobs if one.stub.id]
                place = self._graph.place(wire.source)
                found += [Input(job=job, rank=(place, index)) for job, index in ids]
                if not ids:
                    left.append(wire.source)
        return found

    def _prepared(self, node: Node, token: Token, index: int) -> Job | str:
        passed = self._resolved(token.input)
        launch = Launch(
            graph=self._graph,
            node=node,
            index=index,
            source=token.source,
            data=passed.data,
            files=passed.files,
            parent=token.input.job,
            targets=token.targets or self._workflow.targets,
            delay=token.delay,
        )
        return self._around.prepare(launch, self._state.data)

    def _run_action(self, node: Node) -> None:
        if self._is_kept(node.id):
            self._set(node.id, reason="it is not carried out again")
            return
        name = NODE_TRIGGER + node.id
        for n, action in enumerate(self._job.actions):
            if action.trigger != name or not action.enabled:
                continue
            self._decision.items.append(actions.item(self._job.id, n))
            if action.type == "suspend":
                self._state.suspended = f"suspended by {self._name(node.id)}"
        count = self._of(node.id).count
        self._set(node.id, started=self._now, completed=self._now, count=count + 1)

    def _end_if_over(self) -> None:
        state = self._state
        if state.active or state.waits or state.suspended or state.held:
            return
        if not state.nodes and not state.aborted:
            return
        if state.aborted:
            self._decision.end = End(
                code=ABORTED,
                description=state.aborted,
                retry_ok=state.retry_ok,
                limit=state.limit,
            )
            return
        has_errors = any(one.error for one in state.nodes.values())
        total = state.succeeded + state.failed
        if not state.failed and not has_errors:
            self._decision.end = End(code=0, description=f"{counted(total, 'job')} succeeded")
            return
        words = (
            f"{state.failed} of {counted(total, 'job')} failed" if state.failed else "A node failed"
        )
        description = f"{words}: {state.failure}" if state.failure else words
        self._decision.end = End(code="warning" if state.succeeded else 1, description=description)


def decided(
    job: Job, state: RunState, steps: Iterable[Step], around: Surroundings, now: float
) -> Decision:
    """Changes `state`. Raises NeedsValues where it needs what earlier jobs passed on, and they are
    not among `around.values`; then it is to be called again with all of them, and the state as it
    was."""
    return Run(job, state, around, now).decided(steps)


def progress(state: RunState, job: Job) -> float:
    """The share of jobs that have ended, of those that are known so far."""
    nodes = job.workflow.nodes if job.workflow else ()
    known = [state.nodes.get(one.id, NodeState()) for one in nodes if one.type in RUNNING]
    total = sum(max(one.max, 1) for one in known)
    return round(min(sum(one.count for one in known) / total, 0.99), 3) if total else 0.0


def _files(given: Any) -> tuple[JobFile, ...]:
    """Files of a record, where they have no type."""
    return msgspec.convert(given, tuple[JobFile, ...], from_attributes=True)


assert set(FANNING) <= {name.removeprefix("_run_") for name in dir(Run)}
