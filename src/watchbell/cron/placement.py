"""Decides where a job may run, by its hosts and tags and those of an instance."""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from msgspec import Struct


class Candidate(Protocol):
    """What the decision needs to know of an instance."""

    @property
    def host(self) -> str: ...
    @property
    def tags(self) -> Collection[str]: ...


class Site(Struct, frozen=True):
    """Where an instance runs."""

    host: str
    tags: tuple[str, ...] = ()


class Placement(Struct, frozen=True, order=True):
    """Where a job may run. Without hosts and tags: everywhere."""

    hosts: tuple[str, ...] = ()
    """The instance must be on one of these hosts; case does not matter."""
    tags: tuple[str, ...] = ()
    """The instance must have all of these."""

    def __bool__(self) -> bool:
        """Whether it restricts anything."""
        return bool(self.hosts or self.tags)


def refusal(placement: Placement, candidate: Candidate) -> str:
    """Why the instance may not run the job; empty if it may."""
    hosts = {host.casefold() for host in placement.hosts}
    if hosts and candidate.host.casefold() not in hosts:
        return f"{candidate.host} is not among its hosts ({', '.join(placement.hosts)})"
    lacking = [tag for tag in placement.tags if tag not in candidate.tags]
    if lacking:
        return f"{candidate.host} lacks the tag {', '.join(lacking)}"
    return ""


def permits(placement: Placement, candidate: Candidate) -> bool:
    return not refusal(placement, candidate)


def obstacle(placement: Placement, candidates: Iterable[Candidate]) -> str:
    """Why none of the instances may run the job; empty if one may, or there are none."""
    refusals = [refusal(placement, one) for one in candidates]
    if not placement or not refusals or not all(refusals):
        return ""
    return f"no instance may run it: {_listed(sorted(set(refusals)))}"


def _listed(reasons: Sequence[str], most: int = 3) -> str:
    more = f"; and {len(reasons) - most} more" if len(reasons) > most else ""
    return "; ".join(reasons[:most]) + more
