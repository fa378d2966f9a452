"""What the API accepts and returns for values and series of monitors."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from watchbell.fleet.model import DataType

Text = Annotated[str, Meta(max_length=20_000)]


class ServerValues(Struct, frozen=True, kw_only=True):
    """What the monitors said of a server at its last sample."""

    server: str
    hostname: str
    title: str
    groups: tuple[str, ...]
    at: float
    """When the sample came."""
    is_stale: bool
    """Whether samples have stopped coming."""
    values: dict[str, float]
    """By monitor; one that counts has the difference to the sample before."""
    alerts: tuple[str, ...]
    """The definitions of its active alerts."""


class Failing(Struct, frozen=True, kw_only=True):
    """A definition that could not be evaluated."""

    id: str
    at: float
    server: str
    """One on which it failed."""
    hostname: str
    reason: str


class Failures(Struct, frozen=True, kw_only=True):
    monitors: list[Failing]
    alerts: list[Failing]


class MonitorSeries(Struct, frozen=True, kw_only=True):
    server: str
    monitor: str
    values: list[float | None]
    """Averages; null where there was no sample."""


class SeriesShown(Struct, frozen=True, kw_only=True):
    """MonitorSeries over the same time: each value is of one bucket."""

    start: int
    """Of the first bucket, in seconds since 1970."""
    step: int
    """Seconds of a bucket."""
    series: list[MonitorSeries]


class MonitorTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An expression to try on the last sample of a server."""

    server: str
    source: Text
    data_match: Text = ""
    data_type: DataType = "float"


class MonitorTested(Struct, frozen=True, kw_only=True):
    value: float | None
    """Null where the sample has nothing about it."""


class AlertTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Properties of an alert definition to try on the last sample of a server."""

    server: str
    definition: dict[str, Any]
    """`expression` and `message`, and what else matters: `samples`, `groups`, `monitor_id`."""
