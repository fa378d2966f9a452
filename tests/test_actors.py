"""Who may do what: roles, scopes of keys, and how each actor is named."""

from typing import get_args

import pytest
from msgspec.structs import replace

from watchbell.actors import (
    EVERYTHING,
    KINDS,
    PRIVILEGES,
    ROLE_PRIVILEGES,
    ROLES,
    Actor,
    Grant,
    KeyScope,
    Privilege,
    Role,
    Subject,
    Verb,
    by_link,
    grants_of,
    in_chat,
    may,
    may_create_key,
    may_give,
    may_ping,
    on_command_line,
    privilege_to,
    privileges_of,
    signed_in,
    system,
    visitor,
    with_key,
)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_all_that_lesser_roles_may(role: Role) -> None:
    lesser = ROLES[: ROLES.index(role)]
    assert all(ROLE_PRIVILEGES[one] < ROLE_PRIVILEGES[role] for one in lesser)


def key_of(role: Role, *scopes: KeyScope) -> Actor:
    return with_key(signed_in("alice", role), "1f", granted(*scopes))


def granted(*scopes: KeyScope) -> tuple[Grant, ...]:
    return (Grant(privileges=privileges_of(scopes)),)


def test_each_kind_of_definition_has_three_privileges() -> None:
    expected = {"create_categories", "edit_categories", "delete_categories"}
    assert {privilege_to(verb, "category") for verb in get_args(Verb)} == expected
    found = {privilege_to(verb, kind) for verb in get_args(Verb) for kind in KINDS}
    assert len(found) == 3 * len(KINDS)
    assert found < EVERYTHING


@pytest.mark.parametrize(
    ("role", "privileges"),
    [
        ("viewer", ("read", "metrics")),
        ("operator", ("run_jobs", "abort_jobs", "tag_jobs", "operate", "intake")),
        ("editor", ("create_events", "edit_plugins", "delete_categories", "edit_groups", "write")),
        ("administrator", ("admin", "delete_jobs", "add_servers", "edit_roles", "bulk_export")),
    ],
)
def test_a_role_is_a_set_of_privileges(role: Role, privileges: tuple[Privilege, ...]) -> None:
    lesser = ROLES[: ROLES.index(role)]
    for privilege in privileges:
        assert may(signed_in("alice", role), privilege)
        assert not any(may(signed_in("alice", one), privilege) for one in lesser)


@pytest.mark.parametrize(
    ("scopes", "role", "privileges"),
    [
        (("admin",), "viewer", {"metrics", "read"}),
        (("intake",), "viewer", set()),
        (("intake", "read"), "operator", {"intake", "metrics", "read"}),
        (("ping",), "administrator", set()),
    ],
)
def test_a_key_may_no_more_than_its_owner(
    scopes: tuple[KeyScope, ...], role: Role, privileges: set[Privilege]
) -> None:
    key = key_of(role, *scopes)
    assert key.privileges == privileges
    assert {one for one in PRIVILEGES if may(key, one)} == privileges


@pytest.mark.parametrize(
    ("role", "scopes", "allowed"),
    [
        ("viewer", ("read",), True),
        ("viewer", ("intake",), False),
        ("viewer", ("ping",), False),
        ("operator", ("ping",), True),
        ("operator", ("intake", "read", "operate"), True),
        ("operator", ("write",), False),
        ("editor", ("admin",), False),
        ("administrator", ("admin",), True),
    ],
)
def test_nobody_gives_a_key_more_than_they_have(
    role: Role, scopes: tuple[KeyScope, ...], allowed: bool
) -> None:
    owner = signed_in("alice", role)
    assert may_create_key(owner, scopes, granted(*scopes)).allowed is allowed


@pytest.mark.parametrize(
    ("actor", "reads", "operates", "administers"),
    [
        (visitor(), False, False, False),
        (signed_in("alice", "viewer"), True, False, False),
        (signed_in("alice", "administrator"), True, True, True),
        (key_of("administrator", "read"), True, False, False),
        (in_chat("Alice"), True, True, False),
        (by_link("Alice"), True, True, False),
        (on_command_line("root@web-1"), True, True, True),
        (system("first start"), True, True, True),
    ],
)
def test_what_an_actor_may_depends_on_how_they_came_in(
    actor: Actor, reads: bool, operates: bool, administers: bool
) -> None:
    assert may(actor, "read").allowed is reads
    assert may(actor, "operate").allowed is operates
    assert may(actor, "admin").allowed is administers


def test_a_refusal_says_what_is_missing() -> None:
    permission = may(signed_in("alice", "viewer"), "write")
    assert not permission
    assert permission.reason == "this needs the privilege write, which you do not have"
    assert may(signed_in("alice", "editor"), "write").reason == ""


def test_a_ping_key_works_while_its_owner_may_operate() -> None:
    assert may_ping(signed_in("alice", "operator"))
    assert not may_ping(signed_in("alice", "viewer"))


DB, WEB, BOTH = frozenset({"db"}), frozenset({"web"}), frozenset({"db", "web"})


@pytest.mark.parametrize(
    ("categories", "groups", "subject", "runs", "edits"),
    [
        ((), (), Subject("backups", DB), True, True),
        ((), (), Subject("backups", frozenset()), True, True),
        (("backups",), (), Subject("backups"), True, True),
        (("backups",), (), Subject("reports"), False, False),
        (("backups",), (), Subject(), True, True),
        ((), ("db", "web"), Subject("", WEB), True, True),
        ((), ("db",), Subject("", WEB), False, False),
        ((), ("db",), Subject("", BOTH), True, False),
        ((), ("db",), Subject("", frozenset()), False, False),
        ((), ("db",), Subject(), True, True),
        (("backups",), ("db",), Subject("backups", DB), True, True),
        (("backups",), ("db",), Subject("backups", WEB), False, False),
        (("backups",), ("db",), Subject("reports", DB), False, False),
    ],
)
def test_privileges_can_be_limited_to_categories_and_groups(
    categories: tuple[str, ...], groups: tuple[str, ...], subject: Subject, runs: bool, edits: bool
) -> None:
    editor = Grant(
        privileges=ROLE_PRIVILEGES["editor"],
        categories=frozenset(categories),
        groups=frozenset(groups),
    )
    alice = signed_in("alice", "editor", grants=[editor])
    for privilege in PRIVILEGES:
        is_held = privilege in ROLE_PRIVILEGES["editor"]
        defines = privilege.startswith(("create_", "edit_"))
        expected = is_held and (edits if defines else runs)
        assert may(alice, privilege, subject).allowed is expected, privilege
    admin = replace(editor, privileges=frozenset[Privilege]({"admin"}))
    assert all(may(signed_in("a", "viewer", grants=[admin]), one, subject) for one in PRIVILEGES)


def test_what_one_grant_refuses_another_may_allow() -> None:
    own = Grant(privileges=ROLE_PRIVILEGES["viewer"])
    role = Grant(privileges=frozenset({"run_jobs"}), categories=frozenset({"backups"}))
    alice = signed_in("alice", "viewer", grants=grants_of(own, [role]))
    assert may(alice, "read", Subject("reports"))
    assert may(alice, "run_jobs", Subject("backups"))
    refusal = may(alice, "run_jobs", Subject("reports"))
    assert refusal.reason == "you have no access to the category reports"


def test_a_role_without_limits_does_not_lift_those_of_a_person() -> None:
    own = Grant(privileges=ROLE_PRIVILEGES["viewer"], categories=frozenset({"backups"}), groups=DB)
    runner = Grant(privileges=frozenset({"run_jobs"}))
    alice = signed_in("alice", "viewer", grants=grants_of(own, [runner]))
    assert may(alice, "run_jobs", Subject("backups", DB))
    assert not may(alice, "run_jobs", Subject("reports", DB))
    assert not may(alice, "run_jobs", Subject("backups", WEB))


def test_the_limits_of_its_owner_bind_a_key() -> None:
    own = Grant(privileges=ROLE_PRIVILEGES["operator"], categories=frozenset({"backups"}))
    owner = signed_in("alice", "operator", grants=[own])
    limited = Grant(privileges=frozenset({"run_jobs"}), groups=DB)
    key = with_key(owner, "1f", (limited,))
    assert may_create_key(owner, (), (limited,))
    assert may(key, "run_jobs", Subject("backups", DB))
    assert not may(key, "run_jobs", Subject("reports", DB))
    assert not may(key, "run_jobs", Subject("backups", WEB))


@pytest.mark.parametrize(
    ("grant", "allowed"),
    [
        (Grant(privileges=frozenset({"run_jobs"}), categories=frozenset({"backups"})), True),
        (Grant(privileges=frozenset({"run_jobs"})), False),
        (Grant(privileges=frozenset({"run_jobs"}), categories=frozenset({"reports"})), False),
        (Grant(privileges=frozenset({"edit_roles"})), True),
        (Grant(privileges=frozenset({"admin"})), False),
        (Grant(), True),
    ],
)
def test_nobody_gives_a_role_more_than_they_have(grant: Grant, allowed: bool) -> None:
    own = Grant(privileges=frozenset({"edit_roles"}))
    runner = Grant(privileges=frozenset({"run_jobs"}), categories=frozenset({"backups"}))
    alice = signed_in("alice", "viewer", grants=grants_of(own, [runner]))
    assert may_give(alice, [grant]).allowed is allowed
    assert may_give(signed_in("bob", "administrator"), [grant])
    assert (
        may_give(with_key(alice, "1f", (Grant(privileges=EVERYTHING),)), [grant]).allowed is allowed
    )


@pytest.mark.parametrize(
    ("actor", "shown", "audited"),
    [
        (signed_in("alice", "viewer"), "alice", "alice"),
        (key_of("viewer"), "alice (key 1f)", "alice (key 1f)"),
        (
            with_key(signed_in("", "viewer"), "1f", ()),
            "command line (key 1f)",
            "command line (key 1f)",
        ),
        (by_link("Alice"), "Alice", "Alice (link)"),
        (by_link(""), "", ""),
        (in_chat("Alice"), "Alice", "Alice"),
        (
            on_command_line("root@web-1", "command line, sudo by alice"),
            "root@web-1",
            "root@web-1 (command line, sudo by alice)",
        ),
    ],
)
def test_an_actor_is_named_for_people_and_for_the_audit_log(
    actor: Actor, shown: str, audited: str
) -> None:
    assert (actor.display_name, actor.audit_name) == (shown, audited)
