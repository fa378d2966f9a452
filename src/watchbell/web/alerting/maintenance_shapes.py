"""What the API accepts and returns for maintenance."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from watchbell.alerting.windows import Kind

Check = Annotated[str, Meta(min_length=1, max_length=2_001)]
Words = Annotated[str, Meta(min_length=1, max_length=200)]
Seconds = Annotated[int, Meta(ge=0, le=1 << 40)]
Id = Annotated[str, Meta(min_length=1, max_length=60)]
Checks = Annotated[list[Check], Meta(max_length=1_000)]


class NewMaintenance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For checks by name, or all that match a pattern."""

    pattern: Annotated[str, Meta(max_length=2_001)] = ""
    """`ENTITY[:CHECK]` with shell globs, or expressions between slashes."""
    checks: Checks = []
    kind: Kind = "scheduled"
    start: Words | Seconds = "now"
    """In words, as `tomorrow 08:00`, or seconds since 1970."""
    duration: Words | Seconds | None = None
    """In words, as `2 hours`, or seconds. Either this or `end` is needed."""
    end: Words | Seconds | None = None
    zone: Annotated[str, Meta(max_length=100)] = ""
    """The time zone in which words are read; by default that of the settings."""
    summary: Annotated[str, Meta(max_length=1_000)] = ""


class MaintenancePreview(Struct, frozen=True, kw_only=True):
    """What would be done."""

    kind: Kind
    start: int
    end: int
    duration: int
    count: int
    """Checks that are selected."""
    checks: list[str]
    """The first of them."""
    id: str
    """The id for `/maintenance/end` once it is scheduled."""
    remark: str = ""
    """How a date was read whose day and month could be swapped."""


class MaintenanceView(Struct, frozen=True, kw_only=True):
    """Equal windows: of one kind, start, length and summary."""

    id: str
    kind: Kind
    start: int
    end: int
    duration: int
    summary: str
    when: Literal["past", "current", "future"]
    count: int
    """Checks that have such a window."""
    checks: list[str]
    """The first of them."""


class MaintenanceEnd(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    checks: Checks = []
    """Only for these checks; by default for all that have such a window."""


class MaintenanceResize(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    end: Words | Seconds
    checks: Checks = []
    zone: Annotated[str, Meta(max_length=100)] = ""


class Done(Struct, frozen=True, kw_only=True):
    count: int
    """Checks for which it was done."""
    left: list[str] = []
    """The first of those for which there was nothing to do."""
