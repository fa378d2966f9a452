"""What people may read and change whose rights are limited to some groups of servers.

Whoever puts a server into a group decides where the jobs of that group run, with their secrets.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from watchbell.actors import Actor, Privilege, Subject, may
from watchbell.errors import Refused
from watchbell.fleet.model import AlertRecord, Server, SnapshotHead

_OTHER = "\0"
"""Stands for a group to which only people without limits have access."""
_LIMITED = "you have access to some server groups only"


def readable_groups(actor: Actor) -> frozenset[str] | None:
    """The groups whose servers they may read; None for all."""
    if may(actor, "read", Subject(groups=frozenset({_OTHER}))):
        return None
    own = [*actor.grants, *(actor.owner.grants if actor.owner else ())]
    named = frozenset[str]().union(*(grant.groups for grant in own))
    return frozenset(one for one in named if may(actor, "read", Subject(groups=frozenset({one}))))


def readable(actor: Actor, known: Iterable[Server]) -> list[Server]:
    """Those servers that they may read: one of its groups must be among theirs."""
    groups = readable_groups(actor)
    return [one for one in known if groups is None or not groups.isdisjoint(one.groups)]


def check_readable(actor: Actor, server: Server) -> None:
    """Raises Refused."""
    if not readable(actor, [server]):
        raise Refused("you have no access to the groups of this server", code="forbidden")


def readable_snapshots(actor: Actor, heads: Iterable[SnapshotHead]) -> list[SnapshotHead]:
    """Those of servers and groups that they may read."""
    groups = readable_groups(actor)
    return [one for one in heads if groups is None or not groups.isdisjoint(one.groups)]


def check_snapshot(actor: Actor, privilege: Privilege, head: SnapshotHead) -> None:
    """Whether they have access to what it shows. Raises Refused."""
    if not readable_snapshots(actor, [head]):
        raise Refused("you have no access to the groups of this snapshot", code="forbidden")
    _check(actor, privilege, frozenset(head.groups))


def check_alert(actor: Actor, privilege: Privilege, alert: AlertRecord) -> None:
    """Whether they have access to one of the groups of its server. Raises Refused."""
    _check(actor, privilege, frozenset(alert.groups))


def check_snooze(actor: Actor, groups: Collection[str]) -> None:
    """Whether they may silence alerts of a definition with these groups; none: of all servers.
    Raises Refused."""
    if groups:
        check_groups(actor, "operate", groups)
    else:
        check_any_group(actor, "operate", "alerts of other groups would be snoozed, too")


def check_server(actor: Actor, privilege: Privilege, server: Server) -> None:
    """Whether they have access to one of its groups. Raises Refused."""
    _check(actor, privilege, frozenset(server.groups))


def check_groups(actor: Actor, privilege: Privilege, groups: Collection[str]) -> None:
    """Whether they have access to each of these groups. Raises Refused."""
    for group in groups:
        _check(actor, privilege, frozenset({group}))


def check_any_group(actor: Actor, privilege: Privilege, reason: str) -> None:
    """Whether they have access to all groups, since hostnames decide. Raises Refused."""
    if may(actor, privilege) and not may(actor, privilege, Subject(groups=frozenset({_OTHER}))):
        raise Refused(f"{_LIMITED}: {reason}", code="forbidden")


def check_change(actor: Actor, server: Server, changes: Mapping[str, Any]) -> None:
    """Whether they may change a server like this. Raises Refused."""
    check_server(actor, "update_servers", server)
    groups = changes.get("groups", server.groups)
    if isinstance(groups, list | tuple):
        check_groups(actor, "update_servers", {*map(str, groups)} - set(server.groups))
    is_renamed = changes.get("hostname", server.hostname) != server.hostname
    if is_renamed or not groups or (changes.get("autoGroup") and not server.auto_group):
        check_any_group(actor, "update_servers", "the hostname would decide about the groups")


def _check(actor: Actor, privilege: Privilege, groups: frozenset[str]) -> None:
    permission = may(actor, privilege, Subject(groups=groups))
    if not permission:
        raise Refused(permission.reason, code="forbidden")
