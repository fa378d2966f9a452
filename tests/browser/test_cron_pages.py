"""Cron in a browser: a job is written, run, watched and ended; whatever it prints is text."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.browser.visits import Look, Visits
from tests.cron.crew import READING, definition, put, running, say, serving
from tests.cron.test_job_cache import result
from tests.runs.test_output_store import printed
from tests.waiting import eventually
from tests.web.site import Site
from watchbell.cron import jobs
from watchbell.cron.keys import Cron, CronOwn
from watchbell.store.client import Store
from watchbell.web.assets import files

HOSTILE = "<img src=x onerror=alert(1)>"
NIGHTLY = {"cronstring": "30 2 * * *", "timezone": "Europe/Rome"}


@pytest_asyncio.fixture(loop_scope="session")
async def instance(store: Store, tmp_path: Path) -> AsyncIterator[None]:
    async with serving(store, tmp_path):
        yield


async def ended_run(store: Store, status: str = "success") -> None:
    record = {"job_name": "talks", "start_time": 1_790_000_000, "host": "h", "status": status}
    await store.call("HSET", Cron(store.prefix).runs(), "run", json.dumps(record | {"duration": 2}))


async def lines(page: Page) -> list[str]:
    return await page.locator(".output-text").all_inner_texts()


@pytest.mark.usefixtures("instance")
async def test_a_job_is_written_with_a_live_preview_run_watched_and_terminated(
    site: Site, visit: Visits, tmp_path: Path
) -> None:
    page = await visit(site, "editor", "/cron")
    await page.get_by_role("link", name="New job").first.click()
    await page.get_by_label("Name").fill("count: up/down")
    go = tmp_path / "go"
    command = f"echo first; until [ -e {go} ]; do sleep 0.02; done; echo second; sleep 100"
    await page.get_by_label("Command").fill(command)
    preview = page.get_by_label("Next runs").last
    await page.get_by_label("Schedule").fill("61 * * * *")
    await expect(page.get_by_text("expected a minute from 0 to 59")).to_be_visible()
    await page.get_by_label("Schedule").fill("30 2 * * *")
    await expect(preview).to_contain_text("at 02:30 every day, UTC")
    await page.get_by_label("Time zone").fill("Europe/Rome")
    await expect(preview).to_contain_text("at 02:30 every day, Europe/Rome")
    await expect(preview.get_by_role("listitem")).to_have_count(8)
    await page.get_by_role("button", name="Create job").click()
    await expect(page.get_by_role("heading", name="count: up/down")).to_be_visible()
    await page.get_by_role("button", name="Run now").click()
    await page.get_by_role("table", name="Current runs").get_by_role("link").click()
    await expect(page.get_by_role("log")).to_contain_text("first")
    go.touch()
    await expect(page.get_by_role("log")).to_contain_text("second")
    await page.get_by_role("button", name="Terminate").click()
    await page.get_by_role("dialog").get_by_role("button", name="Terminate").click()
    await expect(page.get_by_text("it was terminated on request; ended by SIGTERM")).to_be_visible()
    await expect(page.get_by_role("button", name="Kill")).to_have_count(0)
    assert await lines(page) == ["first", "second"]


async def test_runs_of_all_jobs_are_filtered_by_how_they_ended(
    site: Site, store: Store, visit: Visits
) -> None:
    for name, verdict in (("good", "success"), ("bad", "fail")):
        await put(store, name, definition("true", NIGHTLY))
        await result(store, name, verdict, 1_790_000_000, f"run-{name}")
        await store.call("ZADD", Cron(store.prefix).results(verdict), 1_790_000_000, f"run-{name}")
    page = await visit(site, "viewer", "/cron?tab=runs")
    rows = page.get_by_role("table", name="Finished runs").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await page.get_by_role("button", name="Failed").click()
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("bad")


async def test_a_job_is_edited_and_nobody_undoes_it_unknowingly(
    site: Site, store: Store, visit: Visits
) -> None:
    await put(store, "backup", definition("true", NIGHTLY, environment={"A": "1"}))
    page = await visit(site, "editor", "/cron/job?name=backup&tab=definition")
    await expect(page.get_by_label("Schedule")).to_have_value("30 2 * * *")
    await page.get_by_label("Schedule").fill("0 3 * * *")
    await page.get_by_label("Missed runs").select_option("once")
    await page.get_by_role("button", name="Save").click()
    await expect(
        page.get_by_text("Saved. It runs at 03:00 every day, Europe/Rome.")
    ).to_be_visible()
    kept = json.loads(await store.call("HGET", Cron(store.prefix).jobs(), "backup"))
    cron_args = {"cronstring": "0 3 * * *", "timezone": "Europe/Rome"}
    assert kept == definition("true", cron_args, environment={"A": "1"}, missed="once")
    await page.get_by_role("link", name="Edit", exact=True).click()
    await jobs.pause(store, "backup", READING)
    await page.get_by_label("Command").fill("false")
    visit.forgive("answered 412")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("button", name="Discard my changes and reload").click()
    await expect(page.get_by_label("Command")).to_have_value("true")


async def test_everything_that_a_definition_can_hold_is_edited_on_the_page(
    site: Site, store: Store, visit: Visits
) -> None:
    await put(store, "train", definition("true", NIGHTLY, hosts=["web-1"], retries=1))
    page = await visit(site, "editor", "/cron/job?name=train&tab=definition")
    await expect(page.get_by_label("Hosts")).to_have_value("web-1")
    await page.get_by_label("Hosts").fill("web-1, web-2")
    await page.get_by_label("Instance tags").fill("gpu")
    await page.get_by_label("Retries").fill("200")
    await expect(page.get_by_text("expected a whole number from 0 to 100")).to_be_visible()
    await page.get_by_label("Retries").fill("3")
    await page.get_by_label("First retry after (seconds)").fill("10")
    await page.get_by_label("Backoff factor").fill("1.5")
    await expect(page.get_by_label("Nice")).to_be_hidden()
    await page.get_by_text("Advanced").click()
    await page.get_by_label("Nice").fill("5")
    await page.get_by_label("Output limit (MiB)").fill("20")
    await page.get_by_label("SIGKILL after SIGTERM (seconds)").fill("3")
    await page.get_by_label("Group").fill("staff")
    await page.get_by_role("group", name="Limits").get_by_role("button", name="Add").click()
    await page.get_by_label("Resource 1", exact=True).fill("nofile")
    await page.get_by_label("Limit 1", exact=True).fill("64")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved. It runs")).to_be_visible()
    kept = json.loads(await store.call("HGET", Cron(store.prefix).jobs(), "train"))
    assert kept["watchbell"] == {
        "hosts": ["web-1", "web-2"],
        "tags": ["gpu"],
        "retries": 3,
        "retry_delay": 10,
        "retry_factor": 1.5,
        "nice": 5,
        "output_limit": 20,
        "kill_after": 3,
        "group": "staff",
        "limits": {"nofile": 64},
    }
    page = await visit(site, "editor", "/cron/job?name=train&tab=definition")
    await expect(page.get_by_label("Nice")).to_have_value("5")


@pytest.mark.usefixtures("instance")
async def test_a_run_that_was_triggered_is_linked_and_a_job_without_a_place_says_why(
    site: Site, store: Store, visit: Visits
) -> None:
    await jobs.save(store, "quick", definition("echo done"), READING)
    await jobs.save(store, "train", definition("true", tags=["gpu"]), READING)
    page = await visit(site, "operator", "/cron/job?name=train")
    await expect(page.get_by_text("no instance may run it")).to_be_visible()
    await page.goto(f"{site.url}/cron/job?name=quick")
    await page.get_by_role("button", name="Run now").click()
    await page.get_by_role("status").get_by_role("link", name=re.compile("^run ")).click()
    await expect(page.get_by_role("log")).to_contain_text("done")


async def test_a_retried_run_says_which_attempt_it_is(
    site: Site, store: Store, visit: Visits
) -> None:
    await ended_run(store, "fail")
    detail = {"why": "retry", "attempt": 2, "attempts": 3, "retry_at": 1_790_000_060}
    await store.call("HSET", CronOwn(store.prefix).details(), "run", json.dumps(detail))
    page = await visit(site, "viewer", "/cron/run?id=run")
    await expect(page.get_by_text("2 of 3, next attempt")).to_be_visible()
    await expect(page.get_by_text("retry after a failure")).to_be_visible()


async def test_whatever_a_run_prints_is_text_with_colours(
    site: Site, store: Store, visit: Visits
) -> None:
    await ended_run(store)
    await printed(store, [1], f"\x1b[1;31m{HOSTILE}\x1b[0m plain".encode() + b"\n")
    await printed(store, [2], b"\x1b]0;title\x07\x1b[2Jcleared \xff \x1b[38;5;196mred\n")
    await printed(store, range(3, 6), b"%d0 %%\r")
    await printed(store, [6], b"all done\r\n")
    page = await visit(site, "viewer", "/cron/run?id=run")
    await expect(page.get_by_role("log")).to_contain_text("all done")
    assert await lines(page) == [
        f"{HOSTILE} plain",
        "cleared \N{REPLACEMENT CHARACTER} red",
        "all done",
    ]
    await expect(page.locator(".ansi-bold.ansi-red")).to_have_text(HOSTILE)
    await expect(page.locator(".ansi-bright-red")).to_have_text("red")
    assert await page.locator(".output img").count() == 0
    await page.get_by_label("Timestamps").check()
    await expect(page.locator(".output-time").first).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))


SPANS: list[tuple[str, list[tuple[str, str]]]] = [
    ("plain", [("plain", "")]),
    ("\x1b[31mred\x1b[0m x", [("red", "ansi-red"), (" x", "")]),
    (
        "\x1b[1;4;92ma\x1b[22;39mb",
        [("a", "ansi-bold ansi-underline ansi-bright-green"), ("b", "ansi-underline")],
    ),
    (
        "\x1b[38;2;10;200;10mg\x1b[48;5;250mh",
        [("g", "ansi-green"), ("h", "ansi-green ansi-on-white")],
    ),
    ("\x1b]8;;https://example.com\x07link\x1b]8;;\x1b\\", [("link", "")]),
    ("\x1b[2J\x1b[10;10Hx\x1b[?25l\x1b(B", [("x", "")]),
    ("10%\r20%\r", [("20%", "")]),
    ("ab\bc\x07\x00", [("ac\N{SYMBOL FOR NULL}", "")]),
    ("\x1b[999;38;5;999;38;9mx\x1b[1\x1b", [("x", "")]),
    (HOSTILE, [(HOSTILE, "")]),
    ("", []),
]


async def test_what_steers_terminals_becomes_spans_of_known_classes(
    site: Site, visit: Visits
) -> None:
    page = await visit(site, "viewer", "/cron")
    given = [files().url("app/runs/ansi.js"), [text for text, _ in SPANS]]
    found = await page.evaluate(
        "async ([url, texts]) => { const { spans } = await import(url); return texts.map(spans); }",
        given,
    )
    told = [[(span["text"], span["look"]) for span in spans] for spans in found]
    assert told == [spans for _, spans in SPANS]


async def test_a_hundred_thousand_lines_are_scrolled_and_searched(
    site: Site, store: Store, visit: Visits
) -> None:
    await ended_run(store)
    for first in range(1, 100_001, 10_000):
        await printed(store, range(first, first + 10_000))
    page = await visit(site, "viewer", "/cron/run?id=run")
    log = page.get_by_role("log")
    await expect(log).to_contain_text("line 100000")
    await log.evaluate("element => { element.scrollTop = element.scrollHeight / 2; }")
    await expect(log).to_contain_text("line 50001")
    assert await page.locator(".output-line").count() < 150
    await page.keyboard.press("/")
    await page.keyboard.type("LINE 7777")
    await expect(page.get_by_text("1 of 11")).to_be_visible()
    await expect(page.locator(".output-found")).to_contain_text("line 7777")
    await page.keyboard.press("Enter")
    await page.keyboard.press("n")
    await expect(page.locator(".output-found")).to_contain_text("line 77770")
    await page.keyboard.press("Shift+N")
    await expect(page.locator(".output-found mark")).to_have_text("line 7777")
    await page.keyboard.press("w")
    await expect(page.locator(".output-found mark")).to_be_in_viewport()


async def resting(log: Locator) -> float:
    """Where it is scrolled to, once a wheel's turn has come to its end."""
    place = -1.0

    async def rests() -> bool:
        nonlocal place
        before, place = place, await log.evaluate("element => element.scrollTop")
        await log.evaluate("() => new Promise(requestAnimationFrame)")
        return bool(before == place)

    await eventually(rests)
    return place


@pytest.mark.usefixtures("instance")
async def test_following_stops_where_one_scrolls_up_and_goes_on_at_the_end(
    site: Site, store: Store, visit: Visits
) -> None:
    counts = definition("i=0; while sleep 0.02; do i=$((i+1)); echo step $i; done")
    await jobs.save(store, "chatty", counts, READING)
    await say(store, "trigger", "chatty")
    run = (await running(store, "chatty"))[0].id
    page = await visit(site, "operator", f"/cron/run?id={run}")
    log = page.get_by_role("log")
    # Of the lines only the last are drawn; which those are depends on when one looks.
    await expect(log).to_contain_text(re.compile(r"step ([6-9]\d|\d{3,})\D"))
    await log.hover()
    await page.mouse.wheel(0, -400)
    await expect(page.get_by_label("Follow")).not_to_be_checked()
    place = await resting(log)
    total = page.locator(".output-ways .soft")
    before = await total.inner_text()
    await expect(total).not_to_have_text(before)
    assert await log.evaluate("element => element.scrollTop") == place
    await page.get_by_role("button", name="Jump to end").click()
    await expect(page.get_by_label("Follow")).to_be_checked()
    await page.get_by_role("button", name="Kill").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("can't clean up")
    await dialog.get_by_role("button", name="Kill").click()
    await expect(page.get_by_text("it was killed on request")).to_be_visible()


@pytest.mark.parametrize("look", ["desktop", "phone", "dark"])
async def test_jobs_are_listed_filtered_and_paused_by_keyboard(
    site: Site, store: Store, visit: Visits, look: Look
) -> None:
    await put(store, HOSTILE, definition("echo hello", NIGHTLY))
    await put(store, "tidy", definition("rm -r /tmp/old"))
    await put(store, "broken", {"cron_args": {}})
    for n in range(5):
        await result(store, "tidy", "fail" if n == 4 else "success", 1_790_000_000 + n, f"r{n}")
    page = await visit(site, "operator", "/cron", look=look)
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    await expect(rows).to_have_count(3)
    await expect(rows.filter(has_text=HOSTILE)).to_contain_text("at 02:30 every day, Europe/Rome")
    await expect(rows.filter(has_text="broken")).to_contain_text("cron_args")
    spark = rows.filter(has_text="tidy").get_by_role("img", name="4 succeeded, 1 failed")
    await expect(spark).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("tidy")
    await expect(page).to_have_url(re.compile(r"\?text=tidy"))
    await expect(rows).to_have_count(1)
    await page.keyboard.press("Enter")
    for key in ("j", "x"):
        await page.keyboard.press(key)
    await page.get_by_role("button", name="Pause", exact=True).click()
    await expect(page.get_by_text("1 job paused.")).to_be_visible()
    await expect(rows).to_contain_text("paused")
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert await page.evaluate(fits)


async def test_viewers_are_offered_nothing_that_they_may_not_do(
    site: Site, store: Store, visit: Visits
) -> None:
    await put(store, "secret", definition("true", NIGHTLY, environment={"TOKEN": "hunter2"}))
    page = await visit(site, "viewer", "/cron")
    await expect(page.get_by_role("link", name="secret")).to_be_visible()
    for name in ("New job", "Export"):
        await expect(page.get_by_role("link", name=name)).to_have_count(0)
    await page.get_by_role("link", name="secret").click()
    await expect(page.get_by_role("button", name="Run now")).to_have_count(0)
    await page.get_by_role("link", name="Definition").click()
    await expect(page.get_by_text("TOKEN")).to_be_visible()
    assert "hunter2" not in await page.content()


async def test_a_crontab_is_looked_at_and_imported(site: Site, store: Store, visit: Visits) -> None:
    page = await visit(site, "editor", "/cron")
    await page.get_by_role("button", name="Import a crontab").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Crontab").fill(
        "0 4 * * * /usr/bin/tidy\n@reboot hello\n"
    )
    await dialog.get_by_role("button", name="Preview").click()
    await expect(dialog).to_contain_text("at 04:00 every day, UTC")
    await expect(dialog).to_contain_text("Line 2")
    await dialog.get_by_role("button", name="Import 1 job").click()
    await expect(page.get_by_role("link", name="tidy").first).to_be_visible()
    assert await store.call("HEXISTS", Cron(store.prefix).jobs(), "tidy")


async def test_an_output_that_is_forgotten_leaves_its_last_lines(
    site: Site, store: Store, visit: Visits
) -> None:
    keys = Cron(store.prefix)
    record = {"job_name": "a", "start_time": 1, "host": "h", "status": "fail", "retcode": 127}
    told = record | {"duration": 1, "output": "sh: backup: not found\n"}
    await store.call("HSET", keys.runs(), "run", json.dumps(told))
    page = await visit(site, "viewer", "/cron/run?id=run")
    await expect(page.get_by_text("exit code 127: the command was not found")).to_be_visible()
    await expect(page.get_by_text("sh: backup: not found")).to_be_visible()
