"""Results that arrive when their job is over: they are refused, and leave a line in its record."""

from msgspec.structs import replace

from watchbell.fleet.messages import Result
from watchbell.jobs import amendments
from watchbell.jobs.decide import completion
from watchbell.jobs.model import Job
from watchbell.store.client import Store


async def record(store: Store, job_id: str, server: str, result: Result, now: float) -> None:
    """Adds a line to the activity log of a finished job of this server. The result that the job was
    recorded with may come again, and adds none."""
    words = f", {result.description.strip()[:500]!r}," if result.description.strip() else ""
    code = completion.normalised(result.code)
    line = f"A result with code {code}{words} came from {server} after the job was over."

    def with_line(job: Job) -> Job:
        is_recorded = job.code == code and job.elapsed == round(result.elapsed, 3)
        if job.server != server or is_recorded or any(one.msg == line for one in job.activity):
            return job
        return replace(job, activity=completion.with_activity(job, [line], now))

    await amendments.amend(store, job_id, with_line)
