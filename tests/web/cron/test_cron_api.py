"""Cron jobs over HTTP: what there is, what each says, and what people do with them."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cron.crew import READING, definition, ended, put, running, serving, until
from tests.cron.test_job_cache import result, standing
from tests.web.site import Site, Visitor
from watchbell.cron import instances, jobs
from watchbell.cron.keys import Cron
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.cron import job_view

DAILY = {"cronstring": "30 2 * * *", "timezone": "Europe/Rome"}
NAME = "nightly/backup: <b>straße</b>"
ARGS = ("job_args", "job_args.cmd", "job_args.lock", "job_args.ttl")
SECRET = "hunter2 and more"


async def listed(visitor: Visitor, **query: Any) -> Any:
    answer = await visitor.get("/api/v1/cron/jobs", params=query)
    assert answer.status == 200, answer.text
    return answer.json()


async def names(visitor: Visitor, **query: Any) -> list[str]:
    return [row["name"] for row in (await listed(visitor, **query))["items"]]


async def last_noted(store: Store) -> tuple[str, str]:
    entry = (await audit.read(store, "", 1))[0].entry
    return entry.action, entry.subject


async def test_a_job_is_added_shown_replaced_and_removed(site: Site, store: Store) -> None:
    async with site.somebody("editor") as alice:
        body = {"name": NAME, "definition": definition("pg_dump shop", DAILY)}
        made = await alice.post("/api/v1/cron/jobs", json=body)
        assert made.status == 201, made.text
        assert made.json()["words"] == "at 02:30 every day, Europe/Rome"
        assert await last_noted(store) == ("cron.create", NAME)
        assert await names(alice) == [NAME]
        shown = (await alice.get("/api/v1/cron/job", params={"name": NAME})).json()
        assert shown["definition"] == body["definition"]
        assert shown["row"]["zone"] == "Europe/Rome"
        assert len(shown["row"]["next"]) == 3
        assert [fire["at"] for fire in shown["fires"]][:3] == shown["row"]["next"]
        assert " 02:30:00 CE" in shown["fires"][0]["local"]
        again = await alice.post("/api/v1/cron/jobs", json=body)
        assert (again.status, again.json()["errors"][0]["field"]) == (422, "name")
        changed: dict[str, Any] = {
            "params": {"name": NAME},
            "json": {"definition": definition("true", DAILY)},
            "headers": {"If-Match": shown["version"]},
        }
        replaced = await alice.ask("PUT", "/api/v1/cron/job", **changed)
        assert replaced.status == 200, replaced.text
        assert await last_noted(store) == ("cron.replace", NAME)
        late = await alice.ask("PUT", "/api/v1/cron/job", **changed)
        assert late.status == 412
        del changed["headers"]
        assert (await alice.ask("PUT", "/api/v1/cron/job", **changed)).status == 200
        gone = await alice.ask("DELETE", "/api/v1/cron/job", params={"name": NAME})
        assert gone.status == 204
        assert await names(alice) == []
        assert (await alice.get("/api/v1/cron/job", params={"name": NAME})).status == 404
        again = await alice.ask("DELETE", "/api/v1/cron/job", params={"name": NAME})
        assert again.status == 404
        late = await alice.ask("PUT", "/api/v1/cron/job", **changed)
        assert late.status == 404


async def test_what_is_wrong_is_told_by_field(site: Site) -> None:
    bad = {
        "cron_args": {"cronstring": "61 * * * *"},
        "job_args": {"cmd": "", "lock": True, "ttl": -1},
        "watchbell": {"overlap": "never", "environment": {"A=B": "1"}},
    }
    async with site.program("write") as program:
        answer = await program.post("/api/v1/cron/jobs", json={"name": "all", "definition": bad})
        assert answer.status == 422
        fields = {error["field"] for error in answer.json()["errors"]}
        assert fields == {
            *("name", "cron_args.cronstring", "job_args.cmd", "job_args.ttl"),
            *("watchbell.overlap", "watchbell.environment"),
        }
        assert await names(program) == []
        for body in ({}, {"name": "a"}, {"name": "a", "definition": []}, {"name": "", "x": 1}):
            assert (await program.post("/api/v1/cron/jobs", json=body)).status == 400


async def test_values_of_the_environment_are_for_those_who_may_write(
    site: Site, store: Store
) -> None:
    await put(store, "a", definition("true", environment={"TOKEN": SECRET}))
    await put(store, "b", {"watchbell": {"environment": [SECRET]}, "job_state": {}})
    await put(store, "c", {"watchbell": SECRET})
    await jobs.validate(store, [], READING)
    for role in ("viewer", "operator"):
        async with site.somebody(role) as bob:
            for path in ("/api/v1/cron/jobs", *(f"/api/v1/cron/job?name={n}" for n in "abc")):
                answer = await bob.get(path)
                assert answer.status == 200
                assert "hunter" not in answer.text
            shown = (await bob.get("/api/v1/cron/job?name=a")).json()
            assert shown["is_masked"]
            assert shown["definition"]["watchbell"]["environment"] == {"TOKEN": "***"}
            assert (await bob.get("/api/v1/cron/export")).status == 403
            tried = await bob.post("/api/v1/cron/jobs/trigger", json={"names": ["b", "c"]})
            assert tried.status == (403 if role == "viewer" else 200)
            assert "hunter" not in tried.text
    async with site.somebody("editor") as alice:
        shown = (await alice.get("/api/v1/cron/job?name=a")).json()
        assert not shown["is_masked"]
        assert shown["definition"]["watchbell"]["environment"] == {"TOKEN": SECRET}


async def test_jobs_are_found_by_text_and_by_how_they_fare(site: Site, store: Store) -> None:
    await put(store, "backup", definition("pg_dump", DAILY))
    await put(store, "tidy", definition("rm -r /tmp/old"))
    await put(store, "broken", {"cron_args": {}})
    await jobs.pause(store, "tidy", READING)
    for n in range(25):
        await result(store, "backup", "fail" if n == 24 else "success", 1_790_000_000 + n, f"r{n}")
    async with site.somebody("viewer") as bob:
        page = await listed(bob)
        assert [row["name"] for row in page["items"]] == ["backup", "broken", "tidy"]
        assert page["counts"] == {"all": 3, "paused": 1, "invalid": 1, "failing": 1, "running": 0}
        backup, broken, tidy = page["items"]
        assert [len(backup["spans"]), backup["spans"][0]["status"]] == [20, "fail"]
        assert backup["last"]["duration"] == 2
        assert backup["is_failing"]
        assert {one["field"] for one in broken["problems"]} == {"cron_args", *ARGS}
        assert tidy["is_paused"]
        assert tidy["next"] == []
        assert await names(bob, text="DUMP") == ["backup"]
        assert await names(bob, paused="true") == ["tidy"]
        assert await names(bob, invalid="true") == ["broken"]
        assert await names(bob, failing="true") == ["backup"]
        assert await names(bob, running="true") == []
        assert await names(bob, failing="true", text="tidy") == []
        assert (await names(bob, sort="next"))[0] == "backup"
        assert (await names(bob, sort="-name"))[0] == "tidy"


async def test_jobs_come_in_pages(site: Site, store: Store) -> None:
    wanted = sorted(f"job {'ü' * 100} {n:02}" for n in range(7))
    for name in wanted:
        await put(store, name, definition("true"))
    async with site.somebody("viewer") as bob:
        for sort in ("name", "next", "last"):
            seen: list[str] = []
            cursor: str | None = ""
            while cursor is not None:
                page = await listed(bob, limit=3, cursor=cursor, sort=sort)
                seen += [row["name"] for row in page["items"]]
                cursor = page["next"]
                assert page["total"] == 7
            assert seen == wanted
        first = (await listed(bob, limit=3))["next"]
        for cursor, sort in (("!", "name"), ("W10=", "name"), (first, "next")):
            answer = await bob.get("/api/v1/cron/jobs", params={"cursor": cursor, "sort": sort})
            assert (answer.status, answer.json()["errors"][0]["field"]) == (400, "cursor")


async def test_many_jobs_are_paused_and_resumed_at_once(site: Site, store: Store) -> None:
    for name in "abc":
        await put(store, name, definition("true", DAILY))
    async with site.somebody("operator") as bob:
        answer = await bob.post("/api/v1/cron/jobs/pause", json={"names": ["a", "x", "b"]})
        items = answer.json()["items"]
        assert [(one["name"], one["done"]) for one in items] == [
            ("a", True),
            ("x", False),
            ("b", True),
        ]
        assert items[1]["reason"] == "there is no such job"
        assert await last_noted(store) == ("cron.pause", "2 jobs")
        assert await names(bob, paused="true") == ["a", "b"]
        await bob.post("/api/v1/cron/jobs/resume", json={"names": ["b"]})
        assert await last_noted(store) == ("cron.resume", "b")
        assert await names(bob, paused="true") == ["a"]
        assert (await bob.post("/api/v1/cron/jobs/pause", json={"names": []})).status == 400


async def test_jobs_are_triggered_where_somebody_hears_it(
    site: Site, store: Store, tmp_path: Path
) -> None:
    await put(store, "a", definition("echo hello"))
    await put(store, "broken", {})
    async with site.somebody("operator") as bob:
        body = {"names": ["a", "broken", "x"]}
        alone = await bob.post("/api/v1/cron/jobs/trigger", json=body)
        assert alone.status == 422
        assert "no instance of cron is running" in alone.text
        async with serving(store, tmp_path):
            items = (await bob.post("/api/v1/cron/jobs/trigger", json=body)).json()["items"]
            assert [one["done"] for one in items] == [True, False, False]
            assert "job_args: enter an object" in items[1]["reason"]
            [run] = await ended(store, "a")
            assert items[0]["runs"] == [run.id]
            whole = (await bob.get(f"/api/v1/cron/runs/{run.id[:10]}")).json()["run"]
            assert (whole["id"], whole["attempt"], whole["retry_at"]) == (run.id, 1, None)
            printed = (await bob.get(f"/api/v1/cron/runs/{run.id[:10]}/output")).json()
            assert [line["text"] for line in printed["lines"]] == ["hello"]
        row = (await bob.get("/api/v1/cron/job?name=a")).json()["row"]
        assert row["last"]["words"] == "done"


async def test_a_trigger_that_is_not_run_comes_with_the_reason(
    site: Site, store: Store, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    await put(store, "long", definition(until(gate)))
    await put(store, "train", definition("true", tags=["gpu"]))
    async with site.somebody("operator") as bob, serving(store, tmp_path):
        await jobs.trigger(store, "long")
        await running(store, "long")
        body = {"names": ["long", "train"]}
        long, train = (await bob.post("/api/v1/cron/jobs/trigger", json=body)).json()["items"]
        shown = (await bob.get("/api/v1/cron/job?name=train")).json()
        gate.touch()
        await ended(store, "long")
    assert (long["done"], long["runs"]) == (False, [])
    assert "the lock is held" in long["reason"]
    assert not train["done"]
    assert "lacks the tag gpu" in train["reason"]
    assert train["reason"] == shown["obstacle"]


async def test_a_preview_begins_at_a_given_second(site: Site) -> None:
    async with site.somebody("viewer") as bob:
        body = {"cron_args": {"cronstring": "@daily"}, "since": 86_400, "count": 2}
        found = (await bob.post("/api/v1/cron/preview", json=body)).json()
    assert [fire["at"] for fire in found["fires"]] == [86_400, 172_800]


async def test_definitions_are_checked_where_they_lie(site: Site, store: Store) -> None:
    await put(store, "good", definition("true"))
    await put(store, "bad", {"job_args": {"cmd": "true", "lock": True, "ttl": 1}})
    async with site.somebody("editor") as alice:
        found = (await alice.post("/api/v1/cron/jobs/validate", json={})).json()
        assert (found["valid"], found["invalid"]) == (1, 1)
        assert found["items"][0]["problems"][0]["field"] == "cron_args"
        kept = json.loads(await store.call("HGET", Cron(store.prefix).jobs(), "bad"))
        assert "cron_args" in kept["job_state"]["validation_errors"]
        missing = await alice.post("/api/v1/cron/jobs/validate", json={"names": ["x"]})
        assert missing.status == 404


@pytest.mark.parametrize(
    ("cron_args", "words", "zone"),
    [
        ({"cronstring": "@hourly"}, "every hour, UTC", "UTC"),
        ({"cronstring": "@every 90s"}, "every 90 seconds, counted from 1970-01-01 UTC", ""),
        ({"hour": 8, "day_of_week": "mon"}, "at 08:00 on Monday, UTC", "UTC"),
        (
            {"cronstring": "0 8 * * *", "timezone": "Asia/Tokyo"},
            "at 08:00 every day, Asia/Tokyo",
            "Asia/Tokyo",
        ),
    ],
)
async def test_a_schedule_is_previewed(
    site: Site, cron_args: dict[str, Any], words: str, zone: str
) -> None:
    async with site.somebody("viewer") as bob:
        asked = {"cron_args": cron_args, "count": 4}
        told = (await bob.post("/api/v1/cron/preview", json=asked)).json()
    assert (told["words"], told["zone"], told["problems"]) == (words, zone, [])
    fires = [fire["at"] for fire in told["fires"]]
    assert fires == sorted(set(fires))
    assert len(fires) == 4


async def test_a_preview_says_what_is_wrong_and_shows_what_is_right(site: Site) -> None:
    async with site.somebody("viewer") as bob:

        async def preview(**asked: Any) -> Any:
            return (await bob.post("/api/v1/cron/preview", json=asked)).json()

        half = await preview(definition={"cron_args": DAILY, "job_args": {"cmd": ""}})
        assert half["words"] == "at 02:30 every day, Europe/Rome"
        assert len(half["fires"]) == 10
        fields = {one["field"] for one in half["problems"]}
        assert fields == {"job_args.cmd", "job_args.lock", "job_args.ttl"}
        wrong = await preview(cron_args={"cronstring": "every day", "timezone": "Europe/Nowhere"})
        assert (wrong["words"], wrong["fires"]) == ("", [])
        assert wrong["problems"][0]["field"] == "cron_args.timezone"
        never = await preview(cron_args={"cronstring": "@never"})
        assert (never["words"], never["fires"]) == ("never by itself", [])
        named = await preview(definition=definition("true", DAILY), name="all")
        assert [one["field"] for one in named["problems"]] == ["name"]
        assert (await preview(cron_args=DAILY, definition={}))["status"] == 422
        assert (await preview())["status"] == 422


async def test_a_preview_remarks_on_clocks_that_are_set(site: Site) -> None:
    hourly_at_night = {"cronstring": "30 2 * 3,10 sun", "timezone": "Europe/Rome"}
    async with site.somebody("viewer") as bob:
        asked = {"cron_args": hourly_at_night, "count": 100}
        told = (await bob.post("/api/v1/cron/preview", json=asked)).json()
    remarks = {fire["remark"] for fire in told["fires"]}
    assert any("never show 02:30" in remark for remark in remarks)
    assert any("twice; it runs the first time only" in remark for remark in remarks)


async def test_what_fires_in_the_hours_to_come_is_shown_in_buckets(
    site: Site, store: Store
) -> None:
    await put(store, "daily", definition("true", {"cronstring": "@daily"}))
    await put(store, "hourly", definition("true", {"cronstring": "@hourly"}))
    await put(store, "often", definition("true", {"cronstring": "* * * * *"}))
    await put(store, "never", definition("true"))
    await put(store, "paused", definition("true", DAILY))
    await jobs.pause(store, "paused", READING)
    async with site.somebody("viewer") as bob:
        told = (await bob.get("/api/v1/cron/ahead")).json()
    assert (told["seconds"], told["until"] - told["since"], told["frequent"]) == (900, 87_300, 1)
    assert sum(bucket["count"] for bucket in told["buckets"]) == 25
    named = [name for bucket in told["buckets"] for name in bucket["names"]]
    assert (named.count("daily"), named.count("paused")) == (1, 0)
    assert all(told["since"] <= bucket["at"] < told["until"] for bucket in told["buckets"])


@pytest.mark.parametrize(
    "moment",
    [
        *("2026-11-16T00:00:00", "2026-11-16T00:00:01", "2026-11-16T00:07:30"),
        *("2026-11-16T00:15:00", "2026-11-16T12:00:00", "2026-11-16T23:59:59"),
        *("2028-02-29T00:10:00", "2028-02-28T23:59:50", "2026-12-31T23:59:59"),
    ],
)
async def test_a_day_ahead_has_each_daily_job_once_at_any_time_of_day(moment: str) -> None:
    now = int(datetime.fromisoformat(f"{moment}+00:00").timestamp())
    hourly = standing("hourly", {"cronstring": "@hourly"})
    daily = [standing(f"{m}", {"cronstring": f"{m} 0 * * *"}) for m in (0, 5, 10, 15, 16)]
    found = await job_view.ahead([hourly, *daily], now, 900, 96)
    assert sum(bucket.count for bucket in found.buckets) == 24 + len(daily)
    for job in daily:
        [bucket] = [one for one in found.buckets if job.name in one.names]
        [fire] = [one for one in job.ahead(now, until=now + 86_400) if one <= now + 86_400]
        assert bucket.at <= fire < bucket.at + 900
        assert found.since <= bucket.at < found.until


async def test_a_crontab_is_previewed_then_imported(site: Site, store: Store) -> None:
    text = "PATH=/opt/bin\n0 4 * * * /usr/bin/tidy --all\n@reboot hello\n*/5 * * * * beat\n"
    async with site.somebody("editor") as alice:
        plan = (await alice.post("/api/v1/cron/import/preview", json={"text": text})).json()
        assert [(job["line"], job["name"]) for job in plan["jobs"]] == [(2, "tidy"), (4, "beat")]
        assert plan["jobs"][0]["words"] == "at 04:00 every day, UTC"
        assert plan["left_out"][0]["line"] == 3
        assert plan["obstacles"] == []
        assert await names(alice) == []
        done = (await alice.post("/api/v1/cron/import", json={"text": text})).json()
        assert done["done"] == 2
        assert await last_noted(store) == ("cron.import", "2 jobs")
        assert await names(alice) == ["beat", "tidy"]
        again = await alice.post("/api/v1/cron/import", json={"text": text})
        assert again.status == 422
        assert "there is a job 'tidy' already" in again.text
        replaced = await alice.post("/api/v1/cron/import", json={"text": text, "replace": True})
        assert replaced.json()["done"] == 2
        empty = await alice.post("/api/v1/cron/import", json={"text": "# nothing\n"})
        assert empty.status == 422


async def test_jobs_go_out_and_come_back(site: Site, store: Store) -> None:
    for n in range(3):
        await put(store, f"job {n}", definition("true", DAILY, environment={"A": SECRET}))
    await put(store, "odd", definition("true", {"second": 5}))
    await store.call("HSET", Cron(store.prefix).jobs(), "worse\n\x1b", b"\xff")
    async with site.somebody("editor") as alice:
        whole = await alice.get("/api/v1/cron/export")
        assert whole.headers["Content-Disposition"] == 'attachment; filename="jobs.json"'
        assert set(whole.json()) == {"job 0", "job 1", "job 2", "odd"}
        lines = (await alice.get("/api/v1/cron/export?form=crontab")).text
        assert "30 2 * * * true" in lines
        assert "# odd is left out" in lines
        assert "\x1b" not in lines
        await store.call("DEL", Cron(store.prefix).jobs())
        body = {"form": "json", "text": whole.text}
        site.services.cron_jobs.forget()
        assert (await alice.post("/api/v1/cron/import", json=body)).json()["done"] == 4
        assert (await alice.get("/api/v1/cron/export")).json() == whole.json()
        wrong = await alice.post("/api/v1/cron/import", json={"form": "json", "text": "[1]"})
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (422, "text")
        invalid = {"form": "json", "text": '{"a": {}, "b": {"job_args": 1}}'}
        plan = (await alice.post("/api/v1/cron/import/preview", json=invalid)).json()
        assert len(plan["obstacles"]) == 2
        assert {one["field"] for one in plan["jobs"][0]["problems"]} == {"cron_args", *ARGS}
    async with site.somebody("editor") as alice:
        await store.call("DEL", Cron(store.prefix).jobs())
        site.services.cron_jobs.forget()
        assert (await alice.get("/api/v1/cron/export")).json() == {}


async def test_defaults_are_those_of_the_settings(site: Site) -> None:
    async with site.somebody("viewer") as bob:
        told = (await bob.get("/api/v1/cron/defaults")).json()
    assert (told["timezone"], told["missed_grace"], told["shell"]) == ("UTC", 60, "/bin/bash")
    assert "nofile" in told["limits"]


async def test_instances_are_listed_drained_and_put_back_to_work(
    site: Site, store: Store, tmp_path: Path
) -> None:
    async with site.somebody("administrator") as alice, site.somebody("editor") as bob:
        told = (await bob.get("/api/v1/cron/instances")).json()
        assert told == {"instances": [], "running": 0, "capacity": 0, "pending": 0}
        lonely = await alice.post("/api/v1/cron/instances/drain", json={"hosts": ["a"]})
        assert lonely.status == 422
        async with serving(store, tmp_path, capacity=7):
            fleet = (await bob.get("/api/v1/cron/instances")).json()
            assert fleet["capacity"] == 7
            host = fleet["instances"][0]["host"]
            body = {"hosts": [host]}
            assert (await bob.post("/api/v1/cron/instances/drain", json=body)).status == 403
            drained = await alice.post("/api/v1/cron/instances/drain", json=body)
            assert drained.status == 204
            assert await last_noted(store) == ("cron.drain", host)
            assert (await alice.post("/api/v1/cron/instances/reload")).status == 204
            assert (await bob.post("/api/v1/cron/instances/reload")).status == 403
        assert await instances.instances(store) == []


WRITES = [
    ("POST", "/api/v1/cron/jobs", {"name": "a", "definition": {}}),
    ("PUT", "/api/v1/cron/job?name=a", {"definition": {}}),
    ("DELETE", "/api/v1/cron/job?name=a", None),
    ("POST", "/api/v1/cron/jobs/validate", {}),
    ("POST", "/api/v1/cron/import", {"text": "a"}),
    ("POST", "/api/v1/cron/import/preview", {"text": "a"}),
    ("GET", "/api/v1/cron/export", None),
]
ACTS = [
    ("POST", f"/api/v1/cron/jobs/{verb}", {"names": ["a"]})
    for verb in ("pause", "resume", "trigger")
]
LOOKS = [
    ("GET", "/api/v1/cron/jobs", None),
    ("GET", "/api/v1/cron/job?name=a", None),
    ("GET", "/api/v1/cron/ahead", None),
    ("GET", "/api/v1/cron/defaults", None),
    ("GET", "/api/v1/cron/instances", None),
    ("POST", "/api/v1/cron/preview", {"cron_args": DAILY}),
]


async def test_every_endpoint_refuses_the_wrong_role(site: Site) -> None:
    async with (
        site.stranger() as stranger,
        site.program("intake") as reporter,
        site.somebody("viewer") as viewer,
        site.somebody("operator") as operator,
    ):
        for method, path, body in (*WRITES, *ACTS, *LOOKS):
            assert (await stranger.ask(method, path, json=body)).status == 401, path
            assert (await reporter.ask(method, path, json=body)).status == 403, path
        for method, path, body in (*WRITES, *ACTS):
            assert (await viewer.ask(method, path, json=body)).status == 403, path
        for method, path, body in WRITES:
            assert (await operator.ask(method, path, json=body)).status == 403, path
        for method, path, body in LOOKS:
            assert (await viewer.ask(method, path, json=body)).status in (200, 404), path
        viewer.csrf = "x"
        assert (await viewer.post("/api/v1/cron/preview", json={"cron_args": {}})).status == 403
