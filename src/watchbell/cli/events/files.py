"""`watchbell events import` and `export`."""

import sys
from collections import Counter
from pathlib import Path
from typing import Literal

import click

from watchbell.cli.arguments import confirm, storable, yes_option
from watchbell.cli.audited import operator, record_change
from watchbell.cli.definitions import find
from watchbell.cli.formatting import plain
from watchbell.cli.options import with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.jobs import exports
from watchbell.jobs.imports import cronicle, crontab, plan, portable
from watchbell.jobs.imports.found import Found
from watchbell.jobs.imports.plan import ImportedItem, Outcome, Planned
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import counted

Form = Literal["json", "crontab", "cronicle"]


@click.command
@click.argument("names", nargs=-1, metavar="[EVENT...]", type=storable)
@click.option("--secrets", is_flag=True, help="Include secret parameters and variables.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for `events import` and xyOps.")
@with_settings()
def export(*, loaded: Loaded, names: tuple[str, ...], secrets: bool, as_json: bool) -> None:
    """Print events as YAML, to review and to apply.

    Without EVENT, print all events, categories, plugins, channels, tags and server groups.
    `watchbell apply` reads the YAML.

    \b
    Examples:
      watchbell events export "Nightly release" > release.yaml
      watchbell events export --json > events.json
    """

    async def exported(store: Store) -> bytes:
        chosen = [(await find(store, "event", name)).id for name in names] or None
        if as_json:
            return await exports.export(store, events=chosen, secrets=secrets)
        return (await exports.as_yaml(store, events=chosen, secrets=secrets)).encode()

    sys.stdout.buffer.write(with_store(loaded.settings, exported))


@click.command("import")
@click.argument("form", type=click.Choice(["json", "crontab", "cronicle"]))
@click.argument("file", metavar="FILE|-")
@click.option("--replace", is_flag=True, help="Replace what has the same id.")
@click.option("--skip", is_flag=True, help="Leave out what can't be imported.")
@click.option(
    "--users", is_flag=True, help="Crontab lines have a user after the times, as in /etc/crontab."
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    type=storable,
    metavar="ID",
    help="Where the commands of a crontab run; can be repeated. Default: main.",
)
@yes_option
@with_settings()
def import_events(
    *,
    loaded: Loaded,
    form: Form,
    file: str,
    replace: bool,
    skip: bool,
    users: bool,
    targets: tuple[str, ...],
    yes: bool,
) -> None:
    """Import events and what belongs to them. They can come from JSON of `events export --json` or
    of xyOps, from a crontab, or from an export of Cronicle. You see what would be imported before
    you confirm.

    \b
    Examples:
      watchbell events import json events.json
      watchbell events import crontab /etc/crontab --users --target db-1
    """
    text = sys.stdin.read() if file == "-" else _content(file)
    found = _found(form, text, users, targets or ("main",))
    now = SYSTEM.now()
    planned = with_store(loaded.settings, lambda store: plan.planned(store, found, now))
    _show(planned, found)
    if not planned:
        raise Refused("there is nothing to import")
    confirm("Import these?", yes=yes)

    async def imported(store: Store) -> list[ImportedItem]:
        by = operator()
        made = await plan.make(store, planned, by.actor, now, replace=replace, skip=skip)
        await record_change(store, "event.import", "", _counts(made))
        return made

    click.echo(_counts(with_store(loaded.settings, imported)))


def _content(file: str) -> str:
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"can't read {file}: {error}") from None


def _found(form: Form, text: str, users: bool, targets: tuple[str, ...]) -> Found:
    if form == "crontab":
        return crontab.read(text, has_users=users, targets=targets)
    return cronicle.read(text) if form == "cronicle" else portable.read(text)


_STATES = {"new": "new", "same": "unchanged", "other": "exists, differs", "invalid": "invalid"}


def _show(planned: list[Planned], found: Found) -> None:
    rows = [
        [plain(one.item.name, 80), one.id, _STATES[one.state], plain(one.problem)]
        for one in planned
    ]
    if rows:
        show_table(["definition", "id", "state", "problem"], rows)
    for omission in found.omissions:
        click.echo(f"not imported: {plain(omission.subject)}: {plain(omission.reason)}")


_VERBS: dict[Outcome, str] = {
    "created": "created",
    "replaced": "replaced",
    "unchanged": "unchanged",
    "left_out": "left out",
}


def _counts(made: list[ImportedItem]) -> str:
    number = Counter(one.outcome for one in made)
    words = [
        f"{counted(number[one], 'item')} {verb}" for one, verb in _VERBS.items() if number[one]
    ]
    return ", ".join(words) or "nothing to do"
