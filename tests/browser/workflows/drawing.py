"""How a person draws a workflow: with the mouse, a finger or the keyboard."""

import re
from typing import Any

from playwright.async_api import Locator, Page, expect

from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions
from watchbell.store.client import Store


def graph_of(page: Page) -> Locator:
    return page.get_by_role("application", name="Workflow")


def node_named(page: Page, name: str) -> Locator:
    """By the beginning of what screen readers say, such as `Event Backup`."""
    return graph_of(page).get_by_role("button", name=re.compile(f"^{re.escape(name)}"))


def side(page: Page) -> Locator:
    return page.locator(".workflow-side")


async def add(page: Page, kind: str) -> None:
    await page.get_by_label("Add a node", exact=True).select_option(kind)


async def middle(part: Locator) -> tuple[float, float]:
    box = await part.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


async def drag(page: Page, start: Locator, x: float, y: float) -> None:
    await page.mouse.move(*await middle(start))
    await page.mouse.down()
    await page.mouse.move(x - 3, y - 3, steps=3)
    await page.mouse.move(x, y)
    await page.mouse.up()


async def draw_wire(page: Page, source: str, dest: str) -> None:
    port = node_named(page, source).locator("[data-port]")
    x, y = await middle(node_named(page, dest))
    await drag(page, port, x, y)


async def saved(page: Page, store: Store) -> Any:
    """The event that the page shows."""
    await expect(page).to_have_url(re.compile(r"/events/event\?id=\w+$"))
    return await definitions.get(store, "event", page.url.partition("id=")[2].partition("&")[0])


def node(name: str, kind: str, x: int = 0, y: int = 0, **data: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "x": x, "y": y, "data": data}


def wire(source: str, dest: str, condition: str = "") -> dict[str, Any]:
    more = {"condition": condition} if condition else {}
    return {"id": f"{source}_{dest}", "source": source, "dest": dest, **more}


async def define(store: Store, nodes: list[dict[str, Any]], wires: list[dict[str, Any]]) -> str:
    """A workflow that starts on demand at the node `start`, which leads to the first of these."""
    first = nodes[0]["id"]
    event = {
        "title": "Release",
        "type": "workflow",
        "timings": [{"type": "manual", "id": "start"}],
        "workflow": {
            "nodes": [node("start", "trigger"), *nodes],
            "connections": [wire("start", first), *wires],
        },
    }
    made = await definitions.create(store, "event", event, system("tests"), SYSTEM.now())
    return made.id
