"""Who may do what with events and jobs: the one question, asked with their category and groups."""

from collections.abc import Iterable, Mapping

from watchbell.actors import Actor, Privilege, Subject, may
from watchbell.errors import Refused
from watchbell.fleet.model import Server


def subject(category: str, targets: Iterable[str], servers: Mapping[str, Server]) -> Subject:
    """Of an event or a job: its category, and the groups that its targets are or belong to."""
    groups: set[str] = set()
    for target in targets:
        server = servers.get(target)
        groups |= set(server.groups) if server else {target}
    return Subject(category, frozenset(groups))


def check(actor: Actor, privilege: Privilege, about: Subject) -> None:
    """Raises Refused if they may not."""
    permission = may(actor, privilege, about)
    if not permission:
        raise Refused(permission.reason, code="forbidden")
