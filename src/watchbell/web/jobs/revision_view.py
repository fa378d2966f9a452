"""Revisions of definitions as the API shows them."""

from collections.abc import Collection, Sequence

from watchbell.jobs import revisions
from watchbell.jobs.parameters import MASK
from watchbell.jobs.revisions import Change, Revision
from watchbell.web.jobs.event_shapes import RevisionChange, RevisionShown


def shown(found: Sequence[Revision], hidden: Collection[str] = ()) -> list[RevisionShown]:
    """Newest first, each with what it changed. Values of `hidden` properties are masked."""
    older = [*found[1:], None]
    return [
        RevisionShown(
            revision=one.revision,
            modified=int(one.at),
            username=one.by,
            action=one.action,
            changes=[
                _change(change, hidden)
                for change in revisions.diff(before.record if before else None, one.record)
            ],
        )
        for one, before in zip(found, older, strict=True)
    ]


def _change(change: Change, hidden: Collection[str]) -> RevisionChange:
    is_hidden = change.field.partition(".")[0].partition("[")[0] in hidden
    old, new = (MASK, MASK) if is_hidden else (change.old, change.new)
    return RevisionChange(change.field, old, new)
