"""Decides which groups a server belongs to, and how many jobs it runs at the same time."""

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from watchbell.alerting import expressions
from watchbell.fleet.model import Group, Server

MAIN = "main"
"""The group of servers that match no other group."""
PER_CORE = 4


def matching(hostname: str, groups: Iterable[Group]) -> tuple[str, ...]:
    """The groups whose expression matches the hostname; without any, `main`."""
    found = sorted(
        group.id
        for group in groups
        if group.hostname_match and expressions.matches(group.hostname_match, hostname)
    )
    return tuple(found) or (MAIN,)


def regrouped(server: Server, groups: Mapping[str, Group]) -> Server:
    """The server in the groups that it belongs to. One whose last group was deleted is assigned
    automatically again."""
    existing = tuple(id_ for id_ in server.groups if id_ in groups or id_ == MAIN)
    if not server.auto_group and existing:
        return server if existing == server.groups else replace(server, groups=existing)
    found = matching(server.hostname, groups.values())
    if found == server.groups and server.auto_group:
        return server
    return replace(server, groups=found, auto_group=True)


def slots(server: Server, groups: Mapping[str, Group]) -> int:
    """Jobs that the server runs at the same time: by its own limit, else by the lowest of its
    groups, else by the settings of its agent, else four for each core."""
    if server.max_jobs is not None:
        return server.max_jobs
    limits = _limits(server.groups, groups)
    if limits:
        return min(limits)
    cores = server.info.cpu.get("cores")
    return server.info.slots or PER_CORE * (cores if isinstance(cores, int) and cores > 0 else 1)


def _limits(ids: Collection[str], groups: Mapping[str, Group]) -> list[int]:
    known = [groups[id_].max_jobs_per_server for id_ in ids if id_ in groups]
    return [limit for limit in known if limit is not None]
