"""`watchbell cron preview`."""

from itertools import islice

import click

from watchbell.alerting import phrases
from watchbell.cli.arguments import storable
from watchbell.cli.cron.times import dated, never
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.clock import SYSTEM
from watchbell.cron.reading import reading
from watchbell.schedule import cron_args, zones
from watchbell.settings import Loaded


@click.command
@click.argument("expression", metavar="EXPR", type=storable)
@click.option("--tz", default="", metavar="ZONE", help="Time zone of the expression.")
@click.option(
    "--from", "start", default="", metavar="DATE", help="Show runs from this time on. Default: now."
)
@click.option(
    "--count",
    default=5,
    type=click.IntRange(1, 1000),
    show_default=True,
    metavar="N",
    help="Number of runs to show.",
)
@with_settings()
@as_json
def preview(
    *, loaded: Loaded, expression: str, tz: str, start: str, count: int, as_json: bool
) -> None:
    """Show when an expression runs, in words and dates. --from is read in the time zone --tz.

    \b
    Examples:
      watchbell cron preview "*/15 8-18 * * mon-fri" --tz Europe/Rome
      watchbell cron preview "30 2 * * *" --tz Europe/Rome --from 2027-03-27
    """
    how = reading(loaded.settings.cron)
    place = zones.named("--tz", tz) if tz else how.zone
    schedule = cron_args.parse(
        expression, place, upstream_weekdays=how.upstream_weekdays, field="EXPR"
    )
    now = SYSTEM.now()
    # A run at exactly the given time is included.
    since = phrases.moment(start, now, place) - 1 if start else now
    fires = list(islice(schedule.fires_between(since, since + 200 * 366 * 86_400), count))
    if as_json:
        print_json({"description": schedule.describes(), "fires": fires})
        return
    click.echo(schedule.describes())
    for fire in fires:
        click.echo(f"  {dated(schedule, fire)}")
    if not fires and (text := never(schedule)):
        click.echo(f"  {text}")
