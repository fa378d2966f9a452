"""Rules, their times and trials as the API shows them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from msgspec.structs import asdict

from watchbell.alerting import rule_format, rule_text
from watchbell.alerting.decide.trial import Sample, Trial
from watchbell.alerting.model import Contact, Rule
from watchbell.errors import Refused
from watchbell.schedule import recurrence, week
from watchbell.schedule.names import listed
from watchbell.schedule.week import Grid, NotWeekly
from watchbell.web.alerting.rule_shapes import RuleView, TrialView
from watchbell.web.versions import version


def time_text(restriction: dict[str, object]) -> str:
    try:
        return recurrence.parse(restriction).describe()
    except Refused as error:
        return f"a time that can't be read: {error}"


def trial_view(trial: Trial, person: Contact, sample: Sample) -> TrialView:
    name = person.first_name
    words = f"{name} would not be notified: {trial.reason}."
    if trial.media:
        words = f"{name} would be notified by {listed(trial.media)}."
    local = datetime.fromtimestamp(sample.time, ZoneInfo(trial.zone))
    return TrialView(
        is_told=bool(trial.media),
        words=words,
        media=trial.media,
        rules=trial.rules,
        zone=trial.zone,
        time=sample.time,
        local_time=f"{local:%A, %Y-%m-%d %H:%M}",
        tags=trial.tags,
    )


def view(rule: Rule, person: Contact, now: int) -> RuleView:
    bad = rule_format.unreadable(rule)
    readable = rule_format.without_unreadable(rule, bad)
    grid, reasons = week_of(rule.time_restrictions, now)
    fields = asdict(readable)
    del fields["contact_id"]
    return RuleView(
        words=rule_text.describe(rule),
        is_specific=rule.is_specific,
        week=grid,
        not_weekly=reasons,
        unreadable=bad,
        missing_media=missing_media(rule, person),
        version=version(rule),
        **fields,
    )


def week_of(times: Iterable[dict[str, object]], now: int) -> tuple[Grid | None, list[str]]:
    """The times as a week of half hours, or why they are not one."""
    grid = week.grid_of(times, datetime.fromtimestamp(now, UTC).date())
    return (None, list(grid.reasons)) if isinstance(grid, NotWeekly) else (grid, [])


def missing_media(rule: Rule, person: Contact) -> list[str]:
    named = dict.fromkeys((*rule.critical_media, *rule.warning_media, *rule.unknown_media))
    return [name for name in named if name not in person.media]
