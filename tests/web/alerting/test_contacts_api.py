"""Contacts over HTTP: made, changed, linked, tested, imported; and by nobody who may not."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.web.site import Site, Visitor
from watchbell.alerting import contact_links, contacts, entities
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert, Contact, Medium, Rule
from watchbell.clock import SetClock
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.alerting.directory_cache import DirectoryCache

KEYS = Alerting()
ALICE: dict[str, Any] = {
    "id": "alice",
    "first_name": "Alice",
    "last_name": "Archer",
    "email": "alice@example.com",
    "timezone": "Europe/Rome",
    "tags": ["ops", "eu"],
    "media": {
        "email": {"address": "alice@example.com", "interval": 300, "rollup_threshold": 5},
        "sms": {"address": "+390551234567"},
    },
    "pagerduty": {"subdomain": "example", "password": "hunter2-geheim"},
}


def body(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in (ALICE | changes).items() if name != "id"}


async def made(editor: Visitor, **changes: Any) -> Any:
    answer = await editor.post("/api/v1/contacts", json=ALICE | changes)
    assert answer.status == 201, answer.text
    return answer.json()


async def actions(store: Store) -> list[tuple[str, str, str]]:
    logged = [one.entry for one in await audit.read(store, "", 20)]
    ours = [one for one in logged if one.action.startswith(("contact", "rule"))]
    return [(one.action, one.subject, one.details) for one in reversed(ours)]


async def test_a_contact_is_made_read_changed_and_removed(site: Site, store: Store) -> None:
    async with site.somebody("editor") as editor:
        first = await made(editor)
        assert (first["zone"], first["tags"]) == ("Europe/Rome", ["eu", "ops"])
        assert first["media"]["sms"] == {
            "address": "+390551234567",
            "interval": 900,
            "rollup_threshold": 0,
        }
        assert (await editor.get("/api/v1/contact?id=alice")).json() == first
        change = body(last_name="", tags=["ops"], media={"email": {"address": "a@example.com"}})
        after = await editor.ask("PUT", "/api/v1/contact?id=alice", json=change)
        assert (after.status, after.json()["tags"]) == (200, ["ops"])
        [stored] = await contacts.everybody(store)
        assert stored.media == {"email": Medium(address="a@example.com")}
        assert (await editor.ask("DELETE", "/api/v1/contact?id=alice")).status == 204
        assert (await editor.get("/api/v1/contact?id=alice")).status == 404
        assert (await editor.ask("DELETE", "/api/v1/contact?id=alice")).status == 404
    assert await contacts.all_ids(store) == []
    assert await actions(store) == [
        ("contact.add", "alice", ""),
        ("contact.change", "alice", "last_name, tags, media.email, media.sms"),
        ("contact.remove", "alice", ""),
    ]


async def test_a_secret_is_never_shown_and_stays_where_it_is_not_given_anew(
    site: Site, store: Store
) -> None:
    async with site.program("admin") as admin:
        first = await made(admin)
        assert first["pagerduty"] == {"subdomain": "example", "password": "***"}
        again = {"subdomain": "other", "password": "***"}
        answer = await admin.ask("PUT", "/api/v1/contact?id=alice", json=body(pagerduty=again))
        assert answer.status == 200
        exported = await admin.get("/api/v1/contacts/export")
        assert "geheim" not in exported.text
        imported = await admin.post("/api/v1/contacts/import", json=exported.json())
        assert [one["status"] for one in imported.json()] == ["imported"]
        [stored] = await contacts.everybody(store)
        assert stored.pagerduty == {"subdomain": "other", "password": "hunter2-geheim"}
        await admin.ask("DELETE", "/api/v1/contact?id=alice")
        [refused] = (await admin.post("/api/v1/contacts/import", json=exported.json())).json()
    assert refused["status"] == "refused"
    assert "pagerduty.password: *** stands for a secret" in refused["reason"]
    assert "geheim" not in repr(await audit.read(store, "", 100))


async def test_who_changes_what_somebody_else_changed_meanwhile_is_told(site: Site) -> None:
    async with site.somebody("editor") as editor:
        version = (await made(editor))["version"]
        mine = {"If-Match": f'"{version}"'}
        path = "/api/v1/contact?id=alice"
        first = await editor.ask("PUT", path, json=body(last_name="Ames"), headers=mine)
        assert first.status == 200
        late = await editor.ask("PUT", path, json=body(last_name="Abel"), headers=mine)
        assert late.status == 412
        assert late.headers["Content-Type"] == "application/problem+json"
        assert "somebody else" in late.json()["detail"]
        shown = (await editor.get(path)).json()
        assert shown["last_name"] == "Ames"
        now = {"If-Match": shown["version"]}
        assert (await editor.ask("PUT", path, json=body(), headers=now)).status == 200


async def test_of_many_who_change_a_contact_at_once_one_does(site: Site) -> None:
    async with site.somebody("editor") as editor:
        path, others = "/api/v1/contact?id=alice", [f"A{number}" for number in range(8)]
        added = await asyncio.gather(
            *(editor.post("/api/v1/contacts", json=ALICE | {"last_name": one}) for one in others)
        )
        assert sorted(one.status for one in added) == [201] + [422] * 7
        mine = {"If-Match": (await editor.get(path)).json()["version"]}
        changed = await asyncio.gather(
            *(
                editor.ask("PUT", path, json=body(last_name=f"B{one}"), headers=mine)
                for one in others
            )
        )
        assert sorted(one.status for one in changed) == [200] + [412] * 7
        [done] = [one.json() for one in changed if one.status == 200]
        assert (await editor.get(path)).json()["last_name"] == done["last_name"]
        # Who did not say what they mean to replace have their turns.
        free = [await editor.ask("PUT", path, json=body(last_name=one)) for one in others]
    assert {one.status for one in free} == {200}


async def test_of_many_who_change_a_rule_at_once_one_does(site: Site) -> None:
    async with site.somebody("editor") as editor:
        await made(editor)
        rule = (await editor.post("/api/v1/rules?contact=alice", json={})).json()
        path = f"/api/v1/rule?contact=alice&id={rule['id']}"
        mine = {"If-Match": rule["version"]}
        bodies = [{"entities": [f"web-{number}"]} for number in range(8)]
        changed = await asyncio.gather(
            *(editor.ask("PUT", path, json=one, headers=mine) for one in bodies)
        )
    assert sorted(one.status for one in changed) == [200] + [412] * 7


async def test_addresses_that_will_not_work_are_saved_with_warnings(site: Site) -> None:
    body = {"id": "bob", "first_name": "Bob", "media": {"sms": {"address": "12"}}}
    async with site.somebody("editor") as editor:
        answer = await editor.post("/api/v1/contacts", json=body)
        assert answer.status == 201
        assert [one.partition(";")[0] for one in answer.json()["warnings"]] == [
            "sms: no gateway of that name is configured, so alerts by it wait",
            "sms: '12' has 2 digits",
        ]
        shown = (await editor.get("/api/v1/contact?id=bob")).json()
        assert shown["media"]["sms"]["address"] == "12"


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"id": "a:b"}, 422, "id"),
        ({"id": "alice"}, 422, "id"),
        ({"id": "a\nb"}, 422, "id"),
        ({"first_name": ""}, 400, "first_name"),
        ({"first_name": "\u0007"}, 422, "first_name"),
        ({"timezone": "Mars"}, 422, "timezone"),
        ({"tags": ["\u0001"]}, 422, "tags"),
        ({"media": {"E-Mail": {"address": "x"}}}, 422, "media"),
        ({"media": {"email": {"address": "nobody"}}}, 422, "media.email.address"),
        ({"media": {"email": {"address": "a@example.com", "interval": 0}}}, 400, ""),
        ({"media": {"email": {"address": "a@example.com", "every": 5}}}, 400, ""),
        ({"pagerduty": {"colour": "red"}}, 422, "pagerduty.colour"),
        ({"pagerduty": {"token": "***"}}, 422, "pagerduty.token"),
        ({"colour": "red"}, 400, "colour"),
    ],
)
async def test_what_is_no_contact_is_refused_by_field(
    site: Site, change: dict[str, Any], status: int, field: str
) -> None:
    async with site.program("write") as editor:
        await made(editor)
        answer = await editor.post("/api/v1/contacts", json=ALICE | {"id": "bob"} | change)
    assert answer.status == status, answer.text
    errors = answer.json()["errors"]
    assert errors
    assert not field or errors[0]["field"] == field


async def test_contacts_are_listed_by_name_and_found_by_what_they_have(
    site: Site, store: Store
) -> None:
    await entities.ensure(store, "web-1")
    async with site.program("write") as editor:
        await made(editor)
        await made(editor, id="carol/ü", first_name="Charlie", last_name="", tags=["dev"])
        await made(editor, id="1", first_name="bob", last_name="", media={}, tags=[])
        link = {"entity": "web-1", "check": "HTTP"}
        for data in ({"entity": "web-1"}, link, {"entity": "ALL"}):
            assert (await editor.post("/api/v1/contact/links?id=alice", json=data)).status == 201

        async def listed(query: str = "") -> Any:
            return (await editor.get(f"/api/v1/contacts{query}")).json()

        page = await listed()
        assert [one["id"] for one in page["items"]] == ["alice", "1", "carol/ü"]
        assert page["items"][0]["told_about"] == ["everything", "web-1", "web-1:HTTP"]
        assert (page["items"][0]["links"], page["items"][0]["rules"]) == (3, 0)
        first = await listed("?limit=2")
        rest = (
            await editor.get("/api/v1/contacts", params={"limit": "2", "cursor": first["next"]})
        ).json()
        assert [one["id"] for one in first["items"] + rest["items"]] == ["alice", "1", "carol/ü"]
        assert rest["next"] is None
        for query, found in (
            ("?text=ARCH", ["alice"]),
            ("?text=%2B39", ["alice", "carol/ü"]),
            ("?text=ops", ["alice"]),
            ("?tag=dev", ["carol/ü"]),
            ("?medium=sms", ["alice", "carol/ü"]),
            ("?text=nobody", []),
        ):
            assert [one["id"] for one in (await listed(query))["items"]] == found, query


async def test_links_are_made_listed_and_undone(site: Site, store: Store) -> None:
    path = "/api/v1/contact/links?id=alice"
    async with site.somebody("editor") as editor:
        await made(editor)
        new = await editor.post(path, json={"entity": "Web-9/a", "check": "Disk: /"})
        assert new.json() == {
            "entity": "web-9/a",
            "check": "Disk: /",
            "words": "web-9/a:Disk: /",
            "is_new": True,
        }
        await editor.post(path, json={"entity": "ALL"})
        assert (await editor.get(path)).json()["items"] == [
            {"entity": "ALL", "check": None},
            {"entity": "web-9/a", "check": "Disk: /"},
        ]
        entity_id = await entities.id_of(store, "web-9/a")
        assert await contact_links.interested(store, entity_id, "Disk: /") == ["alice"]
        query = {"id": "alice", "entity": "web-9/a", "check": "Disk: /"}
        assert (await editor.ask("DELETE", "/api/v1/contact/links", params=query)).status == 204
        assert (await editor.ask("DELETE", "/api/v1/contact/links", params=query)).status == 404
        for data, status, field in (
            ({"entity": "a:b"}, 422, "entity"),
            ({"entity": "events_archive"}, 422, "entity"),
            ({"entity": "ALL", "check": "HTTP"}, 422, "check"),
            ({"entity": "web-1", "check": "\u0001"}, 422, "check"),
        ):
            answer = await editor.post(path, json=data)
            assert (answer.status, answer.json()["errors"][0]["field"]) == (status, field)
        nobody = await editor.post("/api/v1/contact/links?id=nobody", json={"entity": "web-1"})
        assert nobody.status == 404
    assert ("contact.link", "alice", "everything") in await actions(store)


async def test_a_test_goes_the_way_of_all_alerts(site: Site, store: Store) -> None:
    async with site.somebody("editor") as editor, site.somebody("operator", "olga") as operator:
        await made(editor)
        answer = await operator.post("/api/v1/contact/test?id=alice", json={"medium": "sms"})
        assert answer.status == 202, answer.text
        assert answer.json()["has_gateway"] is False
        shown = (await operator.get(f"/api/v1/alert?id={answer.json()['alert']}")).json()
        wrong = await operator.post("/api/v1/contact/test?id=alice", json={"medium": "jabber"})
    assert shown["contact_name"] == "Alice Archer"
    assert shown["message"]["sent"]["outcome"] == "queued"
    [queued] = await store.call("LRANGE", KEYS.queue("sms"), 0, -1)
    alert = msgspec.json.decode(queued, type=Alert)
    assert (alert.address, alert.notification_type) == ("+390551234567", "test")
    assert alert.summary == "olga tests whether this reaches you"
    assert (wrong.status, wrong.json()["detail"]) == (404, "Alice has no medium jabber")
    assert ("contact.test", "alice", "sms") in await actions(store)


async def test_files_of_the_command_line_are_imported_item_by_item(
    site: Site, store: Store
) -> None:
    await contacts.save(store, Contact(id="bob", first_name="Bob", tags=("old",)), tags_before=())
    given = [
        {"id": 1, "first_name": "Alice", "media": {"sms": "+61412345678"}, "colour": "red"},
        {"first_name": "Nobody"},
        {"id": "bob", "first_name": "Bob", "notification_rules": [{"critical_media": ["sms"]}]},
        {"id": "c", "first_name": "Charlie", "timezone": "Mars"},
    ]
    async with site.program("write") as editor, site.program("read") as reader:
        answer = await editor.post("/api/v1/contacts/import", json=given)
        exported = (await reader.get("/api/v1/contacts/export")).json()
        assert (await reader.post("/api/v1/contacts/import", json=[])).status == 403
    assert [(one["status"], one["ignored"]) for one in answer.json()] == [
        ("imported", ["colour"]),
        ("skipped", []),
        ("imported", []),
        ("refused", []),
    ]
    assert "there is no time zone 'Mars'" in answer.json()[3]["reason"]
    assert [one["id"] for one in exported] == ["1", "bob"]
    found = await contacts.everybody(store)
    assert found[1].tags == ()
    assert [rule.critical_media for rule in found[1].rules] == [("sms",)]
    assert ("contacts.import", "", "2 of 4 items") in await actions(store)


async def test_media_are_told_with_whether_somebody_sends_by_them(site: Site) -> None:
    async with site.program("read") as reader:
        found = (await reader.get("/api/v1/contacts/media")).json()
    assert {"medium": "email", "has_gateway": False} in found


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_only_an_editor_changes_contacts(site: Site, store: Store, role: Any) -> None:
    await contacts.save(store, Contact(id="alice", first_name="Alice"))
    async with site.somebody(role) as visitor:
        assert (await visitor.get("/api/v1/contact?id=alice")).status == 200
        for method, path, data in (
            ("POST", "/api/v1/contacts", ALICE),
            ("PUT", "/api/v1/contact?id=alice", body()),
            ("DELETE", "/api/v1/contact?id=alice", None),
            ("POST", "/api/v1/contact/links?id=alice", {"entity": "web-1"}),
            ("DELETE", "/api/v1/contact/links?id=alice&entity=web-1", None),
            ("POST", "/api/v1/contacts/import", [ALICE]),
        ):
            assert (await visitor.ask(method, path, json=data)).status == 403, path
    assert [one.last_name for one in await contacts.everybody(store)] == [""]


async def test_whatever_others_stored_is_listed(site: Site, store: Store) -> None:
    await store.call("HSET", KEYS.contact("x:y\ufeff"), "first_name", b"\xff\x00", "email", "e")
    await store.call("HSET", KEYS.contact(b"\xff".decode("latin-1")), "first_name", "B")
    await store.call("HSET", KEYS.contact("tagged"), "first_name", "C")
    await store.call("SADD", KEYS.contact_tag("a"), b"\xff", "tagged")
    await store.call("HSET", KEYS.media("tagged"), b"\xfe", b"\xfd")
    await contacts.save(
        store,
        Contact(
            id="d",
            first_name="D",
            rules=(Rule(id="r", contact_id="d"),),
        ),
        with_rules=True,
    )
    async with site.program("read") as reader:
        listed = (await reader.get("/api/v1/contacts")).json()["items"]
        shown = await reader.get("/api/v1/contact", params={"id": "x:y\ufeff"})
    assert len(listed) == 4
    assert shown.status == 200


async def test_a_search_that_took_long_is_good_for_a_while(store: Store) -> None:
    clock = SlowClock(0)
    clock.step = 1
    directory_cache = DirectoryCache(store, clock)
    assert (await directory_cache.current()).contacts == []
    await contacts.save(store, Contact(id="alice", first_name="Alice"))
    clock.step = 0
    assert (await directory_cache.current()).contacts == []
    directory_cache.forget()
    assert (await directory_cache.current()).contacts == ["alice"]
    await contacts.save(store, Contact(id="bob", first_name="Bob"))
    assert (await directory_cache.current()).contacts == ["alice", "bob"]


class SlowClock(SetClock):
    """Time goes by whenever somebody looks."""

    step = 0

    def monotonic(self) -> float:
        self.advance(self.step)
        return super().monotonic()
