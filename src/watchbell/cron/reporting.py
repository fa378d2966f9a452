"""Sends check events of cron to alerting, and limits how many wait there."""

from collections.abc import Sequence

from watchbell.alerting import bounded_reports
from watchbell.cron import check_reports
from watchbell.cron.keys import CronOwn
from watchbell.store.client import Store


async def report(store: Store, events: Sequence[tuple[str, bytes]], most_events: int) -> None:
    """Sends events of jobs. While too many wait for alerting, keeps back the latest of each job."""
    reports = [(f"{check_reports.ENTITY}:{job}", event) for job, event in events]
    await bounded_reports.push(store, CronOwn(store.prefix).unreported(), reports, most_events)
