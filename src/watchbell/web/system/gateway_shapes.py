"""What the API accepts and returns for gateways."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from watchbell.gateways.overview import Level
from watchbell.gateways.test_send import Part

Medium = Annotated[str, Meta(min_length=1, max_length=100)]
AlertId = Annotated[str, Meta(min_length=1, max_length=200)]


class GatewaySetting(Struct, frozen=True):
    name: str
    value: str | int | float | bool


class GatewayView(Struct, frozen=True, kw_only=True):
    """A medium of the settings, and its status."""

    name: str
    kind: str
    is_alive: bool
    """Whether a process has worked on it in the last seconds."""
    health: Level
    """`critical` where it does not deliver, `warning` where some messages fail."""
    words: str
    """Why, in one line."""
    state: str
    """The report of that process: how many alerts it delivered, or until when it waits for a server
    that is unavailable."""
    seen: int | None
    queued: int
    """Alerts in the queue."""
    on_its_way: int
    """Alerts that are being delivered, or wait for a retry."""
    delivered: int
    given_up: int
    """Alerts that were given up, ever."""
    failed: int
    """Alerts that were given up and are kept, to be sent again."""
    last_success: int | None
    last_answer: str
    last_failure: int | None
    last_error: str
    settings: list[GatewaySetting]
    """Settings that differ from the default, without secrets; only for administrators."""


class FailedAlert(Struct, frozen=True, kw_only=True):
    """An alert that was given up, or data that is not an alert."""

    id: str
    given_up: int
    since: int
    """When the gateway received it."""
    check: str
    state: str
    address: str
    tries: int
    error: str
    raw: str = ""
    """The beginning of data that is not an alert and can't be sent again."""


class RetryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    medium: Medium
    ids: Annotated[list[AlertId], Meta(max_length=1_000)] = []
    all: bool = False
    """All that were given up, in place of the ids."""


class RetryResult(Struct, frozen=True):
    id: str
    status: Literal["again", "unknown"]


class RetryResults(Struct, frozen=True):
    count: int
    """Alerts that are sent again."""
    items: list[RetryResult]
    """The result for each id."""


class TestRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    medium: Medium
    address: Annotated[str, Meta(min_length=1, max_length=1_000)]


class TestAnswer(Struct, frozen=True):
    answer: str
    """What the server answered when it accepted the message."""


class MessagePreview(Struct, frozen=True):
    """The message of a medium for a sample alert."""

    medium: str
    kind: str
    parts: list[Part]
