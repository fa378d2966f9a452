"""A job that prints far more than its log may have: what is kept is complete, and neither the store
nor the agent grows with the output."""

from pathlib import Path

import psutil
import pytest

from tests.faults.job_fleet import job_fleet
from tests.waiting import eventually
from watchbell.jobs.job_log import JobLog

MEBIBYTE = 1 << 20
LINE = b"x" * 999 + b"\n"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("megabytes", "limit"), [(30, 8), pytest.param(2_000, 500, marks=pytest.mark.long)]
)
async def test_much_output_passes_through_the_fleet(
    folder: Path, megabytes: int, limit: int
) -> None:
    async with job_fleet(folder, WATCHBELL_JOBS_LOG_LIMIT=str(limit)) as fleet:
        await fleet.serve()
        conductor = fleet.conductor().start()
        agent = (await fleet.agent("a1")).start()
        await fleet.joined()
        script = f"yes {'x' * 999} | head -n {megabytes}000; echo end"
        await fleet.launch(["j1"], script)
        await eventually(lambda: fleet.has_finished(1), 1700, "the end of the job")
        (job,) = await fleet.finished()
        assert job.code == 0, job.description
        size, first, last = 0, b"", b""
        async for part in JobLog(fleet.store, fleet.files, "j1").download():
            first = first or part[: len(LINE)]
            size, last = size + len(part), (last + part)[-2 * len(LINE) :]
        assert (first, last.endswith(LINE + b"end\n")) == (LINE, True)
        assert 0 <= size - limit * MEBIBYTE < MEBIBYTE
        assert fleet.server.info("memory")["used_memory_peak"] < 100 * MEBIBYTE
        for process in (fleet.web, conductor, agent):
            assert psutil.Process(process.pid).memory_info().rss < 300 * MEBIBYTE
        fleet.check_run_once()
        await fleet.check_empty()
