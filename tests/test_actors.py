"""Who may do what: roles, scopes of keys, and how each actor is named."""

import pytest
from msgspec.structs import replace

from watchbell.actors import (
    ROLE_PRIVILEGES,
    ROLES,
    Actor,
    KeyScope,
    Privilege,
    Role,
    Subject,
    by_link,
    in_chat,
    may,
    may_create_key,
    may_ping,
    on_command_line,
    signed_in,
    system,
    visitor,
    with_key,
)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_all_that_lesser_roles_may(role: Role) -> None:
    lesser = ROLES[: ROLES.index(role)]
    assert all(ROLE_PRIVILEGES[one] < ROLE_PRIVILEGES[role] for one in lesser)


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
    assert with_key("alice", role, "1", scopes).privileges == privileges


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
def test_nobody_gives_away_more_than_they_have(
    role: Role, scopes: tuple[KeyScope, ...], allowed: bool
) -> None:
    assert may_create_key(role, scopes) is allowed


@pytest.mark.parametrize(
    ("actor", "reads", "operates", "administers"),
    [
        (visitor(), False, False, False),
        (signed_in("alice", "viewer"), True, False, False),
        (signed_in("alice", "administrator"), True, True, True),
        (with_key("alice", "administrator", "1", ("read",)), True, False, False),
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
    assert permission.reason == "this needs the scope write, which you do not have"
    assert may(signed_in("alice", "editor"), "write").reason == ""


def test_a_ping_key_works_while_its_owner_may_operate() -> None:
    assert may_ping(signed_in("alice", "operator"))
    assert not may_ping(signed_in("alice", "viewer"))


@pytest.mark.parametrize(
    ("categories", "groups", "subject", "allowed"),
    [
        ((), (), Subject("backups", frozenset({"db"})), True),
        (("backups",), (), Subject("backups"), True),
        (("backups",), (), Subject("reports"), False),
        (("backups",), (), Subject(), True),
        ((), ("db", "web"), Subject("", frozenset({"web"})), True),
        ((), ("db",), Subject("", frozenset({"web"})), False),
    ],
)
def test_privileges_can_be_limited_to_categories_and_groups(
    categories: tuple[str, ...], groups: tuple[str, ...], subject: Subject, allowed: bool
) -> None:
    alice = Actor(
        name="alice",
        way="session",
        privileges=ROLE_PRIVILEGES["editor"],
        categories=frozenset(categories),
        groups=frozenset(groups),
    )
    assert may(alice, "write", subject).allowed is allowed
    admin = replace(alice, privileges=ROLE_PRIVILEGES["administrator"])
    assert may(admin, "write", subject)


@pytest.mark.parametrize(
    ("actor", "shown", "audited"),
    [
        (signed_in("alice", "viewer"), "alice", "alice"),
        (with_key("alice", "viewer", "1f", ()), "alice (key 1f)", "alice (key 1f)"),
        (with_key("", "viewer", "1f", ()), "command line (key 1f)", "command line (key 1f)"),
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
