"""What alerting makes of runs: one failure is told at once, and a success ends it."""

from tests.alerting.scenes import Stage
from watchbell.cron import check_reports
from watchbell.cron.model import Record
from watchbell.store.client import Store


def record(status: str, retcode: int | None) -> Record:
    return Record(
        job_name="backup",
        start_time=1_700_000_000.0,
        host="alpha",
        status=status,  # type: ignore[arg-type]
        retcode=retcode,
        output="disk full\n",
        duration=2.5,
    )


async def test_a_single_failed_run_calls_somebody_and_a_success_calls_it_off(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.push(check_reports.ended(record("fail", 1), "", stage.now))
    await stage.drain()
    (told,) = await stage.alerts()
    assert (told.event_id, told.state) == ("cron:backup", "critical")
    assert (told.summary, told.details) == ("exit code 1, after 2.5 s on alpha", "disk full")
    stage.later(86_400)
    await stage.push(check_reports.ended(record("success", 0), "", stage.now))
    await stage.drain()
    assert await stage.alert_lines() == ["alice recovery cron:backup ok"]


async def test_a_fire_that_never_came_about_calls_somebody(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.push(check_reports.missed("backup", "no instance was running", "1 fire", stage.now))
    await stage.drain()
    assert await stage.alert_lines() == ["alice problem cron:backup critical"]
