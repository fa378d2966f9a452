"""`watchbell events run`."""

from typing import Any

import click

from watchbell.cli.arguments import length, storable
from watchbell.cli.audited import operator, record_change
from watchbell.cli.definitions import find, read_fields, read_params
from watchbell.cli.formatting import plain
from watchbell.cli.jobs.finding import definitions_of
from watchbell.cli.jobs.log import follow_to_end
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.targets import target_ids
from watchbell.clock import SYSTEM
from watchbell.jobs import job_defaults, run_event
from watchbell.jobs.model import Event
from watchbell.settings import Loaded
from watchbell.store.client import Store


@click.command
@click.argument("name", metavar="EVENT", type=storable)
@click.option("--wait", is_flag=True, help="Print the log live, and exit with the code of the job.")
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    type=storable,
    help="A parameter for this job; can be repeated.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="ID",
    type=storable,
    help="A server or group for this job; can be repeated.",
)
@click.option("--tag", "tags", multiple=True, metavar="ID", type=storable, help="A tag of the job.")
@click.option("--delay", type=length, metavar="LENGTH", help="Start it later.")
@click.option("--priority", type=click.IntRange(-9, 9), help="From -9 to 9; higher is sooner.")
@click.option("--test", is_flag=True, help="Run it as a test, without actions and limits.")
@click.option(
    "--set",
    "fields",
    multiple=True,
    metavar="FIELD=VALUE",
    type=storable,
    help="Replace limits, actions, notes, icon or algo of the event for this job; VALUE is JSON or"
    " text. Can be repeated.",
)
@with_settings()
@as_json
def run(*, loaded: Loaded, name: str, wait: bool, as_json: bool, **given: Any) -> int:
    """Run an event now. With --wait, the exit code is that of the job: 128 plus the number of the
    signal if one ended it, 143 if it was aborted, 1 after a warning, 2 after a critical result.

    \b
    Examples:
      watchbell events run "Nightly backup"
      watchbell events run Deploy --param version=1.4.2 --target web-1 --wait && echo done
      watchbell events run Report --set 'limits=[{"type": "time", "duration": 600}]'
    """
    settings = loaded.settings

    async def started(store: Store) -> int:
        by, event = operator(), await find(store, "event", name)
        assert isinstance(event, Event)
        known, request = await definitions_of(store, event), _request(event, given)
        if "targets" in request:
            request["targets"] = await target_ids(store, request["targets"])
        job = await run_event.run(
            store,
            known,
            by.actor,
            request,
            SYSTEM.now(),
            timezone=settings.jobs.timezone,
            defaults=job_defaults.of(settings),
        )
        await record_change(store, "event.run", event.id, job.id)
        if as_json:
            print_json(job)
        else:
            click.echo(f"started job {job.id} of {plain(event.title)}", err=wait)
        return await follow_to_end(store, settings, job.id) if wait else 0

    return with_store(settings, started)


def _request(event: Event, given: dict[str, Any]) -> dict[str, Any]:
    params, fields = read_params(given.pop("params")), read_fields(given.pop("fields"))
    chosen = {name: value for name, value in given.items() if value not in (None, (), False)}
    if "tags" in chosen:
        chosen["tags"] = tuple(dict.fromkeys([*event.tags, *chosen["tags"]]))
    return {**fields, "id": event.id, **chosen, **({"params": params} if params else {})}
