"""Account, users, API keys, system, audit log and settings, as people use them."""

import asyncio
import re
import shlex

from playwright.async_api import Page, expect

from tests.browser.house import House
from tests.browser.visits import Visits
from tests.waiting import eventually
from tests.web.site import BY, PASSWORD, Site
from watchbell.actors import system
from watchbell.alerting.keys import Alerting
from watchbell.store import processes
from watchbell.store.client import Store
from watchbell.store.processes import Process, RoleReport
from watchbell.web import audit
from watchbell.web.audit import Stamp
from watchbell.web.people import sign_in_links


async def test_a_user_is_added_comes_in_without_script_and_is_removed(
    site: Site, visit: Visits
) -> None:
    alice = await visit(site, "administrator", "/users", name="alice")
    await alice.get_by_role("button", name="New user").click()
    await expect(alice.get_by_role("textbox", name="Name")).to_be_focused()
    await alice.keyboard.type("Bob!")
    await alice.keyboard.press("Enter")
    visit.forgive("/api/v1/users answered 422")
    await expect(alice.get_by_role("textbox", name="Name")).to_have_attribute(
        "aria-invalid", "true"
    )
    await alice.get_by_role("textbox", name="Name").fill("bob")
    await alice.get_by_label("Role", exact=True).select_option("operator")
    await alice.keyboard.press("Enter")
    dialog = alice.get_by_role("dialog", name="Sign-in link for bob")
    link = await dialog.locator("code").inner_text()
    await alice.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    row = alice.get_by_role("row", name=re.compile("^bob"))
    await expect(row).to_contain_text("not set")

    bob = await visit(site, None, "/sign-in/" + link.rpartition("/")[2], java_script_enabled=False)
    await bob.get_by_role("button", name="Sign in").click()
    await bob.get_by_label("Password").fill(PASSWORD)
    await bob.get_by_role("button", name="Save password").click()
    await expect(bob).to_have_url(f"{site.url}/")

    await alice.get_by_label("Role of bob").select_option("administrator")
    await alice.get_by_role("button", name="Change role").press("Enter")
    await expect(alice.get_by_text("Role of bob changed to administrator.")).to_be_visible()
    await expect(row).to_contain_text("set")
    await row.get_by_role("button", name="Delete bob").click()
    await alice.get_by_role("button", name="Delete", exact=True).click()
    await expect(row).to_have_count(0)
    assert await site.services.users.find("bob") is None


async def test_a_custom_role_is_made_and_given_to_somebody(site: Site, visit: Visits) -> None:
    await site.services.users.add("bob", "viewer", BY)
    alice = await visit(site, "administrator", "/users", name="alice")
    await alice.get_by_role("button", name="New role").click()
    await alice.get_by_role("textbox", name="Title").fill("Backup operators")
    await alice.get_by_role("textbox", name="Id", exact=True).fill("Backup!")
    await alice.get_by_role("checkbox", name="run_jobs").check()
    await alice.get_by_role("button", name="Create", exact=True).click()
    visit.forgive("/api/v1/roles answered 422")
    await expect(alice.get_by_role("textbox", name="Id", exact=True)).to_have_attribute(
        "aria-invalid", "true"
    )
    await alice.get_by_role("textbox", name="Id", exact=True).fill("backup_operators")
    await alice.get_by_role("button", name="Create", exact=True).click()
    roles = alice.get_by_role("table", name="Custom roles")
    await expect(roles.get_by_role("row", name="Backup operators")).to_contain_text("run_jobs")

    await alice.get_by_role("button", name="Access of bob").click()
    await alice.get_by_role("checkbox", name="Backup operators").check()
    await alice.get_by_role("checkbox", name="tag_jobs").check()
    await alice.get_by_role("textbox", name="Only categories").fill("backups, reports")
    await alice.get_by_role("button", name="Save", exact=True).click()
    row = alice.get_by_role("row", name=re.compile("^bob"))
    await expect(row).to_contain_text("Backup operators")
    await expect(row).to_contain_text("tag_jobs")
    await expect(row).to_contain_text("only categories: backups, reports")
    bob = await site.services.users.get("bob")
    assert (bob.roles, bob.privileges, bob.categories) == (
        *(("backup_operators",), ("tag_jobs",), ("backups", "reports")),
    )

    visit.forgive("/api/v1/roles/backup_operators answered 422")
    await alice.get_by_role("button", name="Delete Backup operators").click()
    await alice.get_by_role("button", name="Delete", exact=True).click()
    await expect(alice.get_by_role("alert")).to_contain_text("used by bob")


async def test_a_key_gets_single_privileges_and_limits(site: Site, visit: Visits) -> None:
    page = await visit(site, "operator", "/api-keys", name="bob")
    await page.get_by_role("button", name="New API key").first.click()
    await page.get_by_role("textbox", name="Name").fill("deploy")
    await page.get_by_text("Single privileges and limits").click()
    await expect(page.get_by_role("checkbox", name="delete_jobs")).to_have_count(0)
    await page.get_by_role("checkbox", name="run_jobs").check()
    await page.get_by_role("textbox", name="Only categories").fill("deploy")
    await page.get_by_role("button", name="Create", exact=True).click()
    await page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name=re.compile("^deploy"))
    await expect(row).to_contain_text("run_jobs")
    await expect(row).to_contain_text("only categories: deploy")


async def test_the_only_administrator_can_not_be_removed(site: Site, visit: Visits) -> None:
    alice = await visit(site, "administrator", "/users", name="alice")
    visit.forgive("/api/v1/users/alice answered 422")
    await alice.get_by_role("button", name="Delete alice").click()
    await alice.get_by_role("button", name="Delete", exact=True).click()
    await expect(alice.get_by_role("alert")).to_contain_text("alice is the only administrator")
    await alice.keyboard.press("Escape")
    await expect(alice.get_by_role("button", name="Delete alice")).to_be_focused()


async def test_a_ping_key_works_from_a_shell_until_it_is_revoked(
    house: House, visit: Visits
) -> None:
    page = await visit(
        house, "operator", "/api-keys", permissions=["clipboard-read", "clipboard-write"]
    )
    await expect(page.get_by_text("No API keys yet.")).to_be_visible()
    await page.get_by_role("button", name="New API key").first.click()
    await page.get_by_role("button", name="For a job that pings").click()
    await page.get_by_role("textbox", name="Name").fill("nightly")
    await page.get_by_role("textbox", name="Check").fill("db-1:backup: full")
    await page.get_by_role("button", name="Create", exact=True).click()
    line = await page.locator("dialog code").first.inner_text()
    await page.get_by_role("button", name=re.compile("^Copy: curl")).click()

    async def is_copied() -> bool:
        return bool(await page.evaluate("navigator.clipboard.readText()") == line)

    await eventually(is_copied)
    assert line.startswith("curl -fsS ")
    assert await curl(line) == (0, "OK")
    await page.get_by_role("button", name="Done").click()
    await page.reload()
    row = page.get_by_role("row", name=re.compile("^nightly"))
    await expect(row).to_contain_text(re.compile(r"Last used|ago|just now"))
    await expect(row).not_to_contain_text(line.rpartition("_")[2])
    await row.get_by_role("button", name="Revoke nightly").click()
    await page.get_by_role("button", name="Revoke", exact=True).click()
    await expect(page.get_by_text("No API keys yet.")).to_be_visible()

    async def is_refused() -> bool:
        return (await curl(line))[0] == 22

    await eventually(is_refused, why="a key works for a second at most once it was revoked")


async def curl(line: str) -> tuple[int, str]:
    words = [word for word in shlex.split(line) if not word.startswith("--retry")]
    words.remove("3")
    running = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    said, _ = await running.communicate()
    assert running.returncode is not None
    return running.returncode, said.decode().strip()


async def test_a_viewer_makes_a_key_of_no_more_than_they_may(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/api-keys")
    await page.get_by_role("button", name="New API key").first.click()
    await expect(page.get_by_role("checkbox")).to_have_count(2)  # metrics, read
    await expect(page.get_by_role("button", name="For a job that pings")).to_have_count(0)
    await expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    await page.keyboard.type("look")
    await page.keyboard.press("Enter")
    secret = await page.locator("dialog code").first.inner_text()
    assert await site.services.api_keys.find(secret, site.services.now()) is not None


async def test_a_password_is_changed_and_ends_the_other_sessions(site: Site, visit: Visits) -> None:
    here = await visit(site, "viewer", "/account", name="alice")
    there = await visit(site, "viewer", "/account", name="alice")
    visit.forgive("/api/v1/session/password answered (403|422)|answered 401")
    await here.reload()
    await expect(here.get_by_role("row")).to_have_count(3)
    await here.get_by_label("Password").fill("short")
    await here.get_by_role("button", name="Save password").click()
    await expect(here.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    await here.get_by_label("Password").fill(PASSWORD)
    await here.keyboard.press("Enter")
    await expect(here.get_by_text("Password saved.")).to_be_visible()
    await expect(here.get_by_role("heading", name="Change your password")).to_be_visible()

    await there.reload()
    await expect(there).to_have_url(f"{site.url}/sign-in?next=/account")
    await there.get_by_label("User").fill("alice")
    await there.get_by_label("Password").fill(PASSWORD)
    await there.keyboard.press("Enter")
    await expect(there.get_by_role("heading", name="Account")).to_be_visible()

    await here.reload()
    await here.get_by_label("Current password").fill("wrong")
    await here.get_by_label("New password").fill(PASSWORD + "!")
    await here.keyboard.press("Enter")
    await expect(here.get_by_label("Current password")).to_be_focused()
    await here.get_by_role("button", name="End other sessions").click()
    await here.get_by_role("button", name="End sessions").click()
    await expect(here.get_by_role("row")).to_have_count(2)


async def test_colours_and_time_zone_are_kept_by_the_browser(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/account")
    await page.get_by_role("button", name="Dark").click()
    assert await background(page) == "rgb(16, 20, 27)"
    await page.get_by_label("Time zone").select_option("Asia/Tokyo")
    await expect(page.locator("[data-zone='Asia/Tokyo']")).to_contain_text("GMT+9")
    await page.reload()
    assert await background(page) == "rgb(16, 20, 27)"
    await expect(page.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
    await page.get_by_role("button", name="System").click()
    assert await background(page) == "rgb(246, 247, 249)"


async def background(page: Page) -> str:
    color: str = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    return color


async def test_the_system_page_follows_queues_and_processes(
    site: Site, store: Store, visit: Visits
) -> None:
    failed = RoleReport(
        name="email", state="failed", words="<b>refused</b>; again in 2 s", failures=3
    )
    await processes.report(
        store, Process(name="a.7.x", host="web-2", pid=7, version="9", roles=[failed])
    )
    page = await visit(site, "viewer", "/system")
    await expect(page.get_by_text("1 failed role")).to_be_visible()
    await expect(page.get_by_role("row", name=re.compile("^email"))).to_contain_text(
        "<b>refused</b>; again in 2 s"
    )
    events = page.locator(".queues li", has_text="events")
    await expect(events).to_contain_text("0")
    await store.call("LPUSH", Alerting().events(), *["{}"] * 1_234)
    await expect(events).to_contain_text("1,234")
    await expect(page.get_by_text("Memory by key family")).to_have_count(0)


async def test_memory_is_told_by_family(site: Site, store: Store, visit: Visits) -> None:
    await store.call("LPUSH", Alerting().events(), *["x" * 100] * 500)
    page = await visit(site, "administrator", "/system?tab=memory")
    first = page.get_by_role("row").nth(1)
    await expect(first).to_contain_text("events")
    await page.keyboard.press("/")
    await page.keyboard.type("web_users")
    await expect(page.get_by_role("row")).to_have_count(2)
    await expect(page).to_have_url(re.compile(r"text=web_users"))


async def test_the_audit_log_is_filtered_and_linked_to(
    site: Site, store: Store, visit: Visits
) -> None:
    for number in range(150):
        who = "charlie" if number == 3 else "bob"
        entry = Stamp(system(who), site.services.now() - 2 * 86_400).entry(
            "job.change", f"job-{number}", "x"
        )
        await audit.record(store, entry)
    page = await visit(site, "administrator", "/audit", name="alice")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(100)
    await page.get_by_role("button", name="Load more").click()
    await expect(page.get_by_role("link", name="charlie")).to_be_visible()
    await page.get_by_role("link", name="charlie").click()
    await expect(page).to_have_url(f"{site.url}/audit?who=charlie")
    await expect(rows).to_have_count(1)
    await page.reload()
    await expect(rows).to_have_count(1)
    await page.get_by_role("button", name="Last day").click()
    await expect(page.get_by_text("No entries match these filters.")).to_be_visible()
    await page.get_by_role("button", name="Clear filters").click()
    await expect(rows).to_have_count(100)
    await expect(page).to_have_url(f"{site.url}/audit")


async def test_settings_are_shown_and_found(site: Site, visit: Visits) -> None:
    page = await visit(site, "administrator", "/settings?from=changed")
    await expect(page.get_by_role("row", name=re.compile(r"^web\.port"))).to_contain_text("8180")
    await page.get_by_role("button", name="All").click()
    await page.get_by_role("searchbox").fill("idle")
    await expect(page.get_by_role("row", name=re.compile("session_idle_hours"))).to_contain_text(
        "default"
    )
    await expect(page.locator("tbody tr")).to_have_count(1)


async def test_who_leaves_is_out(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/account")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page).to_have_url(f"{site.url}/sign-in")
    await page.goto("/account")
    await expect(page).to_have_url(f"{site.url}/sign-in?next=/account")
    used = await sign_in_links.make(site.store, await site.services.users.get("viewer"), BY)
    await page.goto(used)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page).to_have_url(f"{site.url}/account/password")
