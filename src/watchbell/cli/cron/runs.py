"""The commands of `watchbell cron` about runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import click
from msgspec import Struct

from watchbell.cli.arguments import limited, storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.cron import fires, history, jobs
from watchbell.cron.history import RunRecord
from watchbell.cron.model import Omission
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened
from watchbell.units import in_bytes

Which = Literal["success", "fail", "running", "missed"]

_run = click.argument("run", metavar="RUN", type=storable)


class Run(Struct, kw_only=True):
    """A run, or missed runs, as JSON."""

    id: str = ""
    job: str
    status: str
    start: float
    duration: float | None = None
    retcode: int | None = None
    host: str = ""
    why: str = ""
    attempt: int = 1
    attempts: int = 1
    retry_at: float = 0
    reason: str = ""
    cpu: float = 0
    memory: int = 0
    output: str = ""


@click.command
@click.argument("job", metavar="[JOB]", type=storable, default="")
@click.option(
    "--only",
    type=click.Choice(["success", "fail", "running", "missed"]),
    multiple=True,
    help="Only runs with this status; can be repeated.",
)
@limited(20)
@with_settings()
@as_json
def runs(*, loaded: Loaded, job: str, only: tuple[Which, ...], limit: int, as_json: bool) -> None:
    """List the runs of a job, or of all jobs, newest first. Missed runs are included.

    Example: watchbell cron runs backup --only fail
    """
    found = asyncio.run(_runs(loaded.settings, job, set(only), limit or 10_000))
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("No runs match.")
        return
    show_table(
        ["start", "job", "status", "took", "exit", "host", "memory", "run"],
        [_cells(one) for one in found],
        right=["took", "memory"],
    )


async def _runs(settings: Settings, job: str, only: set[Which], most: int) -> list[Run]:
    async with opened(settings) as store:
        if job:
            await history.check_job(store, job)
        found: list[Run] = []
        if not only or "running" in only:
            found += [_of(one) for one in await history.active(store)]
        verdicts: list[history.Verdict] = [
            one for one in ("success", "fail") if not only or one in only
        ]
        if verdicts:
            found += [_of(one) for one in await history.ended(store, job, verdicts, most)]
        if not only or "missed" in only:
            found += [_omitted(one) for one in await history.omissions(store, job, most)]
    found = [one for one in found if not job or one.job == job]
    return sorted(found, key=lambda one: one.start, reverse=True)[:most]


def _of(seen: RunRecord) -> Run:
    record, detail = seen.record, seen.detail
    return Run(
        id=seen.id,
        job=record.job_name,
        status=record.status,
        start=record.start_time,
        duration=record.duration,
        retcode=record.retcode,
        host=record.host,
        why=detail.why,
        attempt=detail.attempt,
        attempts=detail.attempts,
        retry_at=detail.retry_at,
        reason=detail.reason,
        cpu=detail.cpu,
        memory=detail.memory,
        output=record.output or "",
    )


def _omitted(one: Omission) -> Run:
    several = f"{one.count or 'many'} runs: " if one.count != 1 else ""
    return Run(job=one.job, status="missed", start=one.first, reason=several + one.reason)


def _cells(one: Run) -> list[str]:
    took = "" if one.duration is None else f"{one.duration:.2f} s"
    reason_says_all = one.reason and one.status in ("missed", "frozen")
    status = one.reason if reason_says_all else ": ".join(filter(None, [one.status, one.reason]))
    status = ", ".join(filter(None, [status, _attempt(one)]))
    exit_code = "" if one.retcode is None else str(one.retcode)
    memory = in_bytes(one.memory) if one.memory else ""
    names = [plain(one.job), plain(status)]
    return [when(int(one.start)), *names, took, exit_code, plain(one.host), memory, one.id]


def _attempt(one: Run) -> str:
    following = f", next at {when(int(one.retry_at))}" if one.retry_at else ""
    described = fires.described(one.attempt, one.attempts)
    return f"{described}{following}" if described else ""


@click.command
@_run
@with_settings()
def terminate(*, loaded: Loaded, run: str) -> None:
    """Stop a run. All its processes get SIGTERM, and later SIGKILL if they remain. RUN is the id,
    or the beginning of it.

    Example: watchbell cron terminate 3f0c
    """
    stopped = _signalled(loaded.settings, run, jobs.terminate, "cron.terminate")
    click.echo(f"sent SIGTERM to run {stopped}")


@click.command
@_run
@with_settings()
def kill(*, loaded: Loaded, run: str) -> None:
    """Kill all processes of a run at once. RUN is the id, or the beginning of it.

    Example: watchbell cron kill 3f0c
    """
    stopped = _signalled(loaded.settings, run, jobs.kill, "cron.kill")
    click.echo(f"sent SIGKILL to run {stopped}")


def _signalled(
    settings: Settings, run: str, signal: Callable[[Store, str], Awaitable[object]], action: str
) -> str:
    """The id of the run, in full."""

    async def signalled(store: Store) -> str:
        seen = await history.run(store, run)
        await signal(store, seen.id)
        await record_change(store, action, seen.record.job_name, seen.id)
        return seen.id

    return with_store(settings, signalled)
