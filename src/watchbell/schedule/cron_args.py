"""Reads schedules from the `cron_args` of a job, and from text."""

from collections.abc import Mapping
from zoneinfo import ZoneInfo

from watchbell.errors import Refused
from watchbell.schedule import crontab, fields, keywords, wallclock, zones
from watchbell.schedule.firing import Every, Limited, Never, Schedule
from watchbell.units import duration

WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
    "@minutely": "* * * * *",
}

_UTC = ZoneInfo("UTC")
_KEYS = ("cronstring", *keywords.NAMES, "start_date", "end_date", "timezone", "jitter")
_LONGEST_PERIOD = 366 * 86_400


def parse(
    text: str, zone: ZoneInfo = _UTC, *, upstream_weekdays: bool = False, field: str = "schedule"
) -> Schedule:
    """A schedule from five crontab fields, or from a word such as `@daily` or `@every 90s`.

    With `upstream_weekdays`, 0 is Monday, and a day has to match both day of month and weekday.
    `field` is the field that a refusal names.
    """
    words = " ".join(text.lower().split())
    if len(words) > keywords.LONGEST:
        fields.refuse(field, f"at most {keywords.LONGEST} characters", text)
    if words == "@never":
        return Never()
    if words.partition(" ")[0] == "@every":
        return _every(field, words)
    if words.startswith("@"):
        words = _expression(field, words)
    if not upstream_weekdays:
        return crontab.calendar(field, words, zone)
    return _read_upstream(field, words, zone)


def from_cron_args(
    value: object, zone: ZoneInfo = _UTC, *, upstream_weekdays: bool = False
) -> Schedule:
    """The schedule of a job; `zone` is used where it names none."""
    args = {key: one for key, one in fields.mapping("cron_args", value).items() if one is not None}
    for key in args:
        if key not in _KEYS:
            fields.refuse("cron_args", f"only {', '.join(_KEYS)}", key)
    if "timezone" in args:
        zone = zones.named("cron_args.timezone", args["timezone"])
    schedule = _schedule(args, zone, upstream_weekdays=upstream_weekdays)
    start, end = _limits(args, zone)
    jitter = fields.between(0, _LONGEST_PERIOD)("cron_args.jitter", args.get("jitter", 0))
    if start is None and end is None and jitter == 0:
        return schedule
    return Limited(schedule, start, end, jitter)


def _schedule(args: Mapping[str, object], zone: ZoneInfo, *, upstream_weekdays: bool) -> Schedule:
    times = {name: args[name] for name in keywords.NAMES if name in args}
    text = args.get("cronstring", "")
    if text == "" and times:
        return keywords.calendar("cron_args", times, zone)
    if text == "" or times:
        names = ", ".join(keywords.NAMES)
        raise Refused(f"expected either cronstring or some of {names}", field="cron_args")
    if not isinstance(text, str):
        fields.refuse("cron_args.cronstring", "text such as '30 2 * * *'", text)
    return parse(text, zone, upstream_weekdays=upstream_weekdays, field="cron_args.cronstring")


def _limits(args: Mapping[str, object], zone: ZoneInfo) -> tuple[int | None, int | None]:
    """First and last moment; None where it makes no difference to the schedule."""
    start = _moment(args, "start_date", zone, zones.FIRST)
    end = _moment(args, "end_date", zone, zones.LAST)
    if end < start:
        fields.refuse("cron_args.end_date", "a time not before start_date", args["end_date"])
    return (start if start > zones.FIRST else None), (end if end < zones.LAST else None)


def _moment(args: Mapping[str, object], name: str, zone: ZoneInfo, otherwise: int) -> int:
    """A date alone means its first moment."""
    if name not in args:
        return otherwise
    stamp = fields.moment(f"cron_args.{name}", args[name])
    if stamp.tzinfo is not None:
        moment = int(stamp.timestamp())
    else:
        moment = wallclock.epoch(wallclock.shown(stamp), zone)
    return max(zones.FIRST, min(moment, zones.LAST))


def _expression(field: str, word: str) -> str:
    if word == "@reboot":
        raise Refused(
            "'@reboot' is not supported, because a fleet never starts as a whole;"
            " expected times such as '30 2 * * *' or '@daily'",
            field=field,
        )
    if word not in WORDS:
        fields.refuse(field, f"one of {', '.join(WORDS)}, @never or '@every 90s'", word)
    return WORDS[word]


def _every(field: str, text: str) -> Every:
    try:
        seconds = duration(text.removeprefix("@every"))
    except Refused:
        seconds = 0
    if not 1 <= seconds <= _LONGEST_PERIOD:
        fields.refuse(field, "'@every' and 1 second to 366 days, such as '@every 90s'", text)
    return Every(seconds)


def _read_upstream(field: str, text: str, zone: ZoneInfo) -> Schedule:
    order = ("minute", "hour", "day", "month", "day_of_week")
    return keywords.calendar(field, dict(zip(order, crontab.five(field, text), strict=True)), zone)
