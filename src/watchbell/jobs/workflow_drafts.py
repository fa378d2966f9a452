"""Checks workflows while people edit them: all problems at once, each with its node or wire."""

from collections.abc import Sequence
from typing import Any

from watchbell.errors import Refused
from watchbell.jobs import timing_rules, validation, workflow_graph, workflow_params, workflow_rules
from watchbell.jobs.model import Event, Timing
from watchbell.jobs.validation import Known
from watchbell.jobs.workflow_model import Workflow
from watchbell.jobs.workflow_rules import Problem


def problems(event: str, draft: object, timings: Sequence[Any], known: Known) -> list[Problem]:
    """`event` is the id of the event, empty for a new one. What saving it would refuse is no
    warning."""
    workflow, found = workflow_rules.parsed(draft)
    times = []
    for place, value in enumerate(timings):
        try:
            times.append(_timing(f"timings[{place}]", value))
        except Refused as error:
            found += [Problem(field=one.field, reason=one.reason) for one in error.every]
    found += workflow_graph.problems(workflow, event, times, known.events)
    found += _missing(event, workflow, known)
    before = known.events.get(event)
    stored = before.workflow if before else None
    try:
        workflow_params.checked(workflow, stored, known, is_admin=False)
    except Refused as error:
        found.append(Problem(field=error.field, reason=error.reason))
    return found


def _timing(field: str, value: Any) -> Timing:
    found: Timing = timing_rules.reader(strict=True)(field, value)
    return found


def _missing(event: str, workflow: Workflow, known: Known) -> list[Problem]:
    """References to what does not exist."""
    draft = Event(id=event or "new", title="draft", type="workflow", workflow=workflow)
    return [
        Problem(field=field, reason=f"there is no {kind} {name!r}", node=_node(workflow, field))
        for field, kind, name in validation.references(draft)
        if name not in validation.named(known, kind)
    ]


def _node(workflow: Workflow, field: str) -> str:
    place = int(field.partition("[")[2].partition("]")[0])
    return workflow.nodes[place].id
