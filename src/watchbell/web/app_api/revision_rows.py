"""Revisions of definitions as entries of xyOps' activity log."""

from collections.abc import Sequence
from typing import Any

from watchbell.jobs import revisions
from watchbell.jobs.parameters import MASK
from watchbell.jobs.revisions import Revision

SECRET = {"event": ("params", "timings", "workflow"), "plugin": ("env", "params")}
"""Properties of each kind that only those see who may edit it."""


def rows(
    kind: str,
    id: str,  # noqa: A002
    found: Sequence[Revision],
    *,
    is_masked: bool,
) -> list[dict[str, Any]]:
    """Newest first."""
    hidden = SECRET.get(kind, ()) if is_masked else ()
    older = [*found[1:], None]
    return [
        {
            "id": f"{id}-{one.revision}",
            "epoch": one.at,
            "date": one.at,
            "action": f"{kind}_{one.action}",
            "username": one.by,
            "description": _words(one, before),
            "revision": one.revision,
            kind: _masked(one.record, hidden) or {"id": id},
        }
        for one, before in zip(found, older, strict=True)
    ]


def _words(one: Revision, before: Revision | None) -> str:
    if one.action != "update":
        return f"{one.action}d" if one.action.endswith("e") else f"{one.action}ed"
    changed = revisions.diff(before.record if before else None, one.record)
    names = dict.fromkeys(change.field.partition(".")[0].partition("[")[0] for change in changed)
    return f"changed {', '.join(names)}" if names else "changed"


def _masked(record: dict[str, Any] | None, hidden: Sequence[str]) -> dict[str, Any] | None:
    if record is None:
        return None
    return {name: MASK if name in hidden else value for name, value in record.items()}
