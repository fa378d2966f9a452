"""What will run in a stretch of time."""

import msgspec

from tests.jobs.defined import GENERAL, defined, event
from tests.schedule.clocks import at
from watchbell.jobs.day_plan import DayPlanner, FrequentRuns, PlannedRun
from watchbell.jobs.model import Timing

DAY = at("2026-11-20T00:00Z")
HOUR = 3600


async def test_runs_are_listed_in_the_order_of_their_times() -> None:
    known = defined(
        event("two", Timing(type="schedule", hours=(9, 4), minutes=(0,))),
        event("one", Timing(type="schedule", hours=(4,), minutes=(0,))),
        event("manual"),
    )
    plan = await DayPlanner(known, "UTC").plan(DAY, DAY + 24 * HOUR)
    assert plan.runs == [
        PlannedRun("one", "One", DAY + 4 * HOUR),
        PlannedRun("two", "Two", DAY + 4 * HOUR),
        PlannedRun("two", "Two", DAY + 9 * HOUR),
    ]
    assert (plan.frequent, plan.omitted) == ([], 0)


async def test_an_event_that_runs_often_is_summed_up() -> None:
    known = defined(event("often", Timing(type="schedule")))
    plan = await DayPlanner(known, "UTC").plan(DAY, DAY + 24 * HOUR)
    assert plan.runs == []
    assert plan.frequent == [FrequentRuns("often", "Often", DAY + 60, "every minute, UTC")]


async def test_what_does_not_fit_is_counted() -> None:
    known = defined(event("hourly", Timing(type="schedule", minutes=(0,))))
    plan = await DayPlanner(known, "UTC").plan(DAY, DAY + 24 * HOUR, most=5)
    assert (len(plan.runs), plan.omitted) == (5, 19)


async def test_events_that_can_not_run_are_not_planned() -> None:
    noon = Timing(type="schedule", hours=(12,), minutes=(0,))
    bad = Timing(type="schedule", timezone="Mars/Olympus")
    known = defined(
        event("off", noon, enabled=False), event("lost", noon, category="gone"), event("bad", bad)
    )
    planner = DayPlanner(known, "UTC")
    assert (await planner.plan(DAY, DAY + 24 * HOUR)).runs == []
    known.categories["gone"] = msgspec.structs.replace(GENERAL, id="gone")
    assert [run.event for run in (await planner.plan(DAY, DAY + 24 * HOUR)).runs] == ["lost"]


async def test_a_changed_event_is_planned_by_its_new_timings() -> None:
    known = defined(event("backup", Timing(type="schedule", hours=(12,), minutes=(0,))))
    planner = DayPlanner(known, "UTC")
    await planner.plan(DAY, DAY + 24 * HOUR)
    known.events["backup"] = event("backup", Timing(type="schedule", hours=(13,), minutes=(0,)))
    assert [run.at for run in (await planner.plan(DAY, DAY + 24 * HOUR)).runs] == [DAY + 13 * HOUR]
    del known.events["backup"]
    assert (await planner.plan(DAY, DAY + 24 * HOUR)).runs == []


async def test_delays_seconds_and_single_runs_count() -> None:
    noon = Timing(type="schedule", hours=(12,), minutes=(0,))
    known = defined(
        event("delayed", noon, Timing(type="delay", duration=90)),
        event("precise", noon, Timing(type="precision", seconds=(0, 30))),
        event("once", Timing(type="schedule", minutes=(15,)), Timing(type="destruct")),
    )
    plan = await DayPlanner(known, "UTC").plan(DAY, DAY + 24 * HOUR)
    assert [(run.event, run.at - DAY) for run in plan.runs] == [
        ("once", 900),
        ("precise", 12 * HOUR),
        ("precise", 12 * HOUR + 30),
        ("delayed", 12 * HOUR + 90),
    ]
    after_noon = await DayPlanner(known, "UTC").plan(DAY + 12 * HOUR + 10, DAY + 13 * HOUR)
    assert [(run.event, run.at - DAY) for run in after_noon.runs] == [
        ("precise", 12 * HOUR + 30),
        ("delayed", 12 * HOUR + 90),
        ("once", 12 * HOUR + 900),
    ]


async def test_of_an_event_that_runs_every_third_time_only_those_are_planned() -> None:
    hourly = Timing(type="schedule", minutes=(0,))
    planner = DayPlanner(defined(event("third", hourly, Timing(type="nth", every=3))), "UTC")
    plan = await planner.plan(DAY, DAY + 6 * HOUR, counted={"third": 1})
    assert [run.at - DAY for run in plan.runs] == [3 * HOUR, 6 * HOUR]


async def test_a_day_of_a_clock_change_shows_a_repeated_hour_twice() -> None:
    half_past = Timing(type="schedule", hours=(), minutes=(30,), timezone="Europe/Rome")
    fixed = Timing(type="schedule", hours=(2,), minutes=(30,), timezone="Europe/Rome")
    known = defined(event("hourly", half_past), event("fixed", fixed))
    night = at("2026-10-24T22:00Z")
    plan = await DayPlanner(known, "UTC").plan(night, night + 25 * HOUR)
    assert sum(run.event == "hourly" for run in plan.runs) == 25
    assert [run.at for run in plan.runs if run.event == "fixed"] == [at("2026-10-25T00:30Z")]
