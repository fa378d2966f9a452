"""What the API accepts and returns for notification rules."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from watchbell.alerting.decide.routing import RuleVerdict
from watchbell.alerting.model import LARGEST
from watchbell.schedule.week import Grid
from watchbell.web.problems import FieldError

Text = Annotated[str, Meta(max_length=1_000)]
Texts = Annotated[tuple[Text, ...], Meta(max_length=200)]
Media = Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=50)]
Week = Annotated[
    tuple[Annotated[str, Meta(pattern="^[01]{48}$")], ...], Meta(min_length=7, max_length=7)
]
Restrictions = Annotated[tuple[dict[str, Any], ...], Meta(max_length=50)]


class RuleBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule; an empty condition holds for everything."""

    entities: Texts = ()
    """The entity is one of these."""
    regex_entities: Texts = ()
    """All of these expressions match its name."""
    tags: Texts = ()
    """The event has all of these tags."""
    regex_tags: Texts = ()
    """Each of these expressions matches one of its tags."""
    time_restrictions: Restrictions = ()
    """It is within one of these times, in the stored form; empty for any time."""
    week: Week | None = None
    """In place of `time_restrictions`: seven days from Sunday on, each of 48 half hours, 1 or 0."""
    critical_media: Media = ()
    warning_media: Media = ()
    unknown_media: Media = ()
    critical_blackhole: bool = False
    """Nothing critical reaches the contact, whatever other rules say."""
    warning_blackhole: bool = False
    unknown_blackhole: bool = False
    replace_general: bool = False
    """Replace the automatic general rule, so that nothing is sent where this rule does not apply.
    Without it that rule stays, or is made when it is needed."""


class RuleView(Struct, frozen=True, kw_only=True):
    id: str
    words: str
    """What it does, in one sentence."""
    is_specific: bool
    """Whether it goes before general rules, having other conditions than a time."""
    entities: tuple[str, ...]
    regex_entities: tuple[str, ...]
    tags: tuple[str, ...]
    regex_tags: tuple[str, ...]
    time_restrictions: tuple[dict[str, Any], ...]
    week: Grid | None
    """The same as a week of half hours; null where it is no weekly pattern."""
    not_weekly: list[str]
    """The times that a week can't show, and why."""
    critical_media: tuple[str, ...]
    warning_media: tuple[str, ...]
    unknown_media: tuple[str, ...]
    critical_blackhole: bool
    warning_blackhole: bool
    unknown_blackhole: bool
    unreadable: tuple[str, ...]
    """Fields that are stored in a form that can't be read; the rule matches nothing."""
    missing_media: list[str]
    """Media that it names and the contact does not have."""
    version: str


class RuleDescription(Struct, frozen=True, kw_only=True):
    words: str
    problems: list[FieldError]
    """Why it would not be stored."""
    week: Grid | None
    not_weekly: list[str]
    times: list[str]
    """Each of its times in words."""
    is_specific: bool
    missing_media: list[str]
    outside: str = ""
    """What applies where the rule does not, in one sentence; empty where it always applies, and
    without a contact."""
    can_replace_general: bool = False
    """Whether it would be the contact's first rule beside the automatic one, which
    `replace_general` replaces."""


class Times(Struct, frozen=True, kw_only=True):
    """Times in the stored form."""

    time_restrictions: list[dict[str, Any]]
    week: Grid | None
    not_weekly: list[str]
    words: list[str]
    """Each of the times in words."""


class SampleEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    check: Annotated[str, Meta(min_length=3, max_length=1_001)]
    """`ENTITY:CHECK`."""
    state: Literal["critical", "warning", "unknown"] = "critical"
    tags: Annotated[tuple[Annotated[str, Meta(max_length=200)], ...], Meta(max_length=100)] = ()
    """In addition to those from its names; by default those of the check's latest report."""
    time: Annotated[int, Meta(ge=0, le=LARGEST)] | None = None
    """Seconds since 1970; now by default."""
    at: Annotated[str, Meta(max_length=100)] = ""
    """In place of `time`, a time on the contact's clock, as `sat 03:00` or `2026-11-20 14:00`."""


class TriedRule(RuleBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(max_length=200)] = ""


class TryBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    contact: Annotated[str, Meta(min_length=1, max_length=500)]
    rules: Annotated[tuple[TriedRule, ...], Meta(max_length=100)] | None = None
    """Instead of the stored ones."""
    event: SampleEvent


class TrialView(Struct, frozen=True, kw_only=True):
    is_told: bool
    words: str
    """Whether the contact would be alerted, and by which media; or why not."""
    media: list[str]
    rules: list[RuleVerdict]
    zone: str
    time: int
    local_time: str
    """When that is on the contact's clock."""
    tags: list[str]
    """All tags of the event."""
