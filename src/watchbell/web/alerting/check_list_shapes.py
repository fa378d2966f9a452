"""What the API accepts and returns for many checks."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from watchbell.alerting.windows import Kind
from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.alerting.check_rows import CheckCounts, CheckRow

Check = Annotated[str, Meta(min_length=3, max_length=2_001)]
Words = Annotated[str, Meta(min_length=1, max_length=200)]
Seconds = Annotated[int, Meta(ge=0, le=1 << 40)]
Summary = Annotated[str, Meta(max_length=1_000)]
Delay = Annotated[int, Meta(ge=0, le=1 << 32)]


class ChecksPage(Struct, frozen=True, kw_only=True):
    items: list[CheckRow]
    next: str | None = None
    """Where the next page begins; null on the last one."""
    count: int
    """All that match."""
    counts: CheckCounts
    """Of all that match the filter without its conditions on states."""
    moment: str
    """Send it as `resume` to `/checks/live` to get all changes since."""


class Targets(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Checks by name, or all that match a filter."""

    checks: Annotated[list[Check], Meta(max_length=10_000)] = []
    filter: CheckFilter | None = None
    dry_run: bool = False
    """Only report for which checks it would be done; at most the first thousand are listed."""


class Acknowledgement(Targets, frozen=True, kw_only=True, forbid_unknown_fields=True):
    summary: Summary = ""
    """A comment for others; your name is put before it."""
    duration: Words | Seconds = "4 hours"
    """How long nobody is alerted again, in words or seconds."""


class PlannedMaintenance(Targets, frozen=True, kw_only=True, forbid_unknown_fields=True):
    start: Words | Seconds = "now"
    """In words, as `tomorrow 08:00`, or seconds since 1970."""
    duration: Words | Seconds | None = None
    """In words, as `2 hours`, or seconds. Either this or `end` is needed."""
    end: Words | Seconds | None = None
    zone: Annotated[str, Meta(max_length=100)] = ""
    """The time zone in which words are read; by default that of the settings."""
    summary: Summary = ""


class EndOfMaintenance(Targets, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Kind | None = None
    """By default both kinds. Ending unscheduled maintenance withdraws an acknowledgement."""


class NotificationTest(Targets, frozen=True, kw_only=True, forbid_unknown_fields=True):
    __test__ = False

    summary: Summary = "Testing notifications to all contacts"


class CheckSettings(Targets, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All are seconds. Null resets a setting; what is left out stays as it is."""

    initial_failure_delay: Delay | UnsetType | None = UNSET
    repeat_failure_delay: Delay | UnsetType | None = UNSET
    initial_recovery_delay: Delay | UnsetType | None = UNSET
    ttl: Delay | UnsetType | None = UNSET


class ActionResult(Struct, frozen=True):
    check: str
    done: bool
    reason: str = ""
    """Why it was not done."""


class ActionResults(Struct, frozen=True, kw_only=True):
    count: int
    """Checks that were selected."""
    done: int
    """Of these, the checks for which it was done, or would be."""
    dry_run: bool
    items: list[ActionResult]
    window: str = ""
    """The id of the scheduled maintenance, by which `/maintenance/end` cancels it."""
