"""Rules over HTTP: described while they are written, tried before they are stored, and kept."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.alerting.scenes import Stage
from tests.web.site import Site
from watchbell.alerting import contacts, rules
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.schedule import spoken
from watchbell.schedule.week import ALWAYS
from watchbell.store.client import Store
from watchbell.web import audit

KEYS = Alerting()
ALICE = Contact(
    id="alice",
    first_name="Alice",
    timezone="Europe/Rome",
    media={
        "email": Medium(address="alice@example.com"),
        "sms": Medium(address="+390551234567"),
    },
)
OFF, OFFICE = "0" * 48, "0" * 16 + "1" * 20 + "0" * 12
WORK = (OFF, *[OFFICE] * 5, OFF)
MONTHLY = {
    "start_time": "2026-01-05 08:00:00",
    "end_time": "2026-01-05 18:00:00",
    "rrules": [{"rule_type": "Monthly", "validations": {"day_of_week": {"1": [1]}}}],
}
RULES = "/api/v1/rules?contact=alice"


def rome(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Europe/Rome")).timestamp())


@pytest.fixture(autouse=True)
async def alice(store: Store) -> None:
    await contacts.save(store, ALICE)


async def stored(store: Store) -> tuple[Rule, ...]:
    return (await contacts.known(store, "alice")).rules


async def test_a_rule_is_made_of_a_week_and_stored_as_the_command_line_does(
    site: Site, store: Store
) -> None:
    data = {"tags": ["database"], "week": WORK, "critical_media": ["email", "sms", "sms"]}
    async with site.somebody("editor") as editor:
        answer = await editor.post(RULES, json=data)
        assert answer.status == 201, answer.text
        shown = answer.json()
        assert (await editor.get(RULES)).json() == {"items": [shown], "next": None}
        path = f"/api/v1/rule?contact=alice&id={shown['id']}"
        assert (await editor.get(path)).json() == shown
    [rule] = await stored(store)
    assert list(rule.time_restrictions) == spoken.windows("mon-fri 08:00-18:00")
    assert shown["words"] == (
        "If the event is tagged database, Monday to Friday, 08:00 to 18:00: "
        "critical by email and sms, warning is not sent, unknown is not sent."
    )
    assert (shown["week"], shown["not_weekly"]) == (list(WORK), [])
    assert (shown["is_specific"], shown["missing_media"]) == (True, [])
    [entry] = [one.entry for one in await audit.read(store, "", 9) if "rule" in one.entry.action]
    assert (entry.action, entry.subject) == ("rule.add", "alice")
    assert "database" in entry.details


async def test_a_time_that_is_no_week_is_kept_as_it_is_until_it_is_painted_over(
    site: Site, store: Store
) -> None:
    async with site.somebody("editor") as editor:
        first = (await editor.post(RULES, json={"time_restrictions": [MONTHLY]})).json()
        assert (first["week"], first["time_restrictions"]) == (None, [MONTHLY])
        assert first["not_weekly"] == [
            "every month on the first Monday, 08:00 to 18:00: it is not the same every week"
        ]
        path = f"/api/v1/rule?contact=alice&id={first['id']}"
        kept = {"time_restrictions": first["time_restrictions"], "warning_media": ["email"]}
        assert (await editor.ask("PUT", path, json=kept)).status == 200
        assert list((await stored(store))[0].time_restrictions) == [MONTHLY]
        painted = await editor.ask("PUT", path, json=kept | {"week": WORK})
        assert painted.json()["week"] == list(WORK)
        always = await editor.ask("PUT", path, json={"week": ALWAYS})
        assert always.json()["time_restrictions"] == []
        never = await editor.ask("PUT", path, json={"week": [OFF] * 7})
    assert never.status == 422
    assert never.json()["errors"][0]["field"] == "time_restrictions"


async def test_a_rule_is_changed_only_as_it_was_seen_and_by_its_own_contact(
    site: Site, store: Store
) -> None:
    await contacts.save(store, Contact(id="bob", first_name="Bob"))
    async with site.somebody("editor") as editor:
        rule = (await editor.post(RULES, json={"entities": ["Web-1"]})).json()
        assert rule["entities"] == ["web-1"]
        path = f"/api/v1/rule?contact=alice&id={rule['id']}"
        mine = {"If-Match": f'"{rule["version"]}"'}
        first = await editor.ask("PUT", path, json={"entities": ["web-2"]}, headers=mine)
        late = await editor.ask("PUT", path, json={"entities": ["web-3"]}, headers=mine)
        assert (first.status, late.status) == (200, 412)
        for other in (f"contact=bob&id={rule['id']}", "contact=alice&id=nothing", "contact=x&id=y"):
            url = f"/api/v1/rule?{other}"
            assert (await editor.get(url)).status == 404
            assert (await editor.ask("PUT", url, json={})).status == 404
            assert (await editor.ask("DELETE", url)).status == 404
        assert [one.entities for one in await stored(store)] == [("web-2",)]
        assert (await editor.ask("DELETE", path)).status == 204
    assert await stored(store) == ()


async def test_a_rule_that_can_not_be_read_says_so_and_is_mended_by_saving(
    site: Site, store: Store
) -> None:
    await rules.save(store, Rule(id="r", contact_id="alice", critical_media=("email",)))
    await store.call("HSET", KEYS.rule("r"), "tags", "[1")
    async with site.somebody("editor") as editor:
        [shown] = (await editor.get(RULES)).json()["items"]
        assert (shown["unreadable"], shown["regex_entities"]) == (["tags"], [])
        assert shown["words"] == "Matches nothing, since its tags can't be read."
        path = "/api/v1/rule?contact=alice&id=r"
        mended = await editor.ask("PUT", path, json={"tags": ["db"], "critical_media": ["email"]})
    assert mended.json()["unreadable"] == []
    assert [rule.tags for rule in await stored(store)] == [("db",)]


@pytest.mark.parametrize(
    ("data", "fields", "words"),
    [
        ({}, [], "If no specific rule matches, at any time: critical is not sent"),
        ({"critical_blackhole": True}, [], "critical is dropped"),
        ({"week": WORK}, [], "Monday to Friday, 08:00 to 18:00"),
        ({"week": [OFF] * 7}, ["time_restrictions"], "at any time"),
        (
            {"regex_tags": ["("], "entities": ["a:b"], "critical_media": ["X"]},
            ["entities", "regex_tags", "critical_media"],
            "which is not a valid expression and matches nothing",
        ),
        ({"time_restrictions": [{"start_time": "soon"}]}, ["time_restrictions"], "can't be read"),
        ({"regex_entities": ["(?!)(?#tags)"]}, ["tags"], "Matches nothing"),
    ],
)
async def test_a_rule_is_described_with_all_that_is_wrong_with_it(
    site: Site, store: Store, data: dict[str, Any], fields: list[str], words: str
) -> None:
    async with site.program("read") as reader:
        answer = await reader.post("/api/v1/rules/describe", json=data)
    assert answer.status == 200, answer.text
    assert sorted(one["field"] for one in answer.json()["problems"]) == sorted(fields)
    assert words in answer.json()["words"]
    assert await stored(store) == ()


async def test_a_description_tells_of_media_that_the_contact_does_not_have(site: Site) -> None:
    data = {"critical_media": ["email", "jabber"], "time_restrictions": [MONTHLY]}
    async with site.program("read") as reader:
        told = (await reader.post("/api/v1/rules/describe?contact=alice", json=data)).json()
        nobody = await reader.post("/api/v1/rules/describe?contact=nobody", json=data)
    assert told["missing_media"] == ["jabber"]
    assert told["times"] == ["every month on the first Monday, 08:00 to 18:00"]
    assert nobody.status == 404


async def test_rules_are_tried_by_the_code_that_decides_and_nothing_is_stored(
    site: Site, store: Store
) -> None:
    unsaved = [
        {"id": "db", "tags": ["database"], "week": WORK, "critical_media": ["sms", "jabber"]},
        {"id": "all", "critical_media": ["email"]},
    ]

    async def asked(event: dict[str, Any]) -> Any:
        data = {"contact": "alice", "rules": unsaved, "event": event}
        answer = await reader.post("/api/v1/rules/try", json=data)
        assert answer.status == 200, answer.text
        return answer.json()

    event = {"check": "db-1.example.com:Disk / Util", "tags": ["database"]}
    async with site.program("read") as reader:
        at_work = await asked(event | {"time": rome("2026-11-18 17:59:59")})
        at_night = await asked(event | {"time": rome("2026-11-18 18:00:00")})
        untagged = await asked({"check": "Web-1:HTTP", "time": rome("2026-11-18 12:00:00")})
        warning = await asked(event | {"state": "warning", "time": rome("2026-11-18 12:00:00")})
    assert at_work["words"] == "Alice would be notified by sms."
    assert (at_work["zone"], at_work["local_time"]) == (
        "Europe/Rome",
        "Wednesday, 2026-11-18 17:59",
    )
    assert at_work["tags"] == ["/", "database", "db-1", "disk", "example.com", "util"]
    assert [(one["id"], one["matches"], one["counts"]) for one in at_work["rules"]] == [
        ("db", True, True),
        ("all", True, False),
    ]
    assert "overrides it" in at_work["rules"][1]["words"]
    assert [one["words"] for one in at_night["rules"]] == [
        "it does not apply at this time",
        "matches",
    ]
    assert at_night["media"] == ["email"]
    assert untagged["rules"][0]["words"] == "the event has no tag database"
    assert (warning["is_told"], warning["words"]) == (
        False,
        "Alice would not be notified: no rule names a medium for warning.",
    )
    assert await stored(store) == ()


async def test_without_rules_of_its_own_a_trial_takes_those_that_are_stored(
    site: Site, store: Store
) -> None:
    hole = Rule(id="hole", contact_id="alice", entities=("web-1",), critical_blackhole=True)
    await rules.save(store, hole)
    async with site.program("read") as reader:
        answers = [
            (
                await reader.post(
                    "/api/v1/rules/try",
                    json={"contact": "alice", "event": {"check": check, "time": 1_800_000_000}},
                )
            ).json()
            for check in ("web-1:HTTP", "web-2:HTTP")
        ]
    assert (
        answers[0]["words"] == "Alice would not be notified: a matching rule drops critical alerts."
    )
    assert answers[1]["words"] == "Alice would be notified by email and sms."
    assert [one["id"] for one in answers[1]["rules"]] == ["hole", "the general rule"]
    assert [one.id for one in await stored(store)] == ["hole"]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"contact": "nobody", "event": {"check": "a:b"}}, 404),
        ({"contact": "alice", "event": {"check": "a :  "}}, 422),
        ({"contact": "alice", "event": {"check": "web"}}, 422),
        ({"contact": "alice", "event": {"check": "a:b", "state": "ok"}}, 400),
        ({"contact": "alice", "event": {"check": "a:b", "time": -1}}, 400),
        ({"contact": "alice", "event": {"check": "a:b"}, "rules": [{"week": [OFF] * 7}]}, 422),
        ({"contact": "alice", "event": {"check": "a:b"}, "rules": [{"week": ["x"]}]}, 400),
    ],
)
async def test_a_trial_that_makes_no_sense_is_refused(
    site: Site, data: dict[str, Any], status: int
) -> None:
    async with site.program("read") as reader:
        answer = await reader.post("/api/v1/rules/try", json=data)
    assert answer.status == status, answer.text


@pytest.mark.parametrize(
    ("text", "is_weekly"),
    [("mon-fri 08:00-18:00", True), ("mon-fri 18:00-08:00; sat,sun", True), ("day 1,15", False)],
)
async def test_times_are_taken_in_words(site: Site, text: str, is_weekly: bool) -> None:
    async with site.program("read") as reader:
        told = (await reader.get("/api/v1/rules/times", params={"text": text})).json()
        bad = await reader.get("/api/v1/rules/times", params={"text": "soon"})
    assert told["time_restrictions"] == spoken.windows(text)
    assert (told["week"] is not None) == is_weekly
    assert len(told["words"]) == len(told["time_restrictions"])
    assert (bad.status, bad.json()["errors"][0]["field"]) == (422, "text")


async def test_a_trial_may_be_on_the_contacts_clock(site: Site) -> None:
    data = {"contact": "alice", "event": {"check": "a:b", "at": "2026-11-18 03:00"}}
    async with site.program("read") as reader:
        told = (await reader.post("/api/v1/rules/try", json=data)).json()
        for at in ("soon", "1960-01-01"):
            bad = {"contact": "alice", "event": {"check": "a:b", "at": at}}
            answer = await reader.post("/api/v1/rules/try", json=bad)
            assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "at")
    assert told["time"] == rome("2026-11-18 03:00")


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_only_an_editor_changes_rules(site: Site, store: Store, role: Any) -> None:
    await rules.save(store, Rule(id="r", contact_id="alice"))
    async with site.somebody(role) as visitor:
        assert (await visitor.get(RULES)).status == 200
        assert (await visitor.post("/api/v1/rules/describe", json={})).status == 200
        path = "/api/v1/rule?contact=alice&id=r"
        for method, url in (("POST", RULES), ("PUT", path), ("DELETE", path)):
            assert (await visitor.ask(method, url, json={})).status == 403
    assert len(await stored(store)) == 1


async def test_the_first_rule_may_replace_the_general_one_and_says_what_applies_elsewhere(
    site: Site, store: Store
) -> None:
    data = {"tags": ["database"], "week": WORK, "critical_media": ["sms"]}
    kept = "Outside its hours, the general rule applies: Alice is notified of critical by email"
    async with site.somebody("editor") as editor:
        path = "/api/v1/rules/describe?contact=alice"
        told = (await editor.post(path, json=data)).json()
        assert told["outside"].startswith(kept)
        assert told["can_replace_general"]
        told = (await editor.post(path, json={**data, "replace_general": True})).json()
        assert told["outside"] == "Outside its hours, Alice is not notified."
        assert await stored(store) == ()
        event = {"check": "db-1:Disk", "tags": ["database"], "at": "sat 03:00"}
        drafts = [{**data, "replace_general": True}]
        body = {"contact": "alice", "rules": drafts, "event": event}
        assert not (await editor.post("/api/v1/rules/try", json=body)).json()["is_told"]
        answer = await editor.post(RULES, json={**data, "replace_general": True})
        assert answer.status == 201, answer.text
    specific, general = sorted(await stored(store), key=lambda rule: not rule.is_specific)
    assert specific.critical_media == ("sms",)
    assert general == Rule(id=general.id, contact_id="alice")


async def test_a_trial_takes_the_tags_of_the_latest_report(site: Site, store: Store) -> None:
    await Stage(store).send("ok", "db-1:Disk", tags=("database",))
    data = {"tags": ["database"], "critical_blackhole": True}
    body = {"contact": "alice", "rules": [data], "event": {"check": "DB-1:Disk"}}
    async with site.program("read") as reader:
        told = (await reader.post("/api/v1/rules/try", json=body)).json()
    assert (told["is_told"], told["tags"]) == (False, ["database", "db-1", "disk"])
