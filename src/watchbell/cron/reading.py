"""Settings that decide how definitions are read."""

from typing import NamedTuple
from zoneinfo import ZoneInfo

from watchbell.schedule import zones
from watchbell.settings import Cron as CronSettings


class Reading(NamedTuple):
    zone: ZoneInfo = ZoneInfo("UTC")
    """The time zone of schedules that name none."""
    upstream_weekdays: bool = False
    """Whether 0 is Monday, as in Cronken."""


AS_USUAL = Reading()


def reading(settings: CronSettings) -> Reading:
    zone = zones.named("cron.timezone", settings.timezone)
    return Reading(zone, settings.upstream_weekdays)
