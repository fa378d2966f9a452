"""Custom roles, and what users and API keys have beyond their role and scopes."""

from contextlib import suppress

import msgspec
import pytest

from tests.web.site import BY, Site
from watchbell.actors import Grant, Privilege, Subject, may, signed_in
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.audit import Stamp
from watchbell.web.keys import Web
from watchbell.web.people.api_keys import ApiKeys
from watchbell.web.people.rights import CustomRole, Rights
from watchbell.web.people.roles import Roles
from watchbell.web.people.users import Users

RUNNERS = CustomRole(
    id="runners", title="Runners", privileges=("run_jobs",), categories=("backups",)
)


async def test_a_role_applies_at_once_to_those_who_have_it(site: Site) -> None:
    async with (
        site.somebody("administrator", "alice") as alice,
        site.somebody("viewer", "bob") as bob,
    ):
        made = {"id": "runners", "title": "Runners", "privileges": ["run_jobs"]}
        assert (await alice.post("/api/v1/roles", json=made)).status == 201
        given = await alice.ask("PATCH", "/api/v1/users/bob", json={"roles": ["runners"]})
        assert given.json()["roles"] == ["runners"]
        assert given.json()["effective"] == ["metrics", "read", "run_jobs"]
        assert await privileges(bob) == ["metrics", "read", "run_jobs"]
        await alice.ask("PATCH", "/api/v1/roles/runners", json={"privileges": ["tag_jobs"]})
        assert await privileges(bob) == ["metrics", "read", "tag_jobs"]
        await alice.ask("PATCH", "/api/v1/roles/runners", json={"enabled": False})
        assert await privileges(bob) == ["metrics", "read"]


async def privileges(visitor: object) -> list[str]:
    answer = await visitor.get("/api/v1/session")  # type: ignore[attr-defined]
    found: list[str] = answer.json()["privileges"]
    return found


async def test_a_user_is_added_with_everything(site: Site) -> None:
    await site.services.roles.add(RUNNERS, BY)
    async with site.somebody("administrator", "alice") as alice:
        wanted = {
            "role": "viewer",
            "privileges": ["abort_jobs"],
            "roles": ["runners"],
            "categories": ["reports"],
            "groups": ["web"],
        }
        assert (await alice.post("/api/v1/users", json={"name": "bob", **wanted})).status == 201
        listed = (await alice.get("/api/v1/users")).json()["items"]
        (bob,) = [one for one in listed if one["name"] == "bob"]
        assert wanted.items() <= bob.items()
    actor = (await site.services.users.get("bob")).actor({"runners": RUNNERS})
    web, db = frozenset({"web"}), frozenset({"db"})
    assert may(actor, "abort_jobs", Subject("reports", web))
    assert not may(actor, "abort_jobs", Subject("backups", web))
    assert may(actor, "run_jobs", Subject("backups", web))
    assert not may(actor, "run_jobs", Subject("reports", web))
    assert not may(actor, "run_jobs", Subject("backups", db))


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("roles", ["nobody"], "there is no role 'nobody'"),
        ("categories", ["a b"], "'a b' is not an id"),
        ("groups", ["../x"], "'../x' is not an id"),
        ("privileges", ["fly"], ""),
    ],
)
async def test_what_does_not_exist_is_refused_with_its_field(
    site: Site, field: str, value: list[str], reason: str
) -> None:
    async with site.somebody("administrator", "alice") as alice:
        answer = await alice.ask("PATCH", "/api/v1/users/alice", json={field: value})
        key = await alice.post(
            "/api/v1/api-keys", json={"name": "x", "scopes": ["read"], field: value}
        )
    for one in (answer, key):
        assert one.status in (400, 422)
        assert one.json()["errors"][0]["field"].startswith(field)
        assert reason in one.json()["errors"][0]["reason"]


async def test_a_key_can_have_privileges_and_roles_and_no_scope(site: Site) -> None:
    await site.services.roles.add(RUNNERS, BY)
    async with site.somebody("administrator", "alice") as alice:
        body = {"name": "ci", "privileges": ["read"], "roles": ["runners"], "groups": ["web"]}
        made = (await alice.post("/api/v1/api-keys", json=body)).json()
        assert made["key"]["scopes"] == []
        assert made["key"]["roles"] == ["runners"]
        async with site.stranger() as program:
            headers = {"Authorization": f"Bearer {made['secret']}"}
            me = (await program.get("/api/v1/session", headers=headers)).json()
            assert me["privileges"] == ["read", "run_jobs"]
            assert me["scopes"] == ["read"]
            assert (await program.get("/api/v1/users", headers=headers)).status == 403
        path = f"/api/v1/api-keys/{made['key']['id']}"
        changed = await alice.ask("PATCH", path, json={"roles": [], "categories": ["reports"]})
        assert (changed.json()["roles"], changed.json()["categories"]) == ([], ["reports"])
        none = await alice.ask("PATCH", path, json={"privileges": []})
        assert none.json()["errors"][0]["reason"] == "a key needs a scope, a privilege or a role"
    found = await site.services.api_keys.find(made["secret"], int(SYSTEM.now()))
    assert found is not None


async def test_nobody_gives_a_key_what_they_do_not_have(site: Site) -> None:
    admins = CustomRole(id="admins", title="Admins", privileges=("admin",))
    await site.services.roles.add(admins, BY)
    async with site.somebody("operator", "bob") as bob:
        for more in ({"privileges": ["delete_jobs"]}, {"roles": ["admins"]}, {"scopes": ["write"]}):
            answer = await bob.post("/api/v1/api-keys", json={"name": "x", **more})
            assert answer.status == 403, more
        made = await bob.post("/api/v1/api-keys", json={"name": "x", "privileges": ["run_jobs"]})
        path = f"/api/v1/api-keys/{made.json()['key']['id']}"
        assert (await bob.ask("PATCH", path, json={"roles": ["admins"]})).status == 403
        async with site.somebody("operator", "charlie") as charlie:
            assert (await charlie.ask("PATCH", path, json={"name": "mine"})).status == 404


async def test_a_key_loses_what_its_owner_loses(store: Store) -> None:
    users, keys, roles = Users(store), ApiKeys(store, SYSTEM), Roles(store)
    await roles.add(RUNNERS, BY)
    bob = await users.add("bob", "operator", BY, Rights(categories=("backups",)))
    secret, _ = await keys.make("ci", ("operate",), BY, owner=bob)
    assert await allowed(store, secret, "run_jobs", Subject("backups"))
    assert not await allowed(store, secret, "run_jobs", Subject("reports"))
    await users.update("bob", {"role": "viewer"}, BY)
    assert not await allowed(store, secret, "run_jobs", Subject("backups"))
    await users.update("bob", {"roles": ("runners",), "categories": ()}, BY)
    assert await allowed(store, secret, "run_jobs", Subject("backups"))
    assert not await allowed(store, secret, "run_jobs", Subject("reports"))


async def allowed(store: Store, secret: str, privilege: Privilege, subject: Subject) -> bool:
    """As a server sees it that has just started and remembers no key."""
    known = await ApiKeys(store, SYSTEM).find(secret, int(SYSTEM.now()))
    assert known is not None
    return may(known.actor("127.0.0.1"), privilege, subject).allowed


async def test_a_role_that_somebody_has_is_not_removed(store: Store) -> None:
    roles, users = Roles(store), Users(store)
    await roles.add(RUNNERS, BY)
    await users.add("bob", "viewer", BY, Rights(roles=("runners",)))
    await ApiKeys(store, SYSTEM).make("ci", (), BY, given=Rights(roles=("runners",)))
    with pytest.raises(Refused, match="role runners is used by bob, the API key"):
        await roles.remove("runners", BY)
    await users.update("bob", {"roles": ()}, BY)
    for key in await ApiKeys(store, SYSTEM).all():
        await ApiKeys(store, SYSTEM).revoke(key.id, BY)
    await roles.remove("runners", BY)
    with pytest.raises(NotFound):
        await roles.get("runners")


async def test_nobody_makes_or_changes_a_role_that_may_more_than_they(store: Store) -> None:
    roles = Roles(store)
    grant = Grant(privileges=frozenset({"edit_roles", "create_roles", "delete_roles", "run_jobs"}))
    bob = Stamp(signed_in("bob", "viewer", grants=[grant]), 1)
    await roles.add(CustomRole(id="admins", title="Admins", privileges=("admin",)), BY)
    await roles.add(RUNNERS, bob)
    with pytest.raises(Refused, match="you can't give the privilege admin"):
        await roles.update("runners", {"privileges": ("admin",)}, bob)
    with pytest.raises(Refused, match="you can't give the privilege admin"):
        await roles.update("admins", {"privileges": ()}, bob)
    with pytest.raises(Refused, match="you can't give the privilege admin"):
        await roles.remove("admins", bob)
    assert (await roles.get("admins")).privileges == ("admin",)
    assert (await roles.get("runners")).privileges == ("run_jobs",)


@pytest.mark.parametrize("id_", ["_x", "A", "a b", "a-b", "x" * 65])
async def test_an_id_of_a_role_is_a_simple_word(store: Store, id_: str) -> None:
    with pytest.raises(Refused, match="a role's id has"):
        await Roles(store).add(CustomRole(id=id_, title="x"), BY)


async def test_a_role_without_an_id_gets_one(store: Store) -> None:
    made = await Roles(store).add(CustomRole(id="", title="Runners"), BY)
    assert made.id
    assert await Roles(store).all() == [made]
    with pytest.raises(Refused, match="already exists"):
        await Roles(store).add(made, BY)


async def test_a_spoiled_role_grants_nothing_and_stops_nobody(site: Site) -> None:
    await site.services.roles.add(RUNNERS, BY)
    async with site.somebody("viewer", "bob") as bob:
        await site.services.users.update("bob", {"roles": ("runners",)}, BY)
        assert "run_jobs" in await privileges(bob)
        table = Web(site.store.prefix).roles()
        unknown = b'{"id": "runners", "title": "x", "privileges": ["fly"]}'
        for spoiled in (b"", b"{", unknown, b"\xff"):
            await site.store.call("HSET", table, "runners", spoiled)
            assert await privileges(bob) == ["metrics", "read"]


async def test_records_of_before_there_were_roles_can_be_changed(store: Store) -> None:
    table = Web(store.prefix).users()
    old = {"name": "bob", "id": "1", "role": "viewer", "created": 1, "password": ""}
    await store.call("HSET", table, "bob", msgspec.json.encode(old))
    users = Users(store)
    assert (await users.update("bob", {"privileges": ("run_jobs",)}, BY)).role == "viewer"
    await users.set_password("bob", "correct horse battery", BY)
    assert (await users.get("bob")).privileges == ("run_jobs",)
    await users.remove("bob", BY)


async def test_the_last_administrator_stays_whatever_else_they_have(store: Store) -> None:
    users = Users(store)
    await users.add("alice", "administrator", BY, Rights(privileges=("admin",)))
    await users.add("bob", "viewer", BY, Rights(privileges=("admin",)))
    with pytest.raises(Refused, match="alice is the only administrator"):
        await users.update("alice", {"role": "viewer"}, BY)
    with pytest.raises(Refused, match="alice is the only administrator"):
        await users.remove("alice", BY)
    await users.update("alice", {"privileges": (), "categories": ("backups",)}, BY)


async def test_changes_of_rights_are_in_the_audit_log(store: Store) -> None:
    await Roles(store).add(RUNNERS, BY)
    users = Users(store)
    await users.add("bob", "viewer", BY)
    await users.update("bob", {"role": "operator", "roles": ("runners",)}, BY)
    await users.update("bob", {"role": "viewer"}, BY)
    await users.update("bob", {"roles": ()}, BY)
    await Roles(store).update("runners", {"enabled": False}, BY)
    with suppress(Refused):
        await Roles(store).update("runners", {"title": ""}, BY)
    found = [(one.entry.action, one.entry.details) for one in await audit.read(store, "", 10)]
    assert found == [
        ("role.change", "disabled; privileges run_jobs; categories backups"),
        ("user.rights", "none of their own"),
        ("user.role", "operator to viewer"),
        ("user.rights", "viewer to operator; roles runners"),
        ("user.add", "viewer"),
        ("role.add", "privileges run_jobs; categories backups"),
    ]
