"""The commands that categories, plugins, monitors and other definitions have alike."""

from collections.abc import Callable, Sequence
from typing import Any

import click
from msgspec import Struct

from watchbell.cli.arguments import confirm, storable, yes_option
from watchbell.cli.definitions import (
    created,
    find,
    named,
    noun,
    nouns,
    plural,
    read_fields,
    removed,
    set_option,
    updated,
)
from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.jobs import definitions
from watchbell.jobs.validation import Record
from watchbell.settings import Loaded

Cells = Callable[[Any], list[str]]
Option = Callable[[Any], Any]


class Kind(Struct, frozen=True, kw_only=True):
    """What is special about the commands of one kind of definition."""

    kind: str
    summary: str
    example: str
    """The id in examples."""
    columns: Sequence[str]
    cells: Cells
    options: Sequence[Option] = ()
    """Options of `add` and `edit`; each is the field of its name."""
    can_disable: bool = True


def commands(of: Kind) -> click.Group:
    """The group with all its commands."""
    words = plural(of.kind)
    example = f"Example: watchbell {words} add {of.example} --title 'An example'"
    group = click.Group(help=f"{of.summary}\n\n{example}")
    group.add_command(_list(of))
    group.add_command(_show(of))
    group.add_command(_add(of))
    group.add_command(_edit(of))
    group.add_command(_remove(of))
    if of.can_disable:
        group.add_command(_switch(of, is_enabled=True))
        group.add_command(_switch(of, is_enabled=False))
    return group


def _help(of: Kind, words: str, usage: str) -> str:
    return f"{words}\n\nExample: watchbell {plural(of.kind)} {usage}"


def _article(of: Kind) -> str:
    word = noun(of.kind)
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _list(of: Kind) -> click.Command:
    words = plural(of.kind)

    @click.command("list", help=_help(of, f"List {nouns(of.kind)}.", "list"))
    @with_settings()
    @as_json
    def command(*, loaded: Loaded, as_json: bool) -> None:
        found = with_store(loaded.settings, lambda store: definitions.every(store, of.kind))
        records = sorted(found.values(), key=lambda one: (one.title.casefold(), one.id))
        if as_json:
            print_json(records)
        elif records:
            show_table(["id", "title", *of.columns], [_cells(of, one) for one in records])
        else:
            click.echo(f"There are no {nouns(of.kind)}. Add one with `watchbell {words} add ID`.")

    return command


def _cells(of: Kind, record: Record) -> list[str]:
    return [record.id, plain(record.title, 60), *of.cells(record)]


def _show(of: Kind) -> click.Command:
    @click.command(
        "show", help=_help(of, f"Show how {_article(of)} is defined.", f"show {of.example}")
    )
    @click.argument("name", metavar="ID|TITLE", type=storable)
    @with_settings()
    def command(*, loaded: Loaded, name: str) -> None:
        print_json(with_store(loaded.settings, lambda store: find(store, of.kind, name)))

    return command


def _described(of: Kind, command: Any) -> Any:
    texts = [
        click.option("--title", type=storable, help="A name for people."),
        click.option("--notes", type=storable, help="What it is for."),
        click.option("--icon", type=storable, help="The name of an icon."),
    ]
    for option in reversed([*texts, *of.options, set_option]):
        command = option(command)
    return command


def _given(values: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    given = {name: value for name, value in values.items() if value not in (None, ())}
    return given | read_fields(fields)


def _add(of: Kind) -> click.Command:
    def command(*, loaded: Loaded, id_: str, fields: tuple[str, ...], **values: Any) -> None:
        given = {"id": id_, "title": id_} | _given(values, fields)
        record = with_store(loaded.settings, lambda store: created(store, of.kind, given))
        click.echo(f"added {noun(of.kind)} {named(record)}")

    described = _described(of, with_settings()(command))
    usage = f"add {of.example} --title 'An example'"
    arguments = click.argument("id_", metavar="ID", type=storable)(described)
    return click.command("add", help=_help(of, f"Add {_article(of)}.", usage))(arguments)


def _edit(of: Kind) -> click.Command:
    def command(*, loaded: Loaded, name: str, fields: tuple[str, ...], **values: Any) -> None:
        changes = _given(values, fields)
        if not changes:
            raise click.UsageError("say what to change; see --help")
        record = with_store(loaded.settings, lambda store: updated(store, of.kind, name, changes))
        click.echo(f"changed {noun(of.kind)} {named(record)}")

    described = _described(of, with_settings()(command))
    words = f"Change {_article(of)}. What you leave out stays."
    arguments = click.argument("name", metavar="ID|TITLE", type=storable)(described)
    usage = f"edit {of.example} --notes 'What it is for'"
    return click.command("edit", help=_help(of, words, usage))(arguments)


def _switch(of: Kind, *, is_enabled: bool) -> click.Command:
    verb = "enable" if is_enabled else "disable"

    @click.command(
        verb, help=_help(of, f"{verb.capitalize()} {_article(of)}.", f"{verb} {of.example}")
    )
    @click.argument("name", metavar="ID|TITLE", type=storable)
    @with_settings()
    def command(*, loaded: Loaded, name: str) -> None:
        changes = {"enabled": is_enabled}
        record = with_store(loaded.settings, lambda store: updated(store, of.kind, name, changes))
        click.echo(f"{verb}d {noun(of.kind)} {named(record)}")

    return command


def _remove(of: Kind) -> click.Command:
    @click.command("remove", help=_help(of, f"Remove {_article(of)}.", f"remove {of.example}"))
    @click.argument("name", metavar="ID|TITLE", type=storable)
    @yes_option
    @with_settings()
    def command(*, loaded: Loaded, name: str, yes: bool) -> None:
        confirm(f"Remove the {noun(of.kind)} {plain(name)}?", yes=yes)
        record = with_store(loaded.settings, lambda store: removed(store, of.kind, name))
        click.echo(f"removed {noun(of.kind)} {named(record)}")

    return command


def yes_no(is_enabled: bool) -> str:
    return "yes" if is_enabled else "no"
