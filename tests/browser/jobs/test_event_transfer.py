"""Events in a browser: they are imported after a preview, exported, and sorted."""

import json
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.visits import Visits
from tests.web.site import Site
from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions, stock
from watchbell.store.client import Store

CRONTAB = "0 4 * * * /usr/local/bin/tidy\n0 5 * * * /usr/local/bin/sweep\nnonsense\n"


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())


async def define(store: Store, title: str, **more: Any) -> str:
    event = {"title": title, "params": {"script": "true"}, **more}
    made = await definitions.create(store, "event", event, system("tests"), SYSTEM.now())
    return made.id


async def titles(page: Page, expected: list[str]) -> None:
    names = page.get_by_role("table", name="Events").locator("tbody .job-name > a")
    await expect(names).to_have_text(expected)


async def test_a_crontab_is_imported_after_a_preview(
    site: Site, store: Store, visit: Visits
) -> None:
    page = await visit(site, "editor", "/events")
    await page.get_by_role("button", name="Import events").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Crontab").click()
    await dialog.get_by_label("Crontab", exact=True).fill(CRONTAB)
    await dialog.get_by_role("button", name="Preview").click()
    preview = dialog.get_by_role("status", name="Preview")
    await expect(preview).to_contain_text("tidy")
    await expect(preview).to_contain_text("At 04:00 every day")
    await expect(preview).to_contain_text("Line 3")
    assert await definitions.every(store, "event") == {}
    await dialog.get_by_role("button", name="Import 2 items").click()
    await expect(page.get_by_text("2 items created.")).to_be_visible()
    await titles(page, ["sweep", "tidy"])


async def test_what_exists_is_left_out_unless_it_is_to_be_replaced(
    site: Site, store: Store, visit: Visits, tmp_path: Path
) -> None:
    await define(store, "Nightly backup", id="backup", notes="old")
    newer = {"id": "backup", "title": "Nightly backup", "notes": "new", "timings": []}
    file = tmp_path / "events.json"
    file.write_text(json.dumps([newer, {"id": "b", "title": "Broken", "plugin": "gone"}]))
    page = await visit(site, "editor", "/events")
    await page.get_by_role("button", name="Import").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("File").set_input_files(file)
    await dialog.get_by_role("button", name="Preview").click()
    preview = dialog.get_by_role("status", name="Preview")
    await expect(preview).to_contain_text("Exists already and differs")
    await expect(preview).to_contain_text("no plugin 'gone'")
    await expect(dialog.get_by_role("button", name="Preview")).to_be_disabled()
    await dialog.get_by_label("Replace what has the same id").check()
    await expect(preview).to_have_count(0)
    await dialog.get_by_role("button", name="Preview").click()
    await dialog.get_by_role("button", name="Import 1 item").click()
    await expect(page.get_by_text("1 item replaced, 1 item left out.")).to_be_visible()
    record: Any = await definitions.get(store, "event", "backup")
    assert record.notes == "new"
    assert [*await definitions.every(store, "event")] == ["backup"]


async def test_a_file_that_is_none_is_refused_in_the_dialog(site: Site, visit: Visits) -> None:
    visit.forgive("answered 422")
    page = await visit(site, "editor", "/events")
    await page.get_by_role("button", name="Import events").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("JSON of an export").fill("{}")
    await dialog.get_by_role("button", name="Preview").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("this file has no events")


async def test_all_events_or_the_selected_ones_are_exported(
    site: Site, store: Store, visit: Visits
) -> None:
    for name in ("a", "b", "c"):
        await define(store, name.upper(), id=name)
    page = await visit(site, "administrator", "/events")
    assert await exported(page) == {"a", "b", "c"}
    for name in ("a", "c"):
        await page.get_by_role("checkbox", name=f"Select {name}", exact=True).check()
    assert await exported(page, "Actions for the selected events") == {"a", "c"}


async def exported(page: Page, group: str = "") -> set[str]:
    """The ids of the events that a download contains."""
    place = page.get_by_role("group", name=group) if group else page.locator(".page-head")
    async with page.expect_download() as download:
        await place.get_by_role("link", name="Export").click()
    saved = await download.value
    assert saved.suggested_filename == "events.json"
    return event_ids(Path(await saved.path()))


def event_ids(file: Path) -> set[str]:
    items = json.loads(file.read_text())["items"]
    return {one["data"]["id"] for one in items if one["type"] == "event"}


async def test_events_are_sorted_by_their_next_run(site: Site, store: Store, visit: Visits) -> None:
    def yearly(year: int) -> list[dict[str, Any]]:
        return [{"type": "single", "epoch": year * 31_556_952 - 1970 * 31_556_952}]

    await define(store, "Alpha")
    await define(store, "Beta", timings=yearly(2120))
    await define(store, "Gamma", timings=yearly(2110))
    page = await visit(site, "viewer", "/events")
    await titles(page, ["Alpha", "Beta", "Gamma"])
    await page.get_by_label("Sort by").select_option("Next run")
    await titles(page, ["Gamma", "Beta", "Alpha"])
    await page.reload()
    await expect(page.get_by_label("Sort by")).to_have_value("next")
    await titles(page, ["Gamma", "Beta", "Alpha"])
