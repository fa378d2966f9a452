"""The system as the API tells it: processes, store, settings, the audit log and its filters."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.web.site import BY, Site, serving_services
from watchbell import settings
from watchbell.actors import system
from watchbell.settings import Tables
from watchbell.store import processes
from watchbell.store.client import Store
from watchbell.store.processes import Process, RoleReport
from watchbell.web import audit
from watchbell.web.audit import AuditFilter, Entry, Stamp
from watchbell.web.keys import Web
from watchbell.web.system.setting_descriptions import descriptions


async def test_processes_and_servers_are_told(site: Site, store: Store) -> None:
    role = RoleReport(name="processor", state="failed", words="it fell; again in 2 s", failures=3)
    told = Process(name="a.7.x", host="a", pid=7, version="1.2", roles=[role])
    await processes.report(store, told)
    async with site.program("read") as reader:
        system = (await reader.get("/api/v1/system")).json()
    (shown,) = system["processes"]
    assert (shown["pid"], shown["is_alive"]) == (7, True)
    assert (shown["roles"][0]["state"], shown["roles"][0]["failures"]) == ("failed", 3)
    (server,) = system["servers"]
    assert server["memory"] > 100_000
    assert server["memory_limit"] == 0
    assert server["clients"] >= 1


async def test_settings_say_what_they_are_for_and_which_were_chosen(site: Site) -> None:
    chosen = site.services.settings
    mail = {"user": "watchbell", "host": "mail.example.com", "password": "geheim-1"}
    hidden = replace(
        chosen,
        web=replace(chosen.web, session_days=3),
        gateways=Tables({"email": mail}),
    )
    by_file = {"web.session_days": "/etc/watchbell.toml, line 3", "gateways": "/etc/w, line 9"}
    services = replace(site.services, settings=hidden, origins={"web.port": "default", **by_file})
    async with serving_services(services) as other, other.program("admin") as admin:
        answer = await admin.get("/api/v1/system/settings")
    rows = {one["name"]: one for one in answer.json()}
    assert rows["web.session_days"] == {
        "name": "web.session_days",
        "value": 3,
        "default": 7,
        "is_default": False,
        "origin": "/etc/watchbell.toml, line 3",
        "words": descriptions()["web.session_days"],
    }
    assert rows["web.session_idle_hours"]["is_default"] is True
    assert rows["gateways.email.host"]["is_default"] is False
    assert rows["gateways.email.host"]["origin"] == "/etc/w, line 9"
    assert rows["gateways.email.port"]["is_default"] is True
    assert rows["gateways.email.port"]["origin"] == rows["web.port"]["origin"] == "default"
    assert "geheim" not in answer.text


def test_every_setting_is_described() -> None:
    names = settings.as_shown(settings.Settings(data="/nonexistent"))  # type: ignore[arg-type]
    assert set(descriptions()) == set(names)
    assert descriptions()["web.session_days"].startswith("Days ")


ENTRIES = [
    Entry(time=100, who="alice", action="user.add", subject="bob", details="operator"),
    Entry(time=200, who="alice (key 1f)", action="user.role", subject="bob", details="to viewer"),
    Entry(time=300, who="bob", action="users.other", subject="Straße", address="192.0.2.7"),
    Entry(time=400, who="", action="session.refused", subject="<script>"),
]


@pytest.mark.parametrize(
    ("wanted", "fitting"),
    [
        ({}, [0, 1, 2, 3]),
        ({"who": "alice"}, [0, 1]),
        ({"who": "alice (key 1f)"}, [1]),
        ({"who": "ali"}, []),
        ({"action": "user"}, [0, 1]),
        ({"action": "user.add"}, [0]),
        ({"action": "user."}, []),
        ({"text": "BOB"}, [0, 1, 2]),
        ({"text": "STRASSE"}, [2]),
        ({"text": "192.0.2"}, [2]),
        ({"text": "<Script"}, [3]),
        ({"since": 200}, [1, 2, 3]),
        ({"until": 200}, [0]),
        ({"since": 200, "until": 400, "text": "bob"}, [1, 2]),
    ],
)
def test_entries_are_found_by_who_what_where_and_when(
    wanted: dict[str, Any], fitting: list[int]
) -> None:
    asked = AuditFilter(**wanted)
    assert [n for n, entry in enumerate(ENTRIES) if asked.fits(entry)] == fitting


@given(st.text(), st.text(), st.text())
def test_an_entry_is_found_by_any_part_of_it(before: str, part: str, after: str) -> None:
    assert AuditFilter(text=part).fits(
        Entry(time=1, who="", action="a", subject=before + part + after)
    )


async def test_filters_hold_over_all_pages_of_the_log(site: Site, store: Store) -> None:
    for number in range(2_500):
        who = "charlie" if number % 500 == 0 else "somebody"
        await audit.record(store, Stamp(system(who), number).entry("test.do", str(number)))
    await store.call("XADD", Web().audit(), "*", "e", b"\xff not ours")
    await store.call("XADD", Web().audit(), "*", "other", "x")
    seen: list[str] = []
    cursor: str | None = ""
    async with site.program("admin") as admin:
        while cursor is not None:
            path = f"/api/v1/audit?who=charlie&action=test&limit=2&cursor={cursor}"
            page = (await admin.get(path)).json()
            assert len(page["items"]) <= 2
            seen += [one["subject"] for one in page["items"]]
            cursor = page["next"]
        none = await admin.get("/api/v1/audit?text=nobody%20did%20this")
        wrong = await admin.get("/api/v1/audit?since=soon")
    assert seen == ["2000", "1500", "1000", "500", "0"]
    assert none.json() == {"items": [], "next": None}
    assert wrong.json()["errors"][0]["field"] == "since"


async def test_the_log_is_for_administrators(site: Site) -> None:
    await audit.record(site.store, BY.entry("test.do", "x"))
    async with site.somebody("editor") as alice:
        for path in ("/api/v1/audit", "/api/v1/system/settings", "/api/v1/system/families"):
            assert (await alice.get(path)).status == 403
        assert (await alice.get("/api/v1/system")).status == 200
