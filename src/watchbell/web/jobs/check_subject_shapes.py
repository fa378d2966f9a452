"""What the API returns for the subjects of checks."""

from typing import Literal

from msgspec import Struct


class CheckSubject(Struct, frozen=True, kw_only=True):
    """What a check is about."""

    check: str
    kind: Literal["event", "server"]
    id: str
    title: str
    last_job: str = ""
    """The id of the job of an event that was completed last; empty if there is none."""


class CheckSubjects(Struct, frozen=True):
    items: list[CheckSubject]
