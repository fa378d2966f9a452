"""The records of alerting: events, notifications, contacts, rules, alerts and decisions."""

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

State = Literal["ok", "warning", "critical", "unknown"]
FAILING = ("warning", "critical", "unknown")
KNOWN_MEDIA = (
    *("email", "sms", "slack", "jabber", "pagerduty"),
    *("webhook", "sms_twilio", "sms_nexmo", "sns"),
)
"""A rule that names all of these means every medium, those too that people have named."""
SEVERITY = {"ok": 0, "unknown": 1, "warning": 2, "critical": 3}

EventType = Literal["service", "action"]
EventState = Literal[
    "ok", "warning", "critical", "unknown", "acknowledgement", "test_notifications"
]
NotificationType = Literal["problem", "recovery", "acknowledgement", "test"]

LONGEST_NAME = 1_000
LARGEST = (1 << 33) - 1
"""The latest time, in the year 2242, and the longest duration. Milliseconds are beyond it."""
# Limits of JSON that is decoded as an event at once; half of the longest name, since a name may
# grow in lower case.
_Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME // 2)]
_Whole = Annotated[int, Meta(ge=0, le=LARGEST)]
if TYPE_CHECKING:
    _Tags = tuple[str, ...]
else:
    _Tags = tuple[str, ...] | None  # in JSON, where null is as good as none


class CheckEvent(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One report about a check, validated and normalised."""

    type: EventType
    state: EventState
    entity: _Name
    check: _Name
    time: _Whole | None = None
    summary: str | None = None
    details: str | None = None
    perfdata: str | None = None
    tags: _Tags = ()
    acknowledgement_id: str | None = None
    duration: _Whole | None = None
    initial_failure_delay: _Whole | None = None
    repeat_failure_delay: _Whole | None = None
    initial_recovery_delay: _Whole | None = None
    ttl: _Whole | None = None
    """Seconds after which silence about the check becomes `unknown`."""
    check_latency: float | None = None

    @property
    def id(self) -> str:
        return f"{self.entity}:{self.check}"


class Rejection(Struct, frozen=True):
    """Why a pushed item is not a check event."""

    reason: str
    field: str = ""
    """The first invalid field; empty where no single field is."""


class Notification(Struct, kw_only=True):
    """A change that contacts should be notified of, as it is queued on `notifications`."""

    event_id: str
    event_hash: str | None = None
    state: EventState
    summary: str | None = None
    details: str | None = None
    time: int | None = None
    duration: int | None = None
    count: int = 0
    last_state: str | None = None
    last_summary: str | None = None
    state_duration: int | None = None
    type: NotificationType
    severity: State
    tags: list[str] = []

    @property
    def entity(self) -> str:
        return self.event_id.partition(":")[0]

    @property
    def check(self) -> str:
        return self.event_id.partition(":")[2]


class RollupEntry(Struct, kw_only=True):
    state: str
    duration: int | None = None
    summary: str | None = None


class Alert(Struct, kw_only=True):
    """One message to one contact by one medium, as it is queued on `MEDIA_notifications`."""

    id: str
    media: str
    address: str
    rollup: Literal["problem", "recovery"] | None = None
    contact_id: str
    contact_first_name: str
    contact_last_name: str
    event_id: str
    event_hash: str | None = None
    state: EventState
    summary: str | None = None
    duration: int | None = None
    last_state: str | None = None
    last_summary: str | None = None
    state_duration: int | None = None
    details: str | None = None
    time: int | None = None
    notification_type: NotificationType
    event_count: int = 0
    tags: list[str] = []
    rollup_alerts: dict[str, RollupEntry] = {}
    rollup_threshold: int | None = None


class Rule(Struct, frozen=True, kw_only=True):
    """When, about what and by which media a contact is notified. An empty field matches all."""

    id: str
    contact_id: str
    entities: tuple[str, ...] = ()
    regex_entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    regex_tags: tuple[str, ...] = ()
    time_restrictions: tuple[dict[str, object], ...] = ()
    unknown_media: tuple[str, ...] = ()
    warning_media: tuple[str, ...] = ()
    critical_media: tuple[str, ...] = ()
    unknown_blackhole: bool = False
    warning_blackhole: bool = False
    critical_blackhole: bool = False

    @property
    def is_specific(self) -> bool:
        return bool(self.entities or self.regex_entities or self.tags or self.regex_tags)


class Medium(Struct, frozen=True, kw_only=True):
    address: str
    interval: int = 900
    """Seconds before the same state is alerted again."""
    rollup_threshold: int = 0
    """Failing checks from which on alerts are rolled up; 0 for never."""


class Contact(Struct, frozen=True, kw_only=True):
    id: str
    first_name: str
    last_name: str = ""
    email: str = ""
    timezone: str = ""
    tags: tuple[str, ...] = ()
    media: dict[str, Medium] = {}
    pagerduty: dict[str, str] = {}
    rules: tuple[Rule, ...] = ()


class Decision(Struct, kw_only=True, omit_defaults=True):
    """One decision about a check, in the order of fields in which it is stored."""

    verdict: str
    state: str
    by: str
    time: int
    until: int | None = None
    summary: str = ""
    tags: list[str] = []
    """The tags that rules were matched with."""
    contacts: list["ContactDecision"] = []


class ContactDecision(Struct, kw_only=True, omit_defaults=True):
    contact: str
    reason: str
    rules: list[str] = []
    """The result of each rule, by `encode_rule_result`."""
    media: dict[str, str] = {}


def encode_rule_result(rule_id: str, words: str) -> str:
    return f"{rule_id}: {words}"


def decode_rule_result(stored: str) -> tuple[str, str]:
    """A rule's id, which has no `: `, and its result in words."""
    rule_id, _, words = stored.partition(": ")
    return rule_id, words


def split_id(event_id: str) -> tuple[str, str]:
    """Entity and check of `ENTITY:CHECK`; an entity has no colon, a check may."""
    entity, _, check = event_id.partition(":")
    return entity, check


@lru_cache(65_536)
def short_id(event_id: str) -> str:
    """The id by which people acknowledge a check."""
    return hashlib.sha1(event_id.encode(), usedforsecurity=False).hexdigest()[:8]
