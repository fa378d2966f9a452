"""Decides what becomes of a server's jobs when its agent connects: those that it knows, and those
that the store says it has."""

from collections.abc import Sequence

from msgspec import Struct

from watchbell.fleet.messages import KnownJob


class StoredJob(Struct, frozen=True, kw_only=True):
    """A job of the server, as far as this decides about it."""

    id: str
    boot: str = ""
    """The boot of the machine when it was sent; empty if it was not."""
    is_remote: bool = False
    reported: int = 0
    """The number of the last report in the store."""
    is_over: bool = False
    """Whether it has a result."""
    is_aborted: bool = False
    """Whether somebody has asked to abort it."""


class Reconciliation(Struct, frozen=True, kw_only=True):
    acknowledged: dict[str, int]
    """Jobs that go on: the number of the last report in the store."""
    drop: tuple[str, ...]
    """Jobs that are over: the agent ends and forgets them."""
    reconnected: tuple[str, ...]
    """Jobs that go on, and counted as cut off."""
    resend: tuple[str, ...]
    """Jobs that the agent did not receive."""
    abort: tuple[str, ...]
    """Jobs that are to be aborted."""
    lost: dict[str, str]
    """Jobs that the agent no longer knows: why they are lost."""


REBOOTED = "the server was restarted"
FORGOTTEN = "the agent no longer knows the job"


def reconcile(known: Sequence[KnownJob], stored: Sequence[StoredJob], boot: str) -> Reconciliation:
    """A job that may have been started is never started again: one that the agent does not know is
    sent again only to the same boot, and only if nothing was reported about it."""
    by_id = {job.id: job for job in stored if not job.is_over}
    named = {job.id for job in known}
    going_on = [by_id[id_] for id_ in named if id_ in by_id]
    gone = [job for job in by_id.values() if job.boot and job.id not in named]
    resend = [job.id for job in gone if job.boot == boot and not job.reported]
    lost = {
        job.id: REBOOTED if job.boot != boot else FORGOTTEN for job in gone if job.id not in resend
    }
    return Reconciliation(
        acknowledged={job.id: job.reported for job in going_on},
        drop=tuple(sorted(named - by_id.keys())),
        reconnected=tuple(job.id for job in going_on if not job.is_remote),
        resend=tuple(resend),
        abort=tuple(job.id for job in going_on if job.is_aborted),
        lost=lost,
    )
