"""What `doctor` says of cron."""

from tests.cron.crew import now
from tests.cron.test_bursts import beat
from watchbell.alerting.keys import Alerting
from watchbell.cron.findings import facts, judge
from watchbell.cron.keys import CronOwn
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store

OWN = CronOwn()


async def said(store: Store, most_events: int = 100) -> list[str]:
    found = await facts(store)
    return [finding.text for finding in judge(found, CronSettings(most_events=most_events))]


async def test_nothing_is_said_of_a_fleet_that_is_well(store: Store) -> None:
    await beat(store, "web-1", seen=await now(store))
    assert await said(store) == []


async def test_each_trouble_is_said_in_a_line(store: Store) -> None:
    await beat(store, "web-1", seen=await now(store) - 1_000)
    await store.call("HSET", OWN.ahead(), "backup", "9999999999:1800000000")
    await store.call("HSET", OWN.overdue(), "report", "skipped 3 times in a row: a run went on")
    await store.call("HSET", OWN.unreported(), "cron:backup", "{}")
    await store.call("LPUSH", Alerting().events(), *range(7))
    moved, late, events, silent = await said(store, most_events=5)
    assert moved.startswith("1 job (backup) was marked as handled beyond the present")
    assert late == "report: skipped 3 times in a row: a run went on"
    assert events.startswith("7 check events wait for alerting; cron keeps back all but the latest")
    assert silent == "the instance web-1 gives no sign of life"


async def test_what_others_wrote_into_our_keys_stops_no_doctor(store: Store) -> None:
    await store.call("LPUSH", OWN.ahead(), "x")
    await store.call("SET", Alerting().events(), "x")
    assert await said(store) == []
    await store.call("DEL", OWN.ahead(), Alerting().events())
