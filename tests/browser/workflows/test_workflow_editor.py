"""Workflows are drawn with mouse, keyboard and finger, checked while they are edited, and saved."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.jobs import test_event_pages
from tests.browser.jobs.test_event_pages import FITS, HOSTILE
from tests.browser.visits import Visits
from tests.browser.workflows import drawing
from tests.browser.workflows.drawing import (
    add,
    drag,
    draw_wire,
    graph_of,
    middle,
    node,
    node_named,
    side,
    wire,
)
from tests.web.site import Site
from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions, stock
from watchbell.store.client import Store

JOB = {"plugin": "shellplug", "params": {"script": "#!/bin/sh\necho hi\n"}}
TWO = [
    node("a", "job", 300, 0, label="Build", **JOB),
    node("b", "job", 600, 0, label="Test", **JOB),
]


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())


def edges(event: Any) -> set[tuple[str, str, str]]:
    """The wires of a workflow, with labels in place of ids."""
    names = {one.id: one.data.get("label") or one.controller or one.type for one in event.nodes}
    return {(names[one.source], names[one.dest], one.condition) for one in event.connections}


async def test_a_workflow_of_five_nodes_is_drawn_with_the_mouse(
    site: Site, store: Store, visit: Visits
) -> None:
    backup = await test_event_pages.define(store, "Backup")
    page = await visit(site, "editor", "/events")
    await page.get_by_role("link", name="New workflow").click()
    await page.get_by_label("Title", exact=True).fill("Release")
    await add(page, "event")
    await expect(page.get_by_role("listitem").filter(has_text="needs it")).to_have_count(0)
    await side(page).get_by_label("Event", exact=True).select_option(backup)
    await side(page).get_by_label("Label").fill("Save it")
    for label in ("Build", "Test"):
        await add(page, "job")
        await side(page).get_by_label("Label").fill(label)
    await add(page, "action")
    await side(page).get_by_label("Mail addresses").fill("alice@example.com")
    await page.get_by_role("button", name="Fit everything").click()
    x, y = await middle(node_named(page, "Action Send a mail"))
    await drag(page, node_named(page, "Action Send a mail"), x, y + 90)
    await draw_wire(page, "Trigger On demand", "Event Save it")
    await draw_wire(page, "Event Save it", "Job Build")
    await draw_wire(page, "Job Build", "Job Test")
    await draw_wire(page, "Job Build", "Action Send a mail")
    await side(page).get_by_label("When it fires").select_option("error")
    await draw_wire(page, "Job Test", "Job Build")
    await expect(page.get_by_text("That would be a cycle.")).to_be_visible()
    await expect(node_named(page, "Job Test, runs after Build on success")).to_be_visible()
    await graph_of(page).click(position={"x": 5, "y": 5})
    await expect(side(page)).to_contain_text("No problems found")
    await page.get_by_role("button", name="Create workflow").click()
    event = await drawing.saved(page, store)
    assert edges(event.workflow) == {
        ("trigger", "Save it", ""),
        ("Save it", "Build", ""),
        ("Build", "Test", ""),
        ("Build", "action", "error"),
    }
    places = {one.type: (one.x, one.y) for one in event.workflow.nodes}
    assert all(x % 20 == 0 and y % 20 == 0 for x, y in places.values())
    assert (event.type, event.timings[0].type) == ("workflow", "manual")
    await page.goto("/events")
    await expect(page.get_by_role("row").filter(has_text="Release")).to_contain_text("Workflow")


async def wire_by_keys(page: Page, source: str, dest: str) -> None:
    """From the first node with this title."""
    press = page.keyboard.press
    first = node_named(page, f"Job {source}").first
    await first.focus()
    await press("ArrowRight")
    await press("ArrowLeft")
    await expect(first).to_be_focused()
    await press("c")
    said = page.locator(".workflow-said")
    await expect(said).to_contain_text(f"Wire from {source} to")
    for _ in range(4):
        if f"to {dest}." in await said.inner_text():
            break
        await press("Tab")
    await press("Enter")
    await expect(node_named(page, f"Limit {dest}, belongs to {source}")).to_have_count(1)


async def test_a_workflow_is_drawn_with_the_keyboard_alone(
    site: Site, store: Store, visit: Visits
) -> None:
    page = await visit(site, "editor", "/events/new?type=workflow")
    await page.get_by_label("Title", exact=True).fill("By hand")
    press = page.keyboard.press
    await node_named(page, "Trigger On demand").focus()
    await press("Enter")
    await expect(side(page).get_by_label("Starts")).to_be_focused()
    for kind in ("job", "decision", "job"):
        # What follows is added from the panel of the node before.
        await side(page).get_by_label("Add a node after it").focus()
        await side(page).get_by_label("Add a node after it").select_option(kind)
        await expect(graph_of(page).locator("[data-node]:focus")).to_have_count(1)
        await press("Enter")
        if kind == "decision":
            await side(page).get_by_label("Condition", exact=True).focus()
            await page.keyboard.type("data.ok")
    await add(page, "limit")
    await expect(node_named(page, "Limit Time")).to_be_focused()
    await press("Shift+ArrowDown")
    await wire_by_keys(page, "Shell script", "Time")
    await press("c")
    await press("Escape")
    await expect(page.locator(".workflow-said")).not_to_contain_text("Wire from")
    await press("d")
    await expect(graph_of(page).locator("[data-node]")).to_have_count(6)
    await press("Delete")
    await expect(graph_of(page).locator("[data-node]")).to_have_count(5)
    await page.get_by_label("Title", exact=True).focus()
    await press("Enter")
    event = await drawing.saved(page, store)
    assert {(one[0], one[1]) for one in edges(event.workflow)} == {
        ("trigger", "job"),
        ("job", "decision"),
        ("decision", "job"),
        ("job", "limit"),
    }


async def test_edits_are_undone_copied_and_pasted(site: Site, store: Store, visit: Visits) -> None:
    name = await drawing.define(store, TWO, [wire("a", "b", "complete")])
    page = await visit(site, "editor", f"/events/event?id={name}&tab=edit")
    boxes = graph_of(page).locator("[data-node]")
    await expect(boxes).to_have_count(3)
    press = page.keyboard.press
    await node_named(page, "Job Build").click()
    await side(page).get_by_label("Label").press("End")
    await side(page).get_by_label("Label").press_sequentially(" it")
    await node_named(page, "Job Build it").focus()
    await press("Delete")
    await expect(boxes).to_have_count(2)
    await press("Control+z")
    await expect(node_named(page, "Job Test, runs after Build it however it ends")).to_be_visible()
    await press("Control+z")
    await expect(node_named(page, "Job Build,")).to_be_visible()
    await press("Control+Shift+z")
    await press("Control+Shift+z")
    await expect(boxes).to_have_count(2)
    await press("Control+z")
    await press("Control+a")
    await press("Control+c")
    await press("Control+v")
    await expect(boxes).to_have_count(6)
    await press("Control+x")
    await expect(boxes).to_have_count(3)
    await page.get_by_text("Commands", exact=True).click()
    await page.get_by_role("button", name="Paste").click()
    await expect(boxes).to_have_count(6)
    await page.get_by_role("button", name="Undo", exact=True).click()
    await expect(boxes).to_have_count(3)
    await page.get_by_role("button", name="Arrange").click()
    await page.get_by_role("button", name="Save", exact=True).click()
    event = await drawing.saved(page, store)
    assert edges(event.workflow) == {("trigger", "Build it", ""), ("Build it", "Test", "complete")}
    assert event.revision == 2


async def test_a_wire_with_the_id_of_a_node_stays_when_the_node_is_deleted(
    site: Site, store: Store, visit: Visits
) -> None:
    nodes = [*TWO, node("a_b", "job", 600, 200, label="Third", **JOB)]
    name = await drawing.define(store, nodes, [wire("a", "b"), wire("b", "a_b")])
    page = await visit(site, "editor", f"/events/event?id={name}&tab=edit")
    await node_named(page, "Job Third").focus()
    await page.keyboard.press("Delete")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("status").get_by_text("Saved")).to_be_visible()
    event = await drawing.saved(page, store)
    assert {(one.source, one.dest) for one in event.workflow.connections} == {
        ("start", "a"),
        ("a", "b"),
    }


async def test_what_is_wrong_is_shown_at_its_node_and_in_a_list(
    site: Site, store: Store, visit: Visits
) -> None:
    name = await drawing.define(store, TWO, [wire("a", "b")])
    page = await visit(site, "editor", f"/events/event?id={name}&tab=edit")
    await add(page, "split")
    split = node_named(page, "Controller Split")
    await expect(split).to_have_accessible_name(re.compile("needs"))
    await expect(side(page).get_by_label("List")).to_have_attribute("aria-invalid", "true")
    await side(page).get_by_label("List").fill("data.items +")
    await expect(side(page).get_by_label("List")).to_have_attribute("aria-invalid", "true")
    await expect(side(page)).to_contain_text("expected a value")
    await graph_of(page).click(position={"x": 5, "y": 5})
    problems = side(page).get_by_role("list", name="Problems").get_by_role("listitem")
    await expect(problems.first).to_be_visible()
    visit.forgive("answered 422")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(side(page).get_by_label("List")).to_be_visible()
    await expect(side(page).get_by_label("List")).to_have_value("data.items +")


async def test_nobody_overwrites_a_workflow_that_somebody_else_saved(
    site: Site, store: Store, visit: Visits
) -> None:
    name = await drawing.define(store, TWO, [wire("a", "b")])
    page = await visit(site, "editor", f"/events/event?id={name}&tab=edit")
    await node_named(page, "Job Test").click()
    await side(page).get_by_label("Label").fill("Mine")
    theirs = {"notes": "Theirs."}
    await definitions.update(store, "event", name, theirs, system("bob"), SYSTEM.now())
    visit.forgive("answered 412")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("somebody else changed this event")).to_be_visible()
    await page.get_by_role("button", name="Discard my changes and reload").click()
    await expect(node_named(page, "Job Test")).to_be_visible()
    await expect(page.get_by_label("Notes")).to_have_value("Theirs.")


async def finger(page: Page) -> Callable[..., Awaitable[None]]:
    session = await page.context.new_cdp_session(page)

    async def touch(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)]
        await session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    return touch


@pytest.mark.parametrize("width", [375])
async def test_a_finger_draws_moves_and_zooms_on_a_phone(
    site: Site, store: Store, visit: Visits, width: int
) -> None:
    near = [node("a", "job", 0, 160, label=HOSTILE, **JOB)]
    name = await drawing.define(store, near, [])
    page = await visit(
        site,
        "editor",
        f"/events/event?id={name}&tab=edit",
        look="dark phone",
        viewport={"width": width, "height": 740},
    )
    await add(page, "job")
    await side(page).get_by_label("Label").fill("Test")
    await graph_of(page).scroll_into_view_if_needed()
    assert await page.evaluate(FITS)
    await page.get_by_role("button", name="Fit everything").click()
    await graph_of(page).evaluate("element => element.scrollIntoView({block: 'center'})")
    touch = await finger(page)
    start = await middle(node_named(page, "Job <img").locator("[data-port]"))
    end = await middle(node_named(page, "Job Test"))
    await touch("touchStart", start)
    await touch("touchMove", (end[0] - 5, end[1] - 5))
    await touch("touchMove", end)
    await touch("touchEnd")
    await expect(node_named(page, "Job Test, runs after <img")).to_be_visible()
    world = page.locator(".graph-world")
    before = await world.get_attribute("style")
    x, y = await middle(graph_of(page))
    await touch("touchStart", (x - 20, y + 80), (x + 20, y + 80))
    await touch("touchMove", (x - 60, y + 80), (x + 60, y + 80))
    await touch("touchEnd")
    await expect(world).not_to_have_attribute("style", before or "")
    assert await page.evaluate(FITS)


async def test_viewers_see_the_graph_and_can_change_nothing(
    site: Site, store: Store, visit: Visits
) -> None:
    secret = {"id": "token", "type": "text", "secret": True}
    plugin = {"id": "deploy", "title": "Deploy", "command": "/bin/true", "params": [secret]}
    await definitions.create(store, "plugin", plugin, system("tests"), SYSTEM.now())
    hidden = node("d", "job", 300, 0, plugin="deploy", params={"token": "hunter2"})
    name = await drawing.define(store, [hidden, *TWO[1:]], [wire("d", "b", "error")])
    page = await visit(site, "viewer", f"/events/event?id={name}")
    test = node_named(page, "Job Test, runs after Deploy on any failure")
    await expect(test).to_be_visible()
    before = await test.get_attribute("style")
    x, y = await middle(test)
    await drag(page, test, x + 60, y + 60)
    await expect(test).to_have_attribute("style", before or "")
    await expect(graph_of(page).locator("[data-port]")).to_have_count(0)
    await expect(page.get_by_label("Add a node")).to_have_count(0)
    await node_named(page, "Job Deploy").focus()
    await page.keyboard.press("Delete")
    await page.keyboard.press("ArrowRight")
    await expect(test).to_be_focused()
    await expect(side(page)).to_contain_text("From Deploy, on any failure")
    assert "hunter2" not in await page.content()


async def test_two_hundred_nodes_are_dragged_without_drawing_the_others(
    site: Site, store: Store, visit: Visits
) -> None:
    many = [
        node(f"n{i}", "job", i % 20 * 300, i // 20 * 100, label=f"N{i}", **JOB) for i in range(200)
    ]
    wires = [wire(f"n{i - 1}", f"n{i}") for i in range(1, 200)]
    name = await drawing.define(store, many, wires)
    page = await visit(site, "editor", f"/events/event?id={name}&tab=edit")
    await expect(graph_of(page).locator("[data-node]")).to_have_count(201)
    await page.evaluate(
        """() => {
          window.changed = new Set();
          new MutationObserver((records) => records.forEach((one) => {
            const node = one.target.closest?.("[data-node]");
            if (node) changed.add(node.dataset.node);
          })).observe(document.querySelector(".graph"), {
            subtree: true, attributes: true, childList: true,
          });
        }"""
    )
    x, y = await middle(node_named(page, "Job N1,"))
    await drag(page, node_named(page, "Job N1,"), x + 90, y + 90)
    changed = json.loads(await page.evaluate("JSON.stringify([...changed])"))
    assert set(changed) <= {"n1", "start"}
