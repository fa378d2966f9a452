"""What the controllers of a workflow do. Pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from watchbell.jobs.decide.workflow_state import Group, Step, Token, Wait
from watchbell.jobs.decide.workflow_step import RunStep
from watchbell.jobs.decide.workflow_values import split_items, too_many, truth
from watchbell.jobs.workflow_model import Node
from watchbell.units import counted


class Controllers(RunStep):
    def _run_multiplex(self, node: Node, token: Token) -> None:
        dest = self._only_dest(node)
        if self._is_kept(dest.id):
            if count := len(self._workflow.replay.get(dest.id, ())):
                self._fan(node, [Token(node=dest.id, input=token.input)] * count)
            return
        servers = self._workflow.targets or tuple(self._around.servers(dest))
        if not servers:
            self._fail(node.id, "none of its servers is available")
            return
        tokens = [Token(node=dest.id, input=token.input, targets=(one,)) for one in servers]
        self._fan(node, tokens)

    def _run_repeat(self, node: Node, token: Token) -> None:
        count, most = int(node.data.get("repeat", 1)), self._around.most_jobs
        if count > most:
            self._fail(node.id, too_many(count, most))
            return
        dest = self._only_dest(node)
        self._fan(node, [Token(node=dest.id, input=token.input)] * count)

    def _run_split(self, node: Node, token: Token) -> None:
        passed = self._resolved(token.input)
        most = self._around.most_jobs
        found = split_items(node.data, passed, self._context(passed), most)
        if isinstance(found, str):
            self._fail(node.id, found)
        else:
            dest = self._only_dest(node)
            self._fan(node, [Token(node=dest.id, input=one) for one in found])

    def _only_dest(self, node: Node) -> Node:
        return self._graph.nodes[self._graph.outputs[node.id][0].dest]

    def _fan(self, node: Node, tokens: Sequence[Token]) -> None:
        state, wire = self._state, self._graph.outputs[node.id][0]
        state.numbered += 1
        name, stagger = str(state.numbered), float(node.data.get("stagger", 0))
        state.groups[name] = Group(controller=node.id, node=wire.dest, total=len(tokens))
        state.wires[wire.id] = state.wires.get(wire.id, 0) + len(tokens)
        known = self._of(node.id)
        self._set(
            node.id,
            started=known.started or self._now,
            active=known.active + 1,
            max=known.max + len(tokens),
        )
        self._tokens += [
            replace(one, source=node.id, group=name, delay=stagger * place)
            for place, one in enumerate(tokens)
        ]

    def _run_join(self, node: Node, token: Token) -> None:
        known = self._of(node.id)
        self._state.joins[node.id] = (*self._state.joins.get(node.id, ()), token.input)
        self._set(
            node.id,
            started=known.started or self._now,
            active=1,
            count=known.count + 1,
            max=len(self._graph.inputs[node.id]),
        )

    def _release_join(self) -> bool:
        """Releases a join at which nothing more can arrive. Whether there was one."""
        state = self._state
        if state.suspended or not state.joins:
            return False
        busy = {one.node for one in state.active.values()}
        busy |= {one.node for one in state.waits.values()}
        for name in list(state.joins):
            if (busy | (state.joins.keys() - {name})).isdisjoint(self._graph.before(name)):
                arrived = state.joins.pop(name)
                known = self._of(name)
                fired = sum(
                    1 for wire in self._graph.inputs[name] if state.wires.get(wire.id, 0) > 0
                )
                missing = known.max - fired
                words = f"{counted(missing, 'wire')} did not fire" if missing > 0 else ""
                self._rest(name, reason=words)
                self._fire_all(name, self._joined(name, arrived))
                return True
        return False

    def _run_decision(self, node: Node, token: Token) -> None:
        text = str(node.data.get("decision", ""))
        answer = truth(text, self._context(self._resolved(token.input)))
        known = self._of(node.id)
        self._set(node.id, started=self._now, completed=self._now, count=known.count + 1)
        if isinstance(answer, str):
            self._fail(node.id, answer)
        elif answer:
            self._fire_all(node.id, token.input)
        else:
            reason = f"{text} is false"
            self._set(node.id, reason=reason)
            if node.data.get("abort") and not self._is_kept(node.id):
                self._abort(f"{self._name(node.id)}: {reason}")

    def _run_wait(self, node: Node, token: Token) -> None:
        """Whatever arrives waits for a time of its own."""
        state, known = self._state, self._of(node.id)
        if self._is_kept(node.id):
            count = known.count + 1
            self._set(node.id, started=self._now, completed=self._now, count=count)
            self._fire_all(node.id, token.input)
            return
        state.numbered += 1
        name = str(state.numbered)
        until = self._now + float(node.data.get("wait", 0))
        state.waits[name] = Wait(node.id, until, token.input)
        self._set(
            node.id,
            started=known.started or self._now,
            active=known.active + 1,
            count=known.count + 1,
        )
        self._decision.later.append((until, Step(run=self._job.id, what="wait", wait=name)))
