"""One check over the API: what it is, what it was, what was decided, who would be called."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.alerting import recorded
from tests.alerting.scenes import START, Stage
from tests.web.site import Answer, Site, Visitor, served
from watchbell.alerting import check_settings, maintenance
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.clock import SetClock
from watchbell.store.client import Store

HTTP = "web-1.example.com:HTTP: 80/tcp ü"
HOUR, DAY = 3_600, 86_400


class Scene:
    def __init__(self, stage: Stage, clock: SetClock, site: Site, program: Visitor) -> None:
        self.stage, self.site, self._clock, self._program = stage, site, clock, program

    async def ask(self, part: str = "", check: str = HTTP, **query: Any) -> Answer:
        self._clock.set(self.stage.now)
        params = {"check": check, **query}
        return await self._program.get(f"/api/v1/check{part}", params=params)

    async def get(self, part: str = "", check: str = HTTP, **query: Any) -> Any:
        answer = await self.ask(part, check, **query)
        assert answer.status == 200, answer.text
        return answer.json()


@pytest.fixture
async def scene(store: Store) -> AsyncIterator[Scene]:
    """A program that may look, and a stage on which things happen to checks."""
    clock = SetClock(START)
    async with served(store, clock) as site, site.program("read") as program:
        yield Scene(Stage(store), clock, site, program)


async def test_all_that_is_known_of_a_check(scene: Scene) -> None:
    stage = scene.stage
    await stage.contact("alice", "email")
    await stage.send("ok", HTTP, ttl=600)
    event = {"details": "refused\nby peer", "perfdata": "time=0.2s;1;2 'free space'=5MB"}
    await stage.later(100).send("critical", HTTP, summary="down", **event)
    await stage.later(30).send("critical", HTTP, summary="still down", ttl=600, **event)
    await check_settings.configure(stage.store, HTTP, {"initial_recovery_delay": 7, "ttl": 900})
    found = await scene.get()
    assert (found["entity"], found["name"]) == ("web-1.example.com", "HTTP: 80/tcp ü")
    assert (found["state"], found["summary"], found["enabled"]) == ("critical", "still down", True)
    assert found["details"] == "refused\nby peer"
    assert found["perfdata"] == [
        {"key": "time", "value": "0.2s"},
        {"key": "free space", "value": "5MB"},
    ]
    assert (found["since"], found["last_update"]) == (START + 100, START + 130)
    assert (found["ttl"], found["silent_at"]) == (900, START + 730)
    assert found["delays"] == {
        "initial_failure_delay": {"seconds": 30, "source": "settings"},
        "repeat_failure_delay": {"seconds": 60, "source": "settings"},
        "initial_recovery_delay": {"seconds": 7, "source": "check"},
    }
    assert {"web-1", "example.com", "http:", "80/tcp", "ü"} == set(found["tags"])
    assert found["last_notifications"] == {"problem": START + 130, "critical": START + 130}
    assert found["counts"] == {
        "changes": 2,
        "alerts": 1,
        "notifications": {"problem": 1, "critical": 1},
    }
    assert (found["acknowledged"], found["maintenance"]) == (None, [])


async def test_who_knows_of_it_and_what_is_planned(scene: Scene) -> None:
    stage = scene.stage
    await stage.fails(HTTP)
    await stage.send("acknowledgement", HTTP, summary="Alice is on it", duration=HOUR)
    plan = (stage.now + DAY, 2 * HOUR, "new disks", stage.now)
    await maintenance.create_scheduled(stage.store, HTTP, *plan)
    found = await scene.get()
    now = stage.now
    assert all(window.pop("id").startswith(window["kind"]) for window in found["maintenance"])
    assert found["acknowledged"] == {"since": now, "until": now + HOUR, "words": "Alice is on it"}
    assert found["maintenance"] == [
        {
            "kind": "unscheduled",
            "start": now,
            "end": now + HOUR,
            "summary": "Alice is on it",
            "is_open": True,
        },
        {
            "kind": "scheduled",
            "start": now + DAY,
            "end": now + DAY + 2 * HOUR,
            "summary": "new disks",
            "is_open": False,
        },
    ]
    stage.later(2 * HOUR)
    later = await scene.get()
    assert later["acknowledged"] is None
    assert [window["kind"] for window in later["maintenance"]] == ["scheduled"]


async def test_a_check_that_only_has_a_plan_is_known(scene: Scene) -> None:
    plan = (START + 10, HOUR, "", START)
    await maintenance.create_scheduled(scene.stage.store, HTTP, *plan)
    found = await scene.get()
    assert (found["state"], found["enabled"]) == (None, False)


@pytest.mark.parametrize("part", ["", "/history", "/timeline", "/decisions", "/measurements"])
async def test_what_is_no_check_or_never_reported_is_told_so(scene: Scene, part: str) -> None:
    assert (await scene.ask(part, "web-9:HTTP")).status == 404
    for wrong in ("web-9", ":HTTP", "web-9:", " : ", "x" * 1_500):
        answer = await scene.ask(part, wrong)
        assert answer.status == 422, wrong
        assert answer.json()["errors"][0]["field"] == "check"
    assert (await scene.ask(part, "x" * 3_000)).status == 400


async def test_names_are_found_however_the_entity_is_written(scene: Scene) -> None:
    await scene.stage.send("ok", HTTP)
    assert (await scene.get("", HTTP.replace("web", "WEB")))["check"] == HTTP
    assert (await scene.ask("", HTTP.replace("HTTP", "http"))).status == 404


async def flapping(scene: Scene) -> list[tuple[int, str]]:
    """Ten changes, an hour apart."""
    times = [(START + n * HOUR, ("ok", "critical")[n % 2]) for n in range(10)]
    await recorded.check(scene.stage.store, HTTP, [(t, s, f"at {t}") for t, s in times])
    scene.stage.later(10 * HOUR)
    return times


async def test_history_comes_in_pages_the_newest_first(scene: Scene) -> None:
    times = await flapping(scene)
    seen, cursor = [], ""
    for _ in range(10):
        page = await scene.get("/history", limit=3, cursor=cursor)
        seen += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert [(one["timestamp"], one["state"]) for one in seen] == times[::-1]
    assert [one["until"] for one in seen] == [None, *(time for time, _ in times[:0:-1])]
    assert seen[0]["summary"] == f"at {times[-1][0]}"


async def test_history_of_a_range_ends_where_it_is_told_to(scene: Scene) -> None:
    times = await flapping(scene)
    query: dict[str, Any] = {"from": times[2][0], "to": times[5][0] + 60}
    page = await scene.get("/history", **query)
    assert [one["timestamp"] for one in page["items"]] == [time for time, _ in times[5:1:-1]]
    assert page["items"][0]["until"] == times[6][0]
    assert page["next"] is None
    two = await scene.get("/history", **query, limit=2)
    rest = await scene.get("/history", **query, limit=2, cursor=two["next"])
    assert two["items"] + rest["items"] == page["items"]


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "9" * 30, "٣"])
async def test_a_cursor_of_somebody_elses_making_is_refused(scene: Scene, cursor: str) -> None:
    await scene.stage.send("ok", HTTP)
    answer = await scene.ask("/history", cursor=cursor)
    assert (answer.status, answer.json()["errors"][0]["field"]) == (400, "cursor")


async def test_a_timeline_has_states_maintenance_and_percentages(scene: Scene) -> None:
    await flapping(scene)
    stage = scene.stage
    plan = (START + 3 * HOUR, HOUR // 2, "new disks", START)
    await maintenance.create_scheduled(stage.store, HTTP, *plan)
    start, end = START + 2 * HOUR, START + 4 * HOUR
    query: dict[str, Any] = {"from": start, "to": end}
    found = await scene.get("/timeline", **query)
    half = START + 3 * HOUR
    assert [(one["start"], one["end"], one["state"]) for one in found["segments"]] == [
        (start, half, "ok"),
        (half, end, "critical"),
    ]
    assert found["maintenance"][0]["summary"] == "new disks"
    assert found["seconds"] == {"critical": HOUR // 2, "ok": HOUR + HOUR // 2}
    assert found["percentages"] == {"critical": 25, "ok": 75}
    assert (found["outages"], found["known_from"], found["is_complete"]) == (1, start, True)


async def test_what_was_before_the_first_report_counts_for_nothing(scene: Scene) -> None:
    await scene.stage.send("critical", HTTP)
    scene.stage.later(HOUR)
    found = await scene.get("/timeline")
    assert (found["start"], found["end"]) == (scene.stage.now - DAY, scene.stage.now)
    assert [one["state"] for one in found["segments"]] == [None, "critical"]
    assert (found["known_from"], found["percentages"]["critical"]) == (START, 100)


async def test_a_range_to_come_has_plans_and_no_states(scene: Scene) -> None:
    await scene.stage.send("ok", HTTP)
    plan = (START + DAY, HOUR, "", START)
    await maintenance.create_scheduled(scene.stage.store, HTTP, *plan)
    query: dict[str, Any] = {"from": START + HOUR, "to": START + 2 * DAY}
    found = await scene.get("/timeline", **query)
    assert (found["segments"], len(found["maintenance"])) == ([], 1)


async def test_a_year_of_flapping_fits_into_a_picture(scene: Scene) -> None:
    store, keys = scene.stage.store, Alerting()
    parts = ("web", "flaps")
    await recorded.check(store, "web:flaps", [(START, "ok")])
    for first in range(0, 6_000, 1_000):
        times = [START + n * 60 for n in range(first, first + 1_000)]
        await store.call("ZADD", keys.state_times(*parts), *(x for t in times for x in (t, t)))
        states = [x for t in times for x in (keys.state(*parts, t), ("ok", "warning")[t // 60 % 2])]
        await store.call("MSET", *states)
    scene.stage.later(6_000 * 60)
    found = await scene.get("/timeline", "web:flaps", **{"from": START - DAY})
    assert len(found["segments"]) <= 1_002
    assert sum(one["changes"] for one in found["segments"]) == 6_000
    assert found["seconds"]["warning"] == pytest.approx(3_000 * 60, abs=60)


@pytest.mark.parametrize(
    ("start", "end", "status"), [(10, 10, 422), (11, 10, 422), (-1, 10, 400), ("x", 10, 400)]
)
async def test_a_range_that_ends_before_it_begins_is_refused(
    scene: Scene, start: Any, end: Any, status: int
) -> None:
    await scene.stage.send("ok", HTTP)
    answer = await scene.ask("/timeline", **{"from": start, "to": end})
    assert (answer.status, answer.json()["errors"][0]["field"]) == (status, "from")


async def test_decisions_are_told_in_words(scene: Scene) -> None:
    stage = scene.stage
    await stage.contact("alice", "email", rule={"entities": ("db",)})
    await stage.fails(HTTP)
    notified, told, held = await scene.get("/decisions")
    assert (notified["by"], notified["outcome"]) == ("notifier", "alerts queued")
    assert notified["is_notified"]
    (alice,) = notified["contacts"]
    _, rule = sorted(alice["rules"])
    assert rule.startswith("If the entity is db, at any time: ")
    assert rule.endswith(": it applies to other entities")
    assert alice["media"] == [{"medium": "email", "words": "queued", "until": None}]
    assert (told["outcome"], told["reason"]) == (
        "notification created",
        "no reason to hold it back",
    )
    assert (held["outcome"], held["until"]) == ("held back", START + 30)
    assert held["reason"] == "it has not failed for long enough"


async def test_what_was_measured_of_late_is_there_as_numbers(scene: Scene) -> None:
    stage = scene.stage
    for n in range(3):
        stage.later(1_800)
        text = f"time={n / 2}s;1;2 'free space'={n}MB load= x=1e9999 time=7ms"
        await stage.send("ok", HTTP, perfdata=text, time=stage.now)
        await stage.send("ok", "web-2:HTTP", perfdata="time=9s")
    key = Alerting().archive(f"{datetime.fromtimestamp(stage.now, UTC):%Y%m%d%H}")
    odd = {"entity": "WEB-1.example.com", "check": HTTP.partition(":")[2], "perfdata": "time=8s"}
    for more in ({"time": "-1"}, {"time": 1e300}, {"time": None}, {"perfdata": 5}):
        await stage.store.call("LPUSH", key, json.dumps({**odd, **more}))
    await stage.store.call("LPUSH", key, b'\xff"perfdata"')
    found = await scene.get("/measurements")
    hour = START + 2_800  # for the copy that has no time
    seconds = [[START + 1_800, 0], [hour, 8], [START + 3_600, 0.5], [START + 5_400, 1]]
    assert found["series"][0] == {"key": "time", "unit": "s", "points": seconds}
    assert {(one["key"], one["unit"]) for one in found["series"]} == {
        *(("time", "s"), ("time", "ms"), ("free space", "MB")),
    }
    assert found["is_complete"]


async def test_reports_without_a_time_are_measurements_of_their_own(scene: Scene) -> None:
    stage = scene.stage
    report = {"type": "service", "state": "ok", "entity": "web-1.example.com"}
    report |= {"check": HTTP.partition(":")[2]}
    for n in range(3):
        await stage.push(*({**report, "perfdata": f"time={n}{m}s"} for m in range(2)))
        await stage.later(10).drain()
    await stage.push({**report, "perfdata": "time=9s", "time": START + 25})
    await stage.drain()
    (found,) = (await scene.get("/measurements"))["series"]
    assert found["points"] == [
        [START + 10, 0],
        [START + 10.5, 1],
        [START + 20, 10],
        [START + 20.5, 11],
        [START + 25, 9],
        [START + 30, 20],
        [START + 30.5, 21],
    ]


async def test_tags_of_the_latest_report_are_shown_and_decide(scene: Scene) -> None:
    stage = scene.stage
    await stage.contact("alice", "email", rule={"tags": ("db",), "critical_blackhole": True})
    await stage.send("ok", HTTP, tags=("prod", "db"))
    assert (await scene.get(""))["event_tags"] == ["db", "prod"]
    found = await scene.get("/callees")
    assert (found["contacts"][0]["is_called"], "prod" in found["tags"]) == (False, True)
    assert (await scene.get("/callees", tag=["prod"]))["contacts"][0]["is_called"]


async def test_who_would_be_called_and_why(scene: Scene) -> None:
    stage = scene.stage
    await stage.contact("alice", "email", rule={"tags": ("db",), "critical_blackhole": True})
    await stage.send("ok", HTTP)
    found = await scene.get("/callees")
    assert (found["state"], found["at"]) == ("critical", START)
    assert found["words"] == "1 contact would be notified"
    assert found["contacts"][0]["media"][0]["address"] == "alice@email"
    specific, general = sorted(found["contacts"][0]["rules"], key=lambda rule: rule["counts"])
    assert specific["sentence"].startswith("If the event is tagged db, at any time: ")
    assert general["sentence"].startswith("If no specific rule matches, at any time: ")
    tagged = await scene.get("/callees", tag=["db", ""], at=START + DAY)
    assert (tagged["contacts"][0]["is_called"], tagged["at"]) == (False, START + DAY)
    fine = await scene.get("/callees", state="ok")
    assert fine["words"].startswith("nobody would be notified: it is ok")
    assert (await scene.get("/callees", "web-9:new"))["contacts"][0]["is_called"]


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ({"state": "bad"}, 400, "state"),
        ({"state": "acknowledgement"}, 400, "state"),
        ({"at": START - 2 * DAY}, 422, "at"),
        ({"at": START + 3_000 * DAY}, 422, "at"),
        ({"at": "noon"}, 400, "at"),
        ({"check": "web"}, 422, "check"),
    ],
)
async def test_questions_that_make_no_sense_are_refused(
    scene: Scene, query: dict[str, Any], status: int, field: str
) -> None:
    answer = await scene.ask("/callees", **query)
    assert (answer.status, answer.json()["errors"][0]["field"]) == (status, field)


async def test_whatever_bytes_others_left_are_shown_as_they_can_be(scene: Scene) -> None:
    store, keys = scene.stage.store, Alerting()
    parts = ("web", "odd")
    await recorded.check(store, "web:odd", [(START, "ok")], summary="x")
    odd: list[str | bytes] = [
        *("state", b"\xff<script>", "last_change", "1e300", "last_update", "soon")
    ]
    await store.call("HSET", keys.current(*parts), *odd, "perfdata", b'[1,{"key":[]},{"value":7}]')
    for time in ("soon", "99999999999999999999"):
        await store.call("ZADD", keys.state_times(*parts), 5, time)
    await store.call("SET", keys.state(*parts, START), b"\xfe")
    key = AlertingOwn().decisions(*parts)
    await store.call("LPUSH", key, b"\xff", '{"verdict": "x"}', "[" * 5_000)
    await store.call("EXPIRE", key, 100)
    found = await scene.get("", "web:odd")
    assert (found["state"], found["last_update"]) == ("�<script>", None)
    assert found["perfdata"] == [{"key": "[]", "value": ""}, {"key": "", "value": "7"}]
    assert (await scene.get("/history", "web:odd"))["items"][0]["state"] == "�"
    assert await scene.get("/timeline", "web:odd", **{"from": START - 5, "to": START + 5})
    assert await scene.get("/decisions", "web:odd") == []


async def test_a_key_that_may_only_report_sees_nothing(scene: Scene) -> None:
    await scene.stage.send("ok", HTTP)
    async with scene.site.program("intake") as program:
        for part in (
            "",
            "/history",
            "/timeline",
            "/decisions",
            "/callees",
            "/measurements",
        ):
            answer = await program.get(f"/api/v1/check{part}", params={"check": HTTP})
            assert answer.status == 403
