"""How definitions are read under the settings; cheap to import, unlike what runs jobs."""

from watchbell.cron.validation import Reading
from watchbell.schedule import zones
from watchbell.settings import Cron as CronSettings


def reading(settings: CronSettings) -> Reading:
    zone = zones.named("cron.timezone", settings.timezone)
    return Reading(zone, settings.upstream_weekdays)
