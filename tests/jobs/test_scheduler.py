"""The scheduler launches the jobs of events when they are due: each time once, by any conductor."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from redis.exceptions import ResponseError

from tests.jobs.defined import GENERAL, event
from tests.jobs.timed import KEYS, Scene
from tests.schedule.clocks import at
from tests.waiting import eventually
from watchbell.jobs import cursors
from watchbell.jobs.model import Limit, Parameter, Plugin, Timing
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen

NOON = at("2023-11-20T12:00Z")
MINUTELY = Timing(type="schedule")
CATCHUP = Timing(type="catchup")


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store, NOON)


async def test_a_job_is_launched_when_its_minute_comes(scene: Scene) -> None:
    await scene.define(event("backup", Timing(type="schedule", minutes=(5,)), tags=("a",)))
    conductor = await scene.conductor()
    await conductor.launch_all(NOON + 299.9)
    assert await scene.jobs() == []
    await conductor.launch_all(NOON + 300)
    [job] = await scene.jobs()
    assert (job.event, job.source, job.now, job.state) == (
        "backup",
        "scheduler",
        NOON + 300,
        "ready",
    )
    assert await scene.store.call("LLEN", KEYS.ready()) == 1
    assert conductor.scheduler.launched == 1


async def test_one_job_runs_for_each_minute_whichever_timings_match(scene: Scene) -> None:
    half = Timing(type="schedule", minutes=(0, 1, 2))
    single = Timing(type="single", epoch=NOON + 60)
    await scene.define(event("backup", MINUTELY, half, single))
    conductor = await scene.conductor(NOON + 1)
    for second in range(1, 181):
        await conductor.launch_all(NOON + second)
    # Noon itself was a second ago when the conductor came.
    assert await scene.times() == [0, 60, 120, 180]


async def test_precision_and_interval_launch_a_job_for_each_instant(scene: Scene) -> None:
    precise = event("precise", MINUTELY, Timing(type="precision", seconds=(0, 20, 40)))
    often = event("often", Timing(type="interval", start=NOON, duration=25))
    await scene.define(precise, often)
    conductor = await scene.conductor(NOON - 60 + 0.5)
    for second in range(61):
        await conductor.launch_all(NOON - 1 + second)
    jobs = await scene.jobs()
    instants = sorted(job.now - NOON for job in jobs if job.event == "precise")
    assert instants == [-60, -40, -20, 0, 20, 40]
    waiting = [job for job in jobs if job.event == "precise" and job.now > NOON]
    assert [(job.state, job.until) for job in waiting] == [
        ("start_delay", NOON + 20),
        ("start_delay", NOON + 40),
    ]
    assert sorted(job.now - NOON for job in jobs if job.event == "often") == [0, 25, 50]
    assert {job.state for job in jobs if job.event == "often"} == {"ready"}


async def test_a_delay_counts_from_the_scheduled_minute(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY, Timing(type="delay", duration=90)))
    conductor = await scene.conductor(NOON - 30)
    await conductor.launch_all(NOON + 7)
    job = (await scene.jobs())[-1]
    assert (job.now, job.state, job.until) == (NOON, "start_delay", NOON + 90)
    assert await scene.store.call("ZSCORE", KEYS.delayed(), job.id) == NOON + 90


async def test_parameters_and_tags_of_a_timing_reach_its_job(scene: Scene) -> None:
    timing = Timing(type="schedule", params={"b": 2}, tags=("x", "y"))
    await scene.define(event("backup", timing, params={"a": 1, "b": 1}, tags=("y",)))
    await (await scene.conductor(NOON - 1)).launch_all(NOON)
    job = (await scene.jobs())[-1]
    assert (job.params, job.tags) == ({"a": 1, "b": 2}, ("y", "x"))


async def test_the_nth_minute_launches(scene: Scene) -> None:
    timings = (MINUTELY, Timing(type="nth", every=3))
    await scene.define(event("backup", *timings, modified=NOON - 1))
    conductor, other = await scene.conductor(), await scene.conductor()
    for minute in range(7):
        await conductor.launch_all(NOON + 60 * minute)
        await other.launch_all(NOON + 60 * minute)
    assert await scene.times() == [0, 180, 360]


async def test_an_event_that_is_deleted_after_its_run_runs_once(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY, Timing(type="destruct")))
    conductor = await scene.conductor(NOON + 1)
    for minute in range(4):
        await conductor.launch_all(NOON + 60 * minute + 1)
    assert await scene.times() == [0]


async def test_ranges_and_blackouts_hold_for_launches(scene: Scene) -> None:
    timings = (
        MINUTELY,
        Timing(type="range", start=NOON + 60),
        Timing(type="blackout", start=NOON + 120, end=NOON + 180),
    )
    await scene.define(event("backup", *timings))
    conductor = await scene.conductor()
    for minute in range(6):
        await conductor.launch_all(NOON + 60 * minute)
    assert await scene.times() == [60, 240, 300]


async def test_what_was_missed_is_left_out_and_recorded(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY))
    conductor = await scene.conductor(NOON + 1)
    await conductor.launch_all(NOON + 1)
    await conductor.launch_all(NOON + 602)
    assert await scene.times() == [0, 600]
    left = await scene.left_out("backup")
    assert left is not None
    assert (left.first, left.last, left.number) == (NOON + 60, NOON + 540, 9)
    assert left.reason == "missed: nothing was there to launch it in time"


async def test_a_conductor_that_starts_within_the_minute_still_launches_it(scene: Scene) -> None:
    await scene.define(event("backup", Timing(type="schedule", minutes=(0,))))
    await (await scene.conductor(NOON + 59)).launch_all()
    assert await scene.times() == [0]


async def test_an_event_that_was_made_within_the_minute_waits_for_the_next(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY, modified=NOON + 5))
    conductor = await scene.conductor(NOON + 6)
    await conductor.launch_all(NOON + 7)
    assert await scene.times() == []
    await conductor.launch_all(NOON + 60)
    assert await scene.times() == [60]


@pytest.mark.parametrize(
    ("catchup", "settings", "expected"),
    [
        (CATCHUP, {}, list(range(-3540, 60, 60))),
        (Timing(type="catchup", policy="latest"), {}, [0]),
        (Timing(type="catchup", most=5), {}, [-240, -180, -120, -60, 0]),
        (CATCHUP, {"catchup_most": 2}, [-60, 0]),
    ],
)
async def test_catchup_follows_its_policy(
    store: Store, catchup: Timing, settings: dict[str, int], expected: list[int]
) -> None:
    scene = Scene(store, NOON, **settings)
    await scene.define(event("backup", MINUTELY, catchup))
    await scene.cursor("backup", NOON - 3600)
    await (await scene.conductor()).launch_all()
    assert await scene.times() == expected
    left = await scene.left_out("backup")
    assert (left is None) == (len(expected) == 60)


async def test_a_long_backlog_lets_other_events_pass(scene: Scene) -> None:
    await scene.define(event("late", MINUTELY, CATCHUP), event("prompt", MINUTELY))
    await scene.cursor("late", NOON - 300 * 60)
    conductor = await scene.conductor(NOON - 30)
    conductor.clock.set(NOON)
    await conductor.scheduler.launch_due()
    events = [job.event for job in await scene.jobs()]
    assert "prompt" in events
    assert events.count("late") < 300
    await conductor.launch_all()
    late = sorted(job.now for job in await scene.jobs() if job.event == "late")
    assert late == [NOON - 299 * 60 + 60 * n for n in range(300)]


async def test_a_catchup_event_that_was_disabled_has_missed_nothing(scene: Scene) -> None:
    # The store's own clock is far ahead of this scene: a cursor that is set anew is there.
    await scene.define(event("backup", MINUTELY, CATCHUP, enabled=False))
    await scene.cursor("backup", NOON - 3600)
    await scene.conductor()
    await scene.define(event("backup", MINUTELY, CATCHUP, revision=2))
    await (await scene.conductor()).launch_all()
    assert await scene.times() == []


async def test_the_cursor_can_be_moved_to_run_minutes_again(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY, CATCHUP))
    await scene.cursor("backup", NOON)
    conductor = await scene.conductor()
    await conductor.launch_all()
    assert await scene.times() == []
    assert await cursors.move(scene.store, "backup", NOON - 120)
    assert not await cursors.move(scene.store, "unknown", NOON - 120)
    await conductor.agenda.read(["backup"])
    await conductor.launch_all()
    assert await scene.times() == [-60, 0]


async def test_an_event_that_was_deleted_meanwhile_is_not_run(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY))
    conductor = await scene.conductor(NOON + 1)
    await scene.store.call("HDEL", KEYS.events(), "backup")
    await conductor.launch_all(NOON + 60)
    assert await scene.times() == []
    assert conductor.agenda.scheduled.next_at() is None


@pytest.mark.parametrize("change", [{"revision": 2}, {"enabled": False}])
async def test_an_event_that_was_changed_meanwhile_runs_as_it_is_now(
    scene: Scene, change: dict[str, object]
) -> None:
    await scene.define(event("backup", Timing(type="schedule", minutes=(1,))))
    conductor = await scene.conductor(NOON + 1)
    edited = msgspec.structs.replace(
        event("backup", MINUTELY, params={"new": 1}, revision=2), **change
    )
    await scene.store_only(edited)
    await conductor.launch_all(NOON + 60)
    assert await scene.times() == []
    # The change arrives.
    scene.known.events["backup"] = edited
    await conductor.agenda.read(["backup"])
    await conductor.launch_all(NOON + 62)
    jobs = await scene.jobs()
    assert [job.params for job in jobs if job.now == NOON + 60] == (
        [{"new": 1}] if edited.enabled else []
    )


async def test_a_change_that_was_missed_is_asked_for(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY))
    conductor = await scene.conductor(NOON + 1)
    await scene.store_only(event("backup", MINUTELY, revision=2))
    changes = listen(scene.store, KEYS.changes())
    assert isinstance(await anext(changes), Gap)
    await conductor.launch_all(NOON + 60)
    message = await anext(changes)
    assert not isinstance(message, Gap)
    assert msgspec.json.decode(message.body) == {"kind": "event", "id": "backup"}
    await changes.aclose()


async def test_events_of_a_disabled_category_wait_until_it_is_enabled(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY))
    scene.known.categories["general"] = msgspec.structs.replace(GENERAL, enabled=False)
    conductor = await scene.conductor(NOON + 1)
    await conductor.launch_all(NOON + 60)
    assert await scene.times() == []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(conductor.agenda.run())
        scene.known.categories["general"] = GENERAL
        scene.known.tell("category", "general")
        await eventually(lambda: conductor.agenda.scheduled.get("backup"))
        task.cancel()
    await conductor.launch_all(NOON + 121)
    assert await scene.times() == [120]


async def test_an_event_that_can_not_be_prepared_says_why_and_stops_no_other(scene: Scene) -> None:
    needy = Plugin(
        id="needy", title="Needy", params=(Parameter(id="host", type="text", required=True),)
    )
    scene.known.plugins["needy"] = needy
    await scene.define(event("bad", MINUTELY, plugin="needy"), event("good", MINUTELY))
    conductor = await scene.conductor(NOON + 1)
    await conductor.launch_all(NOON + 60)
    assert {job.event for job in await scene.jobs()} == {"good"}
    left = await scene.left_out("bad")
    assert left is not None
    assert "host is required" in left.reason


async def test_unreadable_timings_stop_no_other_event(scene: Scene) -> None:
    bad = Timing(type="schedule", timezone="Mars/Olympus")
    await scene.define(event("bad", bad), event("good", MINUTELY))
    await (await scene.conductor(NOON + 1)).launch_all()
    assert {job.event for job in await scene.jobs()} == {"good"}


async def test_a_limit_by_day_leaves_the_rest_of_the_day_out(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY, limits=(Limit(type="day", amount=2),)))
    conductor = await scene.conductor(NOON + 1)
    for minute in range(4):
        await conductor.launch_all(NOON + 60 * minute + 1)
    assert await scene.times() == [0, 60]
    left = await scene.left_out("backup")
    assert left is not None
    assert (left.last, left.reason) == (NOON + 180, "the limit of jobs a day was reached")


async def test_two_schedulers_that_race_launch_each_minute_once(
    scene: Scene, repetitions: Callable[[int], int]
) -> None:
    events = [event(f"e{n}", MINUTELY) for n in range(40)]
    behind = [event(f"c{n}", MINUTELY, CATCHUP) for n in range(5)]
    await scene.define(*events, *behind)
    for one in behind:
        await scene.cursor(one.id, NOON - 40 * 60)
    conductors = [await scene.conductor(NOON + 1) for _ in range(3)]
    rounds = repetitions(30)
    for minute in range(rounds):
        async with asyncio.TaskGroup() as group:
            for conductor in conductors:
                group.create_task(conductor.launch_all(NOON + 60 * minute + 2))
    found = sorted((job.event, job.now) for job in await scene.jobs())
    expected = [(one.id, NOON + 60.0 * n) for one in events for n in range(rounds)]
    expected += [(one.id, NOON + 60.0 * n) for one in behind for n in range(-39, rounds)]
    assert found == sorted(expected)


async def test_a_clock_that_is_set_back_launches_no_minute_again(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY))
    conductor = await scene.conductor(NOON + 1)
    for minute in range(3):
        await conductor.launch_all(NOON + 60 * minute + 1)
    conductor.clock.set(NOON - 3600)
    conductor.agenda.follow_clock()
    other = await scene.conductor(NOON - 3600)
    for minute in range(-60, 5):
        await conductor.launch_all(NOON + 60 * minute + 1)
        await other.launch_all(NOON + 60 * minute + 1)
    assert await scene.times() == [0, 60, 120, 180, 240]


async def test_a_clock_that_is_set_forward_is_caught_up_by_policy(scene: Scene) -> None:
    await scene.define(event("plain", MINUTELY), event("all", MINUTELY, CATCHUP))
    await scene.cursor("all", NOON)
    conductor = await scene.conductor(NOON + 1)
    await conductor.launch_all(NOON + 3601)
    jobs = await scene.jobs()
    assert [job.now for job in jobs if job.event == "plain"] == [NOON + 3600]
    caught_up = sorted(job.now for job in jobs if job.event == "all")
    assert caught_up == [NOON + 60 * n for n in range(1, 61)]


@pytest.mark.parametrize("catchup", [[], [CATCHUP]])
async def test_a_cursor_far_ahead_of_the_store_does_not_stop_its_event(
    store: Store, catchup: list[Timing]
) -> None:
    seconds = int((await store.call("TIME"))[0])
    scene = Scene(store, seconds - 3600)
    every_second = Timing(type="interval", start=0, duration=1)
    await scene.define(event("backup", every_second, *catchup))
    await scene.cursor("backup", seconds + 86_400)
    conductor = await scene.conductor(seconds)

    async def is_later() -> bool:
        return int((await store.call("TIME"))[0]) > seconds + 1

    await eventually(is_later)
    await conductor.launch_all(seconds + 2)
    assert (await scene.times())[-1] == 3602


async def test_an_agenda_far_ahead_of_the_clock_returns_to_the_present(scene: Scene) -> None:
    await scene.define(event("backup", MINUTELY))
    conductor = await scene.conductor(NOON + 86_400)
    await conductor.launch_all()
    conductor.clock.set(NOON)
    conductor.agenda.follow_clock()
    assert conductor.agenda.scheduled.next_at() == NOON + 60


@pytest.mark.parametrize("spoilt", ["ready", "cursors", "counts", "left_out", "first_runs"])
async def test_a_key_of_a_wrong_type_loses_no_fire(scene: Scene, spoilt: str) -> None:
    await scene.define(event("backup", MINUTELY))
    conductor = await scene.conductor(NOON + 1)
    key = getattr(KEYS, spoilt)()
    await scene.store.call("SET", key, "spoilt")
    with pytest.raises(ResponseError):
        await conductor.launch_all()
    assert await scene.times() == []
    await scene.store.call("DEL", key)
    await conductor.launch_all()
    assert await scene.times() == [0]


async def test_many_events_that_are_due_together_are_all_launched(scene: Scene) -> None:
    await scene.define(*(event(f"e{n}", MINUTELY) for n in range(2_000)))
    conductor = await scene.conductor(NOON + 1)
    await conductor.launch_all()
    assert conductor.scheduler.launched == 2_000
    assert await scene.store.call("LLEN", KEYS.ready()) == 2_000


async def test_the_loop_sleeps_until_the_next_fire_and_wakes_for_changes(scene: Scene) -> None:
    conductor = await scene.conductor(NOON + 1)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(conductor.scheduler.run()),
            group.create_task(conductor.agenda.run()),
        ]
        await scene.define(event("backup", MINUTELY))
        await eventually(lambda: conductor.scheduler.launched == 1)
        conductor.clock.set(NOON + 61)
        conductor.scheduler.wake()
        await eventually(lambda: conductor.scheduler.launched == 2)
        for task in tasks:
            task.cancel()
    assert await scene.times() == [0, 60]


async def test_cursors_of_a_wrong_type_are_read_once_they_are_repaired(scene: Scene) -> None:
    await scene.store.call("SET", KEYS.cursors(), "spoilt")
    await scene.define(event("backup", MINUTELY, CATCHUP), event("other", MINUTELY))
    conductor = await scene.conductor(NOON + 1)
    with pytest.raises(ResponseError):
        await conductor.agenda.run()
    await scene.store.call("DEL", KEYS.cursors())
    await scene.cursor("backup", NOON - 60)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(conductor.agenda.run())
        await eventually(lambda: conductor.agenda.scheduled.get("backup"))
        task.cancel()
    await conductor.launch_all()
    assert [job.event for job in await scene.jobs()] == ["backup", "other"]
