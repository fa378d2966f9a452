"""Workflows are drawn, run and watched in a browser, break, and are run again from a node."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect

from tests.browser.house import House
from tests.browser.jobs import test_event_pages
from tests.browser.jobs.test_job_pages import banner
from tests.browser.visits import Visits
from tests.browser.workflows import drawing
from tests.browser.workflows.drawing import add, draw_wire, node, node_named, side, wire
from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions


def waits_for(gate: Path, then: str = "true") -> str:
    return f"#!/bin/sh\necho waiting\nuntil [ -e {gate} ]; do sleep 0.05; done\n{then}\n"


def printing(data: Any) -> str:
    """A script whose job passes on this data."""
    return f"#!/bin/sh\necho '{json.dumps({'data': data})}'\n"


def job(name: str, x: int, script: str, y: int = 0) -> dict[str, Any]:
    return node(
        name, "job", x, y, label=name.capitalize(), plugin="shellplug", params={"script": script}
    )


async def run_now(page: Page, event: str) -> None:
    await page.goto(f"/events/event?id={event}")
    await page.get_by_role("button", name="Run now").click()
    async with page.expect_response(lambda one: one.url.endswith("/run")) as answer:
        await page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    launched = await (await answer.value).json()
    await page.goto(f"/jobs/job?id={launched['id']}")


async def test_a_workflow_is_drawn_run_and_watched(
    house: House, visit: Visits, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    script = waits_for(gate, 'echo \'{"data": {"hosts": ["a", "b"]}}\'')
    first = await test_event_pages.define(house.store, "Collect", params={"script": script})
    page = await visit(house, "editor", "/events/new?type=workflow")
    await page.get_by_label("Title", exact=True).fill("Release")
    await add(page, "event")
    await side(page).get_by_label("Event", exact=True).select_option(first)
    await add(page, "split")
    await side(page).get_by_label("List").fill("data.hosts")
    for label in ("Check", "Report"):
        await add(page, "job")
        await side(page).get_by_label("Label").fill(label)
        await side(page).get_by_label("Script", exact=True).fill(f"#!/bin/sh\necho {label} it\n")
        if label == "Check":
            await add(page, "join")
    await page.get_by_role("button", name="Fit everything").click()
    before = ("Trigger On demand", "Event Collect", "Controller Split", "Job Check")
    for source, dest in pairwise((*before, "Controller Join", "Job Report")):
        await draw_wire(page, source, dest)
    await page.get_by_role("button", name="Create workflow").click()
    event = await drawing.saved(page, house.store)
    await run_now(page, event.id)
    await expect(node_named(page, "Event Collect, runs after Start: running")).to_be_visible()
    await expect(node_named(page, "Job Report, runs after Join: not run yet")).to_be_visible()
    await node_named(page, "Event Collect").click()
    await expect(side(page).get_by_role("log")).to_contain_text("waiting")
    gate.touch()
    await expect(node_named(page, "Job Check, runs after Split: done, 2 jobs")).to_be_visible()
    await expect(node_named(page, "Job Report, runs after Join: done")).to_be_visible()
    await expect(banner(page)).to_contain_text("Succeeded")
    await node_named(page, "Job Check").click()
    jobs = side(page).get_by_role("list", name="Jobs").get_by_role("listitem")
    await expect(jobs).to_have_count(2)
    await jobs.last.get_by_role("button", name="Output of").click()
    await expect(side(page).get_by_role("log")).to_contain_text("Check it")
    await page.goto(f"/events/event?id={event.id}")
    runs = page.get_by_role("table", name="Jobs").get_by_role("row")
    await expect(runs).to_have_count(2)  # the heading and the run, without the jobs of nodes


async def test_a_broken_node_is_mended_and_run_again_from_there(
    house: House, visit: Visits, tmp_path: Path
) -> None:
    flag = tmp_path / "mended"
    count = tmp_path / "count"
    nodes = [
        job("first", 300, f"#!/bin/sh\necho x >> {count}\n"),
        job("second", 600, f"#!/bin/sh\n[ -e {flag} ] || exit 3\n"),
        job("third", 900, "#!/bin/sh\necho at last\n"),
    ]
    wires = [wire("first", "second"), wire("second", "third")]
    await test_event_pages.define(house.store, "Other")
    name = await drawing.define(house.store, nodes, wires)
    page = await visit(house, "operator")
    await run_now(page, name)
    second = node_named(page, "Job Second, runs after First on success: failed")
    await expect(second).to_be_visible()
    await expect(
        node_named(page, "Job Third, runs after Second on success: not run")
    ).to_be_visible()
    await second.click()
    await expect(side(page)).to_contain_text("3")
    flag.touch()
    before = page.url
    await side(page).get_by_role("button", name="Run again from here").click()
    await expect(page).not_to_have_url(before)
    await expect(node_named(page, "Job Third, runs after Second on success: done")).to_be_visible()
    reused = "Job First, runs after Start: result of an earlier run"
    await expect(node_named(page, reused)).to_be_visible()
    assert count.read_text() == "x\n"


async def test_jobs_that_could_not_be_launched_are_listed(house: House, visit: Visits) -> None:
    first = await test_event_pages.define(house.store, "Collect")
    nodes = [
        node("twice", "controller", controller="repeat", repeat=2),
        node("collect", "event", 300, event=first),
    ]
    name = await drawing.define(house.store, nodes, [wire("twice", "collect")])
    change = {"enabled": False}
    await definitions.update(house.store, "event", first, change, system("tests"), SYSTEM.now())
    page = await visit(house, "operator")
    await run_now(page, name)
    await node_named(page, "Event Collect, runs after Repeat: failed").click()
    jobs = side(page).get_by_role("list", name="Jobs").get_by_role("listitem")
    await expect(jobs).to_have_count(2)
    await expect(jobs.last).to_contain_text("Not launched")
    await expect(jobs.last).to_contain_text("the event is disabled")
    await expect(side(page).locator("[aria-current]")).to_have_count(0)


async def test_a_run_is_suspended_and_resumed_and_its_end_is_shown(
    house: House, visit: Visits, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    nodes = [
        job("collect", 0, waits_for(gate)),
        node("join", "controller", 0, 0, controller="join", label="Join"),
        job("report", 0, "#!/bin/sh\necho at last\n"),
    ]
    wires = [wire("collect", "join"), wire("join", "report")]
    await test_event_pages.define(house.store, "Other")
    name = await drawing.define(house.store, nodes, wires)
    page = await visit(house, "operator")
    await run_now(page, name)
    await page.get_by_role("button", name="Suspend").click()
    resume = page.get_by_role("button", name="Resume", exact=True)
    await expect(resume).to_be_visible()
    gate.touch()
    held = "Controller Join, runs after Collect on success: held back"
    await expect(node_named(page, held)).to_be_visible()
    await resume.click()
    await expect(banner(page)).to_contain_text("Succeeded")
    await expect(node_named(page, "Job Report, runs after Join: done")).to_be_visible()
    await expect(resume).to_have_count(0)
