"""What flapjack-diner asks for, and what it is answered."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

import pytest

from tests.web.flapjack_api.clients import (
    Client,
    added,
    drained,
    entity,
    removed,
    replaced,
    report,
    serving_api,
)
from watchbell.alerting import (
    contacts,
    history,
    known_checks,
    maintenance,
    record_keeping,
    record_verify,
)
from watchbell.store.client import Store

START = 1_790_000_000
ADA = {
    "id": "ada",
    "first_name": "Ada",
    "last_name": "Lovelace",
    "email": "ada@example.org",
    "timezone": "Europe/London",
    "tags": ["night", "legend"],
}
SMS = {"type": "sms", "address": "+44 1", "interval": 300, "rollup_threshold": 5}
MAIL = {"type": "email", "address": "ada@example.org", "interval": 180, "rollup_threshold": 3}
RULE = {
    "entity_tags": ["database", "physical"],
    "entities": ["app-1"],
    "time_restrictions": None,
    "warning_media": ["email"],
    "critical_media": ["sms", "email"],
    "warning_blackhole": False,
    "critical_blackhole": False,
}


@pytest.fixture
async def client(store: Store) -> AsyncIterator[Client]:
    async with serving_api(store, "write") as one:
        yield one


def written(seconds: int) -> str:
    """A time as it is sent in a query, in a zone of half an hour."""
    zone = timezone(timedelta(hours=9, minutes=30))
    return quote(datetime.fromtimestamp(seconds, zone).isoformat(), safe="")


async def ada(client: Client) -> None:
    assert (await client.post("/contacts", {"contacts": [ADA]})).status == 201


async def ssh(client: Client) -> None:
    """A check of an entity with the id 1234."""
    await entity(client.backend.store, "www.example.com", "1234")
    await report(client.backend.store, ("www.example.com:SSH", "ok", START))


async def an_outage(store: Store) -> None:
    """It is critical from 100 to 300 seconds after the start."""
    await report(store, ("web:HTTP", "ok", START), ("web:HTTP", "critical", START + 100))
    await report(store, ("web:HTTP", "ok", START + 300))


async def test_contacts_are_created_and_read(client: Client) -> None:
    grace = {"id": "grace", "first_name": "Grace", "last_name": "Hopper", "email": "g@example.org"}
    reply = await client.post("/contacts", {"contacts": [ADA, grace]})
    assert (reply.status, reply.json) == (201, ["ada", "grace"])
    assert reply.headers["Content-Type"] == "application/vnd.api+json; charset=utf-8"
    assert reply.headers["Location"] == f"{client.url}/contacts/ada,grace"
    [found] = (await client.get("/contacts/ada")).json["contacts"]
    links: dict[str, list[str]] = {"entities": [], "media": [], "notification_rules": []}
    assert found == {**ADA, "tags": ["legend", "night"], "links": links}
    assert len((await client.get("/contacts")).json["contacts"]) == 2


async def test_a_contact_that_exists_is_a_conflict(client: Client) -> None:
    await ada(client)
    other = {**ADA, "first_name": "Eve"}
    reply = await client.post("/contacts", {"contacts": [{**ADA, "id": "new"}, other]})
    assert reply.status == 409
    assert reply.errors == ["Contacts already exist with the following IDs: ada"]
    found = (await client.get("/contacts")).json["contacts"]
    assert [one["first_name"] for one in found] == ["Ada"]


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("GET", "/contacts/nobody", None, "could not find contacts 'nobody'"),
        ("DELETE", "/contacts/nobody", None, "could not find contacts 'nobody'"),
        (
            "PATCH",
            "/contacts/nobody",
            [replaced("/contacts/0/timezone", "UTC")],
            "could not find contacts 'nobody'",
        ),
        ("GET", "/media/nobody_sms", None, "could not find contact 'nobody'"),
        ("DELETE", "/media/nobody_sms", None, "could not find contact 'nobody'"),
        (
            "PATCH",
            "/media/nobody_sms",
            [replaced("/media/0/interval", 50)],
            "could not find contact 'nobody'",
        ),
        ("GET", "/pagerduty_credentials/nobody", None, "could not find contact 'nobody'"),
        ("DELETE", "/pagerduty_credentials/nobody", None, "could not find contact 'nobody'"),
        ("GET", "/notification_rules/none", None, "could not find notification rules 'none'"),
        ("DELETE", "/notification_rules/none", None, "could not find notification rule 'none'"),
        (
            "PATCH",
            "/notification_rules/none",
            [replaced("/notification_rules/0/warning_blackhole", False)],
            "could not find notification rule 'none'",
        ),
        (
            "POST",
            "/contacts/nobody/notification_rules",
            {"notification_rules": [RULE]},
            "could not find contact 'nobody'",
        ),
        ("GET", "/entities/none", None, "could not find entities 'none'"),
        ("GET", "/checks/none:SSH", None, "could not find entity checks: 'none:SSH'"),
        (
            "PATCH",
            "/checks/none:SSH",
            [replaced("/checks/0/enabled", False)],
            "could not find entity 'none'",
        ),
        (
            "POST",
            "/scheduled_maintenances/checks/none:SSH",
            {
                "scheduled_maintenances": [
                    {"start_time": "2026-09-28T11:13:57+09:30", "duration": 9}
                ]
            },
            "could not find entity 'none'",
        ),
        (
            "POST",
            "/unscheduled_maintenances/checks/none:SSH",
            {"unscheduled_maintenances": [{"duration": 3600, "summary": "at work"}]},
            "could not find entity 'none'",
        ),
        (
            "POST",
            "/test_notifications/checks/none:SSH",
            {"test_notifications": [{"summary": "testing"}]},
            "could not find entity 'none'",
        ),
    ],
)
async def test_what_is_unknown_is_named(
    client: Client, method: str, path: str, body: Any, words: str
) -> None:
    reply = await client.ask(method, path, body)
    assert (reply.status, reply.errors) == (404, [words])


async def test_two_contacts_are_changed_by_one_patch(client: Client) -> None:
    await ada(client)
    await client.post("/contacts", {"contacts": [{**ADA, "id": "872", "tags": []}]})
    reply = await client.patch(
        "/contacts/ada,872",
        replaced("/contacts/0/timezone", "UTC"),
        added("/contacts/0/links/tags/-", "day"),
        removed("/contacts/0/links/tags/night"),
    )
    assert (reply.status, reply.body) == (204, b"")
    found = (await client.get("/contacts/ada,872")).json["contacts"]
    assert [one["timezone"] for one in found] == ["UTC", "UTC"]
    assert [one["tags"] for one in found] == [["day", "legend"], ["day"]]


async def test_a_patch_that_is_wrong_at_its_end_changes_nothing(client: Client) -> None:
    await ada(client)
    reply = await client.patch(
        "/contacts/ada",
        replaced("/contacts/0/first_name", "Eve"),
        replaced("/contacts/0/timezone", "Nowhere/Land"),
    )
    assert reply.status == 422
    assert reply.errors[0].startswith("timezone: there is no time zone 'Nowhere/Land'")
    assert (await client.get("/contacts/ada")).json["contacts"][0]["first_name"] == "Ada"


async def test_contacts_are_linked_to_entities_and_checks(client: Client, store: Store) -> None:
    await ada(client)
    await ssh(client)
    links = "/contacts/0/links"
    assert (await client.patch("/contacts/ada", added(f"{links}/entities/-", "1234"))).status == 204
    reply = await client.patch("/contacts/ada", added(f"{links}/checks/-", "www.example.com:SSH"))
    assert reply.status == 204
    [found] = (await client.get("/contacts/ada")).json["contacts"]
    assert found["links"]["entities"] == ["1234"]
    assert await store.call("SMEMBERS", "contacts_for:1234:SSH") == {b"ada"}
    reply = await client.patch("/contacts/ada", removed(f"{links}/entities/1234"))
    assert reply.status == 204
    [found] = (await client.get("/contacts/ada")).json["contacts"]
    assert found["links"]["entities"] == []


async def test_a_patch_with_a_link_to_nothing_changes_nothing(client: Client) -> None:
    await ada(client)
    name = replaced("/contacts/0/first_name", "Eve")
    for link in ("entities/-", "notification_rules/-"):
        reply = await client.patch("/contacts/ada", name, added(f"/contacts/0/links/{link}", "x"))
        assert reply.status == 404
    reply = await client.patch("/contacts/ada", name, added("/contacts/0/links/media/-", "ada_sms"))
    assert (reply.status, reply.errors) == (422, ["path: 'media' of contacts can't be added"])
    assert (await client.get("/contacts/ada")).json["contacts"][0]["first_name"] == "Ada"


async def test_rules_and_media_are_removed_by_their_links(client: Client) -> None:
    await ada(client)
    await client.post("/contacts", {"contacts": [{**ADA, "id": "872"}]})
    await client.post("/contacts/ada/media", {"media": [SMS, MAIL]})
    body = {"notification_rules": [RULE, RULE]}
    first, second = (await client.post("/contacts/ada/notification_rules", body)).json
    links = "/contacts/0/links"
    rule = removed(f"{links}/notification_rules/{first}")
    assert (await client.patch("/contacts/872", rule)).status == 204  # it is another one's
    assert (await client.get(f"/notification_rules/{first}")).status == 200
    reply = await client.patch(
        "/contacts/ada",
        rule,
        removed(f"{links}/notification_rules/none"),
        removed(f"{links}/media/ada_sms"),
        removed(f"{links}/media/872_email"),
    )
    assert reply.status == 204
    [found] = (await client.get("/contacts/ada")).json["contacts"]
    assert found["links"]["notification_rules"] == [second]
    assert found["links"]["media"] == ["ada_email"]
    assert (await client.get(f"/notification_rules/{first}")).status == 404


async def test_of_several_ids_those_that_exist_are_read(client: Client) -> None:
    await ada(client)
    await ssh(client)
    body = {"notification_rules": [RULE]}
    [rule] = (await client.post("/contacts/ada/notification_rules", body)).json
    for kind, known in (
        ("contacts", "ada"),
        ("entities", "1234"),
        ("checks", "www.example.com:SSH"),
        ("notification_rules", rule),
    ):
        found = (await client.get(f"/{kind}/gone:x,{known}")).json
        assert [one["id"] for one in found[kind]] == [known]
        assert (await client.get(f"/{kind}/gone:x,gone:y")).status == 404
    assert (await client.delete("/contacts/ada,gone")).status == 404


async def test_contacts_are_deleted(client: Client) -> None:
    await ada(client)
    await client.post("/contacts", {"contacts": [{**ADA, "id": "872"}]})
    assert (await client.delete("/contacts/ada,872")).status == 204
    assert (await client.get("/contacts")).json == {"contacts": []}
    assert (await client.delete("/contacts")).status == 405


async def test_media_are_created_changed_and_deleted(client: Client) -> None:
    await ada(client)
    reply = await client.post("/contacts/ada/media", {"media": [SMS, MAIL]})
    assert (reply.status, reply.json) == (201, ["ada_sms", "ada_email"])
    links = {"contacts": ["ada"]}
    found = (await client.get("/media/ada_sms,ada_email")).json["media"]
    assert found == [
        {**SMS, "id": "ada_sms", "links": links},
        {**MAIL, "id": "ada_email", "links": links},
    ]
    reply = await client.patch(
        "/media/ada_email,ada_sms",
        replaced("/media/0/interval", 50),
        replaced("/media/0/rollup_threshold", 3),
    )
    assert reply.status == 204
    found = (await client.get("/media")).json["media"]
    assert [(one["interval"], one["rollup_threshold"]) for one in found] == [(50, 3), (50, 3)]
    assert (await client.delete("/media/ada_sms")).status == 204
    assert [one["id"] for one in (await client.get("/media")).json["media"]] == ["ada_email"]


async def test_a_medium_with_underscores_of_a_contact_with_underscores_is_found(
    client: Client,
) -> None:
    await client.post("/contacts", {"contacts": [{**ADA, "id": "a_b"}, {**ADA, "id": "a"}]})
    twilio = {**SMS, "type": "sms_twilio"}
    reply = await client.post("/contacts/a_b/media", {"media": [twilio]})
    assert reply.json == ["a_b_sms_twilio"]
    [found] = (await client.get("/media/a_b_sms_twilio")).json["media"]
    assert (found["type"], found["links"]) == ("sms_twilio", {"contacts": ["a_b"]})


async def test_what_is_added_to_an_unknown_contact_is_refused(client: Client) -> None:
    for path, body in (
        ("media", {"media": [SMS]}),
        ("pagerduty_credentials", {"pagerduty_credentials": [{"service_key": "abc"}]}),
    ):
        reply = await client.post(f"/contacts/abc/{path}", body)
        assert (reply.status, reply.errors) == (422, ["Contact id: 'abc' could not be loaded"])


async def test_pagerduty_accounts_keep_their_password_to_themselves(
    client: Client, store: Store
) -> None:
    await ada(client)
    given = {"service_key": "abc", "subdomain": "def", "username": "ghi", "password": "jkl"}
    reply = await client.post(
        "/contacts/ada/pagerduty_credentials", {"pagerduty_credentials": [given]}
    )
    assert (reply.status, reply.json) == (201, ["ada"])
    [found] = (await client.get("/pagerduty_credentials/ada")).json["pagerduty_credentials"]
    assert found == {**given, "password": "***", "links": {"contacts": ["ada"]}}
    names = "/pagerduty_credentials/0"
    reply = await client.patch("/pagerduty_credentials/ada", replaced(f"{names}/username", "xyz"))
    assert reply.status == 204
    account = (await contacts.known(store, "ada")).pagerduty
    assert account == {"subdomain": "def", "username": "xyz", "password": "jkl"}
    assert (await client.delete("/pagerduty_credentials/ada")).status == 204
    assert (await contacts.known(store, "ada")).pagerduty == {}
    assert (await client.get("/pagerduty_credentials")).json == {"pagerduty_credentials": []}


async def test_rules_are_created_changed_and_deleted(client: Client) -> None:
    await ada(client)
    body = {"notification_rules": [RULE, {**RULE, "entity_tags": None}]}
    reply = await client.post("/contacts/ada/notification_rules", body)
    assert reply.status == 201
    first, second = reply.json
    [found] = (await client.get(f"/notification_rules/{first}")).json["notification_rules"]
    assert found == {
        "id": first,
        "entities": ["app-1"],
        "regex_entities": [],
        "tags": ["database", "physical"],
        "regex_tags": [],
        "time_restrictions": [],
        "unknown_media": [],
        "warning_media": ["email"],
        "critical_media": ["sms", "email"],
        "unknown_blackhole": False,
        "warning_blackhole": False,
        "critical_blackhole": False,
        "links": {"contacts": ["ada"]},
    }
    reply = await client.patch(
        f"/notification_rules/{first},{second}",
        replaced("/notification_rules/0/warning_blackhole", True),
        replaced("/notification_rules/0/entities", []),
    )
    assert reply.status == 204
    rules = (await client.get("/notification_rules")).json["notification_rules"]
    assert [(r["warning_blackhole"], r["entities"]) for r in rules] == [(True, []), (True, [])]
    assert (await client.delete(f"/notification_rules/{first},{second}")).status == 204
    assert (await client.get("/notification_rules")).json == {"notification_rules": []}


async def test_an_invalid_rule_creates_none_of_those_sent_with_it(client: Client) -> None:
    await ada(client)
    body = {"notification_rules": [RULE, {**RULE, "regex_entities": ["("]}]}
    reply = await client.post("/contacts/ada/notification_rules", body)
    assert reply.status == 422
    assert reply.errors[0].startswith("regex_entities: ")
    assert (await client.get("/notification_rules")).json == {"notification_rules": []}


async def test_a_rule_with_an_id_that_is_taken_creates_none(client: Client) -> None:
    await ada(client)
    await client.post("/contacts", {"contacts": [{**ADA, "id": "872"}]})
    rule = {**RULE, "id": "one"}
    await client.post("/contacts/ada/notification_rules", {"notification_rules": [rule]})
    for path, given in (
        ("872", [{**RULE, "id": "two"}, rule]),
        ("872", [{**RULE, "id": "two"}, {**RULE, "id": "two"}]),
        ("ada,872", [{**RULE, "id": "two"}]),
    ):
        body = {"notification_rules": given}
        reply = await client.post(f"/contacts/{path}/notification_rules", body)
        assert reply.status == 409
    found = (await client.get("/notification_rules")).json["notification_rules"]
    assert [one["id"] for one in found] == ["one"]


async def test_entities_are_created_renamed_tagged_and_linked(client: Client) -> None:
    await ada(client)
    given = [{"id": "825", "name": "Foo.example.com", "tags": ["web"]}, {"id": "7", "name": "bar"}]
    reply = await client.post("/entities", {"entities": given})
    assert (reply.status, reply.json) == (201, ["825", "7"])
    reply = await client.patch(
        "/entities/825",
        replaced("/entities/0/name", "renamed"),
        added("/entities/0/links/contacts/-", "ada"),
        added("/entities/0/links/tags/-", "db"),
        removed("/entities/0/links/tags/web"),
    )
    assert reply.status == 204
    [found] = (await client.get("/entities/825")).json["entities"]
    links = {"contacts": ["ada"], "checks": []}
    assert found == {"id": "825", "name": "renamed", "tags": ["db"], "links": links}
    reply = await client.patch("/entities/825", removed("/entities/0/links/contacts/ada"))
    assert reply.status == 204
    [found] = (await client.get("/entities/825")).json["entities"]
    assert found["links"]["contacts"] == []


async def test_two_entities_of_one_request_have_two_names(client: Client) -> None:
    given = [{"id": "1", "name": "web"}, {"id": "2", "name": "Web"}]
    reply = await client.post("/entities", {"entities": given})
    assert (reply.status, (await client.get("/entities")).json) == (422, {"entities": []})
    given[1]["name"] = "db"
    await client.post("/entities", {"entities": given})
    reply = await client.patch("/entities/1,2", replaced("/entities/0/name", "other"))
    assert reply.errors == ["name: 'other' is not allowed for several entities at once"]
    found = (await client.get("/entities")).json["entities"]
    assert [one["name"] for one in found] == ["db", "web"]


async def test_the_contacts_of_everything_are_not_replaced(client: Client, store: Store) -> None:
    await ada(client)
    everything = {"entities": [{"id": "ALL", "name": "ALL"}]}
    assert (await client.post("/entities", everything)).status == 201
    await client.patch("/contacts/ada", added("/contacts/0/links/entities/-", "ALL"))
    assert (await client.post("/entities", everything)).status == 409
    assert await store.call("SMEMBERS", "contacts_for:ALL") == {b"ada"}


async def test_contacts_that_are_linked_at_once_are_all_linked(client: Client) -> None:
    await client.post("/entities", {"entities": [{"id": "1", "name": "web"}]})
    people = [f"person-{number}" for number in range(20)]
    given = [{"id": one, "first_name": "A"} for one in people]
    await client.post("/contacts", {"contacts": given})
    link = "/entities/0/links/contacts/-"
    replies = await asyncio.gather(
        *(client.patch("/entities/1", added(link, one)) for one in people)
    )
    assert {reply.status for reply in replies} == {204}
    [found] = (await client.get("/entities/1")).json["entities"]
    assert set(found["links"]["contacts"]) == set(people)


async def test_an_entity_needs_an_id_of_its_own(client: Client) -> None:
    reply = await client.post("/entities", {"entities": [{"name": "foo"}]})
    assert (reply.status, reply.errors) == (403, ["Entity id is required"])
    await client.post("/entities", {"entities": [{"id": "1", "name": "foo"}]})
    assert (await client.post("/entities", {"entities": [{"id": "1"}]})).status == 409


async def test_entities_are_found_by_whether_they_are_enabled(client: Client) -> None:
    await ssh(client)
    await client.post("/entities", {"entities": [{"id": "7", "name": "silent"}]})
    enabled = (await client.get("/entities?enabled=true")).json["entities"]
    assert [one["links"]["checks"] for one in enabled] == [["www.example.com:SSH"]]
    disabled = (await client.get("/entities?enabled=false")).json["entities"]
    assert [one["id"] for one in disabled] == ["7"]


async def test_checks_are_read_disabled_and_tagged(client: Client) -> None:
    await ssh(client)
    expected = {
        "id": "www.example.com:SSH",
        "name": "SSH",
        "entity_name": "www.example.com",
        "enabled": True,
        "tags": [],
        "links": {"entities": ["1234"]},
    }
    assert (await client.get("/checks/www.example.com:SSH")).json == {"checks": [expected]}
    assert (await client.get("/checks")).json == {"checks": [expected]}
    reply = await client.patch(
        "/checks/www.example.com:SSH",
        replaced("/checks/0/enabled", False),
        added("/checks/0/links/tags/-", "slow"),
    )
    assert reply.status == 204
    [found] = (await client.get("/checks")).json["checks"]
    assert found == {**expected, "enabled": False, "tags": ["slow"]}
    await client.patch(
        "/checks/www.example.com:SSH",
        replaced("/checks/0/enabled", True),
        removed("/checks/0/links/tags/slow"),
    )
    assert (await client.get("/checks")).json == {"checks": [expected]}


async def test_checks_are_created_for_entities_that_exist(client: Client, store: Store) -> None:
    await entity(store, "www.example.com", "1234")
    given = [
        {"name": "SSH", "id": "www.example.com:SSH"},
        {"name": "Disk /", "entity_id": "1234", "tags": ["disk"]},
    ]
    reply = await client.post("/checks", {"checks": given})
    ids = ["www.example.com:SSH", "www.example.com:Disk /"]
    assert (reply.status, reply.json) == (201, ids)
    assert await known_checks.every(store) == sorted(ids)
    assert reply.headers["Location"].endswith("/www.example.com:SSH,www.example.com:Disk%20%2F")
    place = reply.headers["Location"].removeprefix(client.url)
    assert [one["id"] for one in (await client.get(place)).json["checks"]] == ids
    [found] = (await client.get("/checks/www.example.com:Disk%20%2F")).json["checks"]
    assert (found["name"], found["tags"]) == ("Disk /", ["disk"])
    reply = await client.post("/checks", {"checks": [{"name": "SSH", "entity_id": "9"}]})
    assert (reply.status, reply.errors) == (404, ["could not find entity '9'"])


async def test_slashes_in_the_names_of_checks_need_no_escaping(
    client: Client, store: Store
) -> None:
    await entity(store, "web", "12")
    names = ["web:Disk /", "web:/var/log", "web:SSH"]
    for name in names:
        await report(store, (name, "critical", START))
    ids = "web:Disk%20/,web:/var/log,web:SSH"
    found = (await client.get(f"/checks/{ids}")).json["checks"]
    assert [one["id"] for one in found] == names
    tagged = await client.patch(f"/checks/{ids}", added("/checks/0/links/tags/-", ["a", "b"]))
    assert tagged.status == 204
    assert (await known_checks.tags(store))["web:/var/log"] == ("a", "b")
    window = {"start_time": "2040-01-01T00:00:00Z", "duration": 60}
    body = {"scheduled_maintenances": [window]}
    assert (await client.post(f"/scheduled_maintenances/checks/{ids}", body)).status == 204
    rows = (await client.get(f"/scheduled_maintenance_report/checks/{ids}")).json
    assert [
        len(one["scheduled_maintenances"]) for one in rows["scheduled_maintenance_reports"]
    ] == [*(1, 1, 1)]


async def test_maintenance_is_scheduled_and_cancelled(client: Client, store: Store) -> None:
    await ssh(client)
    body = {
        "scheduled_maintenances": [
            {"start_time": "2040-09-28T11:13:57+09:30", "duration": 3600, "summary": "working"},
            {"start_time": "2040-09-28T13:13:57+09:30", "duration": 60},
        ]
    }
    for path in ("checks/www.example.com:SSH", "entities/1234"):
        assert (await client.post(f"/scheduled_maintenances/{path}", body)).status == 204
    path = "/scheduled_maintenance_report/checks/www.example.com:SSH"
    [found] = (await client.get(path)).json["scheduled_maintenance_reports"]
    first = found["scheduled_maintenances"][0]
    assert first["end_time"] - first["start_time"] == first["duration"] == 3600
    assert len(found["scheduled_maintenances"]) == 2
    reply = await client.delete(
        "/scheduled_maintenances/checks/www.example.com:SSH?start_time=2040-09-28T11%3A13%3A57%2B09%3A30"
    )
    assert reply.status == 204
    windows = [w async for _, w in history.windows_of(store, ["www.example.com:SSH"], "scheduled")]
    assert [one.duration for one in windows[0]] == [60]
    assert (await client.delete("/scheduled_maintenances/entities/1234")).status == 403


async def test_acknowledgements_and_tests_are_queued(client: Client, store: Store) -> None:
    await ssh(client)
    body = {"unscheduled_maintenances": [{"summary": "at work"}]}
    assert (await client.post("/unscheduled_maintenances/entities/1234", body)).status == 204
    tests = {"test_notifications": [{"summary": "testing"}, {}]}
    path = "/test_notifications/checks/www.example.com:SSH"
    assert (await client.post(path, tests)).status == 204
    queued = await store.call("LRANGE", "events", 0, -1)
    assert len(queued) == 3
    assert b'"duration":14400' in queued[-1]
    assert b"acknowledgement" in queued[-1]


async def test_acknowledgements_and_tests_have_defaults(client: Client, store: Store) -> None:
    await ssh(client)
    for kind in ("unscheduled_maintenances", "test_notifications"):
        assert (await client.post(f"/{kind}/checks/www.example.com:SSH", {})).status == 204
        reply = await client.post(f"/{kind}/checks/www.example.com:SSH", {"summary": "x"})
        assert reply.errors == [f"expected an array of objects under {kind!r}"]
    test, acknowledgement = await store.call("LRANGE", "events", 0, -1)
    assert b'"duration":14400' in acknowledgement
    assert b"Testing notifications" in test


async def test_an_open_acknowledgement_is_ended(client: Client, store: Store) -> None:
    await report(store, ("db:disk", "critical", START))
    now = client.backend.now()
    body = {"unscheduled_maintenances": [{"duration": 3600, "summary": "at work"}]}
    assert (await client.post("/unscheduled_maintenances/checks/db:disk", body)).status == 204
    await drained(store, now)
    until = "/unscheduled_maintenances/0/end_time"
    reply = await client.patch(
        "/unscheduled_maintenances/checks/db:disk", replaced(until, "2026-01-01T00:00:00Z")
    )
    assert reply.status == 204
    [status] = (await client.get("/status_report/checks/db:disk")).json["status_reports"]
    assert status["in_unscheduled_maintenance"] is False


async def test_reports_are_about_checks_with_links_to_them(client: Client, store: Store) -> None:
    await entity(store, "web", "12")
    await an_outage(store)
    links = {"entity": ["12"], "check": ["web:HTTP"]}
    for path in ("checks/web:HTTP", "checks", "entities/12", "entities"):
        found = (await client.get(f"/outage_report/{path}")).json
        [row] = found["outage_reports"]
        assert row["links"] == links
        [outage] = row["outages"]
        assert (outage["state"], outage["start_time"], outage["end_time"], outage["duration"]) == (
            *("critical", START + 100, START + 300),
            200,
        )
        assert [one["id"] for one in found["linked"]["checks"]] == ["web:HTTP"]
        assert [one["id"] for one in found["linked"]["entities"]] == ["12"]
    [status] = (await client.get("/status_report/checks")).json["status_reports"]
    assert (status["name"], status["state"], status["last_change"]) == ("HTTP", "ok", START + 300)


async def test_downtime_leaves_out_scheduled_maintenance(client: Client, store: Store) -> None:
    await an_outage(store)
    await maintenance.create_scheduled(store, "web:HTTP", START + 150, 50, "planned", START)
    query = f"start_time={written(START)}&end_time={written(START + 600)}"
    [row] = (await client.get(f"/downtime_report/checks/web:HTTP?{query}")).json["downtime_reports"]
    assert row["total_seconds"] == {"critical": 150, "ok": 450}
    assert row["percentages"] == {"critical": 25.0, "ok": 75.0}
    assert [one["summary"] for one in row["downtime"]] == [
        "it is critical [split start]",
        "it is critical [split finish]",
    ]


async def test_metrics_count_checks_and_entities(client: Client, store: Store) -> None:
    await report(store, ("web:HTTP", "critical", START), ("db:disk", "ok", START))
    found = (await client.get("/metrics")).json
    assert found["checks"] == {"all": 2, "enabled": 2, "failing": 1}
    assert found["entities"] == {"all": 2, "enabled": 2}
    assert found["events"]["all"] == 2
    assert sum(found["check_freshness"].values()) == 2
    assert (await client.get("/metrics/checks")).json == found["checks"]
    assert list((await client.get("/metrics?filter=checks")).json) == ["checks"]


async def test_a_thousand_ids_in_one_path(client: Client, store: Store) -> None:
    await entity(store, "big", "1")
    for number in range(1_000):
        await known_checks.add(store, f"big:check {number:04}", (), START)
    ids = ",".join(f"big:check%20{number:04}" for number in range(1_000))
    found = (await client.get(f"/checks/{ids}")).json["checks"]
    assert [one["name"] for one in found] == [f"check {number:04}" for number in range(1_000)]
    body = {"scheduled_maintenances": [{"start_time": "2040-01-01T00:00:00Z", "duration": 60}]}
    assert (await client.post(f"/scheduled_maintenances/checks/{ids}", body)).status == 204


async def test_many_contacts_take_as_few_searches_as_two(client: Client, store: Store) -> None:
    tag = added("/contacts/0/links/tags/-", "night")
    requests: list[tuple[str, str, Any]] = [
        ("PATCH", "contacts/{0}", [tag, replaced("/contacts/0/last_name", "A")]),
        ("POST", "contacts/{0}/media", {"media": [SMS]}),
        ("PATCH", "media/{1}", [replaced("/media/0/interval", 60)]),
        ("DELETE", "media/{1}", None),
        ("DELETE", "contacts/{0}", None),
    ]

    async def searches(count: int) -> list[int]:
        people = [f"person-{number}" for number in range(count)]
        given = [{"id": one, "first_name": "A"} for one in people]
        await client.post("/contacts", {"contacts": given})
        ids, found = (",".join(people), ",".join(f"{one}_sms" for one in people)), list[int]()
        for method, path, body in requests:
            before = await _scans(store)
            assert (await client.ask(method, f"/{path.format(*ids)}", body)).status in (201, 204)
            found.append(await _scans(store) - before)
        return found

    assert await searches(20) == await searches(2)


async def _scans(store: Store) -> int:
    """How often the store was asked for a page of keys so far."""
    stats = await store.call("INFO", "commandstats")
    calls: int = stats["cmdstat_scan"]["calls"]
    return calls


async def test_the_place_of_many_new_ones_is_that_of_all(client: Client) -> None:
    given = [{"id": f"person-{number}", "first_name": "A"} for number in range(500)]
    reply = await client.post("/contacts", {"contacts": given})
    assert (reply.status, len(reply.json)) == (201, 500)
    assert reply.headers["Location"].endswith("/contacts")


async def test_a_rule_moves_to_another_contact_in_one_step(client: Client, store: Store) -> None:
    await record_keeping.build(store, lambda _: None)
    given = [{"id": one, "first_name": one} for one in ("alice", "bob")]
    await client.post("/contacts", {"contacts": given})
    rules = {"notification_rules": [{"tags": [f"tag {number}"]} for number in range(30)]}
    new = (await client.post("/contacts/alice/notification_rules", rules)).json
    moved = await client.patch(
        "/contacts/bob", added("/contacts/0/links/notification_rules/-", new[0])
    )
    assert moved.status == 204
    shown = (await client.get("/contacts/alice,bob")).json["contacts"]
    assert [len(one["links"]["notification_rules"]) for one in shown] == [29, 1]
    await client.delete(f"/notification_rules/{new[1]}")
    assert [one async for one in record_verify.differences(store)] == []
