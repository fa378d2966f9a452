"""Groups as people see them: tried, saved, filled by hand and deleted."""

from playwright.async_api import expect

from tests.browser.visits import Visits
from tests.fleet.crew import NOW, join
from tests.web.site import Site
from watchbell.fleet import groups, servers
from watchbell.store.client import Store


async def test_a_group_is_created_filled_and_deleted(
    site: Site, store: Store, visit: Visits
) -> None:
    for hostname in ("db-1", "db-2", "web-1"):
        await join(store, hostname)
    visit.forgive("answered 422|status of 422")
    page = await visit(site, "administrator", "/groups")
    await page.get_by_role("button", name="New group").first.click()
    dialog = page.get_by_role("dialog", name="New group")
    await expect(dialog.get_by_label("Title")).to_be_focused()
    await page.keyboard.type("Databases")
    await dialog.get_by_label("Id").fill("db")
    pattern = dialog.get_by_label("Hostname pattern")
    await pattern.fill("(")
    await expect(pattern).to_have_attribute("aria-invalid", "true")
    await pattern.fill("^db-")
    await expect(dialog.get_by_text("Matches 2 servers: db-1, db-2.")).to_be_visible()
    await dialog.get_by_label("Slots per server").fill("3")
    await pattern.press("Enter")
    row = page.get_by_role("table", name="Groups").locator("tbody tr").filter(has_text="Databases")
    await expect(row).to_contain_text("0 of 2 up")
    await row.get_by_role("button", name="Members of Databases").click()
    members = page.get_by_role("dialog", name="Members of Databases")
    await members.get_by_label("web-1", exact=True).check()
    await members.get_by_label("db-2", exact=True).uncheck()
    await expect(members).to_contain_text("will no longer follow hostname patterns")
    await members.get_by_role("button", name="Change 2 servers").click()
    await expect(members).to_have_count(0)
    found = {one.hostname: (one.groups, one.auto_group) for one in await servers.every(store)}
    assert (found["db-1"], found["web-1"]) == ((("db",), True), (("db",), False))
    assert "db" not in found["db-2"][0]
    await row.get_by_role("button", name="Edit Databases").click()
    editor = page.get_by_role("dialog", name="Edit Databases")
    await editor.get_by_label("Title").fill("SQL")
    await editor.get_by_role("button", name="Save").click()
    await expect(editor).to_have_count(0)
    group = await groups.get(store, "db")
    assert (group.title, group.max_jobs_per_server) == ("SQL", 3)
    await page.get_by_role("button", name="Delete SQL").click()
    question = page.get_by_role("dialog", name="Delete SQL?")
    await expect(question).to_contain_text("Events that run on this group alone can't run any more")
    await question.get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("button", name="Delete SQL")).to_have_count(0)
    assert "db" not in {one.id for one in await groups.every(store)}


async def test_a_viewer_reads_groups_on_a_phone(site: Site, store: Store, visit: Visits) -> None:
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    await join(store, "db-1")
    page = await visit(site, "viewer", "/groups", look="phone")
    await expect(page.get_by_text("0 of 1 up")).to_be_visible()
    for name in ("New group", "Edit Databases", "Delete Databases", "Members of Databases"):
        await expect(page.get_by_role("button", name=name)).to_have_count(0)
    await page.get_by_role("link", name="Databases").click()
    await expect(page.get_by_role("table", name="Servers")).to_contain_text("db-1")
