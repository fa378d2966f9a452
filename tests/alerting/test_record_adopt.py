"""A store that has only records comes into the working layout."""

from typing import Any

import pytest

from tests.alerting.consistency import Picture
from tests.alerting.sandstorm import Sandstorm
from tests.alerting.test_record_keeping import differences
from watchbell.alerting import contacts, entities, record_keeping
from watchbell.alerting.keys import Alerting
from watchbell.alerting.record_adopt import Adopted, Invalid, RecordAdoption
from watchbell.errors import Refused
from watchbell.store.client import Store
from watchbell.store.replies import pairs

NOW = 1_700_000_000


async def adopted(store: Store) -> Adopted:
    return await RecordAdoption(store, NOW).run(lambda *_: None)


async def a_shop(store: Store) -> dict[str, str]:
    """Records of people and checks, and the ids of some of them."""
    other = Sandstorm(store)
    await other.contact("alice", first_name="Alice", last_name="A", timezone="Europe/Rome")
    await other.call("SADD", "contact:alice:attrs:tags", "night")
    await other.call("HSET", "contact:alice:attrs:pagerduty_credentials", "subdomain", "shop")
    ids = {"mail": await other.medium("alice", "email", "alice@example.com", interval=60)}
    await other.rule("alice", "rule-1", entities="web", critical_media="email")
    await other.contact("bob", first_name="Bob")
    await other.entity("7", "Web", "alice", tags="front shop")
    ids["check"] = await other.check(
        "7", "Web", "HTTP: 80", state="critical", summary="down", last_update=NOW - 10,
        last_problem_alert=NOW - 70,
    )  # fmt: skip
    await other.call("SADD", f"check:{ids['check']}:contacts_ids", "bob")
    for time, state, count in ((NOW - 900, "ok", 3), (NOW - 100, "critical", 5)):
        is_told: dict[str, str | int] = {"notified": "true", "last_notification_count": count + 1}
        ids[state] = await other.state(ids["check"], time, state, count=count, **is_told)
    ids["open"] = await other.window("scheduled", ids["check"], NOW - 50, NOW + 50, "work")
    ids["ack"] = await other.window("unscheduled", ids["check"], NOW - 60, NOW + 500, "mine")
    ids["bare"] = await other.check("", "db", "load")
    return ids


async def test_contacts_entities_and_checks_are_adopted_with_their_ids(store: Store) -> None:
    ids = await a_shop(store)
    found = await adopted(store)
    assert (found.invalid, found.refused) == ([], [])
    assert (found.contacts, found.rules, found.entities) == (2, 1, 1)
    assert (found.checks, found.changes, found.windows) == (2, 2, 2)
    alice = (await contacts.everybody(store, ["alice"]))[0]
    assert (alice.timezone, alice.tags, alice.pagerduty) == (
        "Europe/Rome",
        ("night",),
        {"subdomain": "shop"},
    )
    assert alice.media["email"].interval == 60
    assert (alice.rules[0].entities, alice.rules[0].critical_media) == (("web",), ("email",))
    entity = (await entities.find(store))[0]
    assert (entity.id, entity.name, entity.tags) == ("7", "web", ("front", "shop"))
    assert entity.check_contacts == {"HTTP: 80": ("bob",)}
    story = (await Picture.of(store)).story("web:HTTP: 80")
    assert (story["state"], story["updated"], story["enabled"]) == ("critical", NOW - 10, True)
    assert [(time, state) for time, state, _ in story["history"]] == [
        (NOW - 900, "ok"),
        (NOW - 100, "critical"),
    ]
    for kind, name in (("check", "check"), ("medium", "mail"), ("check_state", "ok")):
        assert await store.call("EXISTS", f"{kind}:{ids[name]}:attrs") == 1
    assert await store.call("HGET", f"scheduled_maintenance:{ids['open']}:attrs", "summary")
    assert await record_keeping.keeping(store) == "on"
    assert await differences(store) == []


async def test_maintenance_and_the_last_alert_are_in_force_after_an_adoption(store: Store) -> None:
    await a_shop(store)
    await adopted(store)
    keys = Alerting(store.prefix)
    assert await store.call("GET", keys.scheduled("web", "HTTP: 80")) == b"%d" % (NOW - 50)
    assert await store.call("GET", keys.unscheduled("web", "HTTP: 80")) == b"%d" % (NOW - 60)
    assert await store.call("GET", keys.last_problem("web", "HTTP: 80")) == b"%d" % (NOW - 70)
    assert await store.call("ZSCORE", keys.failed_checks(), "web:HTTP: 80") == NOW - 100


async def test_an_adoption_can_be_repeated_at_any_point(store: Store) -> None:
    await a_shop(store)

    for at in (("contacts", 2), ("entities", 1), ("checks", 2), ("records", 10)):

        def stop(what: str, done: int, _: int, at: tuple[str, int] = at) -> None:
            if what == at[0] and done >= at[1]:
                raise KeyError(what)

        with pytest.raises(KeyError):
            await RecordAdoption(store, NOW).run(stop)
    before = await _everything(store)
    again = await adopted(store)
    assert again.invalid == []
    assert await differences(store) == []
    assert await _everything(store) == before


async def _everything(store: Store) -> dict[str, Any]:
    """The stories of the checks, and all people."""
    picture = await Picture.of(store)
    people: Any = [await contacts.everybody(store), await entities.find(store)]
    return {"people": people} | {one: picture.story(one) for one in ("web:HTTP: 80", "db:load")}


async def test_what_is_invalid_is_reported_and_stays(store: Store) -> None:
    await a_shop(store)
    other = Sandstorm(store)
    await other.contact("charlie", email="charlie@example.com")
    await other.contact("dora", first_name="Dora")
    await other.medium("dora", "email", "no address")
    await other.entity("8", "web")
    bad = await other.check("7", "web", "disk", state="broken")
    lost = await other.save("medium", {"type": "sms", "address": "1"})
    await store.call("SADD", "contact::ids", "eve")
    await store.call("SET", "contact:eve:attrs", "garbage")
    found = await adopted(store)
    reasons = {one.key: one.reason for one in found.invalid}
    assert reasons.pop("contact:eve:attrs").startswith("the store can't read it: ")
    assert reasons == {
        "contact:charlie:attrs": "it has no first_name",
        "contact:dora:attrs": "media.email.address: 'no address' is no mail address",
        "entity:8:attrs": "name: the record 7 has the name 'web', too",
        f"check:{bad}:attrs": "state: 'broken' is no state",
        f"medium:{lost}:attrs": "no contact lists it",
    }
    assert found.contacts == 2
    for key in reasons:
        assert await store.call("EXISTS", key) == 1, key
    await store.call("DEL", "contact:eve:attrs", "check::by_state:broken")


async def test_stale_records_are_not_adopted(store: Store) -> None:
    await record_keeping.build(store, lambda _: None)
    await record_keeping.stop(store)
    with pytest.raises(Refused, match="stale"):
        await adopted(store)


async def test_what_was_corrected_is_adopted_by_the_next_attempt(store: Store) -> None:
    ids = await a_shop(store)
    other = Sandstorm(store)
    await other.contact("charlie", last_name="C")
    assert (await adopted(store)).invalid == [
        Invalid("contact:charlie:attrs", "it has no first_name")
    ]
    await other.contact("charlie", first_name="Charlie")
    again = await adopted(store)
    assert (again.contacts, again.invalid, again.known) == (1, [], 2)
    assert await differences(store) == []
    assert await store.call("EXISTS", f"check:{ids['check']}:attrs") == 1


async def test_two_changes_in_one_second_become_two_seconds(store: Store) -> None:
    other = Sandstorm(store)
    check = await other.check("", "web", "disk", state="critical")
    await other.state(check, NOW, "critical", count=9)
    await other.state(check, NOW, "ok", count=8)
    await adopted(store)
    story = (await Picture.of(store)).story("web:disk")
    assert [one[:2] for one in story["history"]] == [(NOW, "ok"), (NOW + 1, "critical")]
    assert await differences(store) == []


async def test_blocks_of_alerts_are_adopted_with_their_ids(store: Store) -> None:
    ids = await a_shop(store)
    other, mail, check = Sandstorm(store), ids["mail"], ids["check"]
    state = await other.block(mail, check, NOW + 60_000, state="critical")
    rollup = await other.block(mail, "", NOW + 70_000, rollup="true")
    whole_check = await other.block(mail, check, NOW + 80_000)
    medium = await other.block(mail, "", NOW + 90_000)
    over = await other.block(mail, check, NOW - 1, state="warning")
    begin = "drop_alerts_for_contact:alice:email"
    found = await adopted(store)
    assert (found.blocks, found.invalid) == (5, [])
    expected = {
        f"{begin}:web:HTTP: 80:critical": (state, NOW + 60_000),
        "drop_rollup_alerts_for_contact:alice:email": (rollup, NOW + 70_000),
        f"{begin}:web:HTTP: 80": (whole_check, NOW + 80_000),
        begin: (medium, NOW + 90_000),
    }
    scores = await store.call("ZRANGE", "drops", 0, -1, "WITHSCORES")
    assert {key.decode(): int(end) for key, end in pairs(scores)} == {
        key: end for key, (_, end) in expected.items()
    }
    for key, (record, end) in expected.items():
        assert 0 < await store.call("TTL", key) <= end - NOW
        assert await store.call("HGET", f"notification_block:{record}:attrs", "expire_at")
    assert not await store.call("EXISTS", f"notification_block:{over}:attrs")
    assert await differences(store) == []


async def test_blocks_that_the_working_layout_cannot_have_are_listed(store: Store) -> None:
    ids = await a_shop(store)
    other = Sandstorm(store)
    lone = await other.block("0" * 32, ids["check"], NOW + 60, state="critical")
    stateless = await other.block(ids["mail"], "", NOW + 60, state="critical")
    found = await adopted(store)
    assert {one.key: one.reason for one in found.invalid} == {
        f"notification_block:{lone}:attrs": "it belongs to no medium of a contact",
        f"notification_block:{stateless}:attrs": "it has a state, but belongs to no check",
    }
