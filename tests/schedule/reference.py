"""Time restrictions read the slow way: every minute is asked whether a window opens at it."""

from calendar import monthrange
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


@lru_cache
def naive(text: str) -> datetime:
    return datetime.fromisoformat(text)


def starts_at(rule: dict[str, Any], start: datetime, t: datetime) -> bool:
    """Whether ice_cube's rule, of a schedule that starts at `start`, has an occurrence at t."""
    return (
        t >= start
        and all(same(what, start, t) for what in left_to_the_start(rule))
        and all(holds(key, values, t) for key, values in rule["validations"].items())
        and in_step(rule, start, t)
        and ("until" not in rule or t <= naive(rule["until"]))
    )


def in_step(rule: dict[str, Any], start: datetime, t: datetime) -> bool:
    days = (t.date() - start.date()).days
    midnights = timedelta(days=days)
    to_hour = midnights + timedelta(hours=t.hour - start.hour)
    to_minute = to_hour + timedelta(minutes=t.minute - start.minute)
    steps = {
        "Secondly": (t - start) // SECOND,
        "Minutely": to_minute // MINUTE,
        "Hourly": to_hour // timedelta(hours=1),
        "Daily": days,
        "Weekly": (sunday_before(t, rule) - sunday_before(start, rule)).days // 7,
        "Monthly": (t.year - start.year) * 12 + t.month - start.month,
        "Yearly": t.year - start.year,
    }
    return steps[rule["rule_type"]] % int(rule["interval"]) == 0


def sunday_before(t: datetime, rule: dict[str, Any]) -> date:
    """Or whichever day weeks start with."""
    day = t.date()
    while day.isoweekday() % 7 != rule.get("week_start", 0):
        day -= timedelta(days=1)
    return day


def holds(key: str, values: Any, t: datetime) -> bool:
    length = monthrange(t.year, t.month)[1]
    year_length = (date(t.year + 1, 1, 1) - date(t.year, 1, 1)).days
    weekday = t.isoweekday() % 7
    of_year = (t.date() - date(t.year, 1, 1)).days + 1
    if key == "day_of_week":
        same_name = [n for n in range(1, length + 1) if (t.day - n) % 7 == 0]
        place = same_name.index(t.day)
        numbers = values.get(str(weekday), [])
        return place + 1 in numbers or place - len(same_name) in numbers
    known = {
        "day": {weekday},
        "day_of_month": {t.day, t.day - length - 1},
        "day_of_year": {of_year, of_year - year_length - 1},
        "month_of_year": {t.month},
        "hour_of_day": {t.hour},
        "minute_of_hour": {t.minute},
        "second_of_minute": {t.second},
    }
    return bool(known[key] & set(values))


def left_to_the_start(rule: dict[str, Any]) -> set[str]:
    by_unit = {
        "Secondly": set[str](),
        "Minutely": {"second"},
        "Hourly": {"second", "minute"},
        "Daily": {"second", "minute", "hour"},
        "Weekly": {"second", "minute", "hour", "weekday"},
        "Monthly": {"second", "minute", "hour", "day"},
        "Yearly": {"second", "minute", "hour", "day", "month"},
    }
    takes_over = {
        "day": {"weekday", "day"},
        "day_of_week": {"weekday", "day"},
        "day_of_month": {"weekday", "day"},
        "day_of_year": {"weekday", "day", "month"},
        "month_of_year": {"month"},
        "hour_of_day": {"hour"},
        "minute_of_hour": {"minute"},
        "second_of_minute": {"second"},
    }
    return by_unit[rule["rule_type"]].difference(*(takes_over[k] for k in rule["validations"]))


def same(what: str, start: datetime, t: datetime) -> bool:
    if what == "day":
        return t.day == min(start.day, monthrange(t.year, t.month)[1])
    if what == "weekday":
        return t.weekday() == start.weekday()
    return bool(getattr(t, what) == getattr(start, what))


def opens(said: dict[str, Any], t: datetime) -> bool:
    start = naive(said["start_time"])
    if t < start:
        return False
    named = t in {naive(time) for time in said.get("rtimes", [])}
    by_rule = any(starts_at(rule, start, t) for rule in said["rrules"])
    if not (named or by_rule or (not said["rrules"] and t == start)):
        return False
    excepted = t in {naive(time) for time in said.get("extimes", [])}
    return not excepted and not any(starts_at(rule, start, t) for rule in said.get("exrules", []))


def covered(
    said: dict[str, Any], first: datetime, last: datetime, step: timedelta = MINUTE
) -> dict[datetime, bool]:
    """For every step between two readings of the clock, whether a window is open."""
    length = naive(said["end_time"]) - naive(said["start_time"])
    answers = {}
    latest: datetime | None = None
    t = first - length
    while t < last:
        if opens(said, t):
            latest = t
        if t >= first:
            answers[t] = latest is not None and t - latest < length
        t += step
    return answers


def shown(seconds: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(seconds, zone).replace(tzinfo=None)
