"""`watchbell rules`."""

import asyncio
import sys
from collections.abc import Iterable
from typing import Any

import click
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import contacts, generals, rule_format, rule_text, rules, validation
from watchbell.alerting.json_items import of_rule
from watchbell.alerting.model import Contact, Rule
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import short_id
from watchbell.cli.options import Command, as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.schedule import spoken
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened

Given = dict[str, Any]


@click.group
def command() -> None:
    """Manage rules: when, about what and by which media a contact is alerted. Rules with
    conditions take precedence over the general rule, which every contact gets if it has none.

    \b
    Examples:
      watchbell rules add alice --tag database --when "mon-fri 08:00-18:00" --critical email,sms
      watchbell rules show alice
      watchbell rules edit 4f1c --blackhole warning
    """


def _conditions(command: Command) -> Command:
    options = [
        click.option(
            "--entity",
            multiple=True,
            metavar="NAME",
            help="An entity; can be repeated, one must match.",
        ),
        click.option(
            "--entity-regex",
            multiple=True,
            metavar="RE",
            help="Expression for the entity's name; can be repeated, all must match.",
        ),
        click.option(
            "--tag",
            multiple=True,
            metavar="TAG",
            help="A tag of the event; can be repeated, all must match.",
        ),
        click.option(
            "--tag-regex",
            multiple=True,
            metavar="RE",
            help="Expression for a tag of the event; can be repeated, all must match.",
        ),
        click.option(
            "--when",
            multiple=True,
            metavar="TIMES",
            help="Times in the contact's time zone, such as 'mon-fri 08:00-18:00'; separate "
            "several by ;",
        ),
        *(
            click.option(f"--{severity}", metavar="MEDIA", help=f"Media for {severity} alerts.")
            for severity in rule_format.SEVERITIES
        ),
        click.option(
            "--blackhole",
            multiple=True,
            type=click.Choice([*rule_format.SEVERITIES, "none"]),
            help="Send no alerts of this severity, whatever other rules say; can be repeated.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


_replacing = click.option(
    "--replace-general/--keep-general",
    "replaces_general",
    default=None,
    help="Replace the automatic general rule, so that no alerts are sent when this rule does not "
    "apply, or keep it. If neither is given for the first rule, a terminal is asked.",
)


def changes(given: Given) -> Given:
    """The fields of a rule that the options change; an empty value clears a field."""
    names = {
        "entity": "entities",
        "entity_regex": "regex_entities",
        "tag": "tags",
        "tag_regex": "regex_tags",
    }
    found: Given = {
        field: tuple(text for text in given[option] if text)
        for option, field in names.items()
        if given[option]
    }
    if given["when"]:
        times = [time for text in given["when"] if text for time in spoken.windows(text)]
        found["time_restrictions"] = tuple(times)
    for severity in rule_format.SEVERITIES:
        if given[severity] is not None:
            media = (name.strip() for name in given[severity].split(","))
            found[f"{severity}_media"] = tuple(dict.fromkeys(name for name in media if name))
        if given["blackhole"]:
            found[f"{severity}_blackhole"] = severity in given["blackhole"]
    return found


@command.command
@click.argument("contact")
@with_settings()
@as_json
def show(*, loaded: Loaded, contact: str, as_json: bool) -> None:
    """List the rules of a contact.

    Example: watchbell rules show alice
    """
    person = with_store(loaded.settings, lambda store: contacts.known(store, contact))
    if as_json:
        print_json([{**of_rule(rule), "words": rule_text.describe(rule)} for rule in person.rules])
        return
    if person.rules:
        show_table(
            ["id", "rule"], [[short_id(rule.id), rule_text.describe(rule)] for rule in person.rules]
        )
    if all(rule.is_specific for rule in person.rules):
        click.echo(
            "There is no general rule yet. One for all media is added with the first notification "
            f"for {person.first_name}."
        )


@command.command
@click.argument("contact")
@_conditions
@_replacing
@with_settings()
def add(*, loaded: Loaded, contact: str, replaces_general: bool | None, **given: Any) -> None:
    """Add a rule to a contact. It applies if all its conditions are met: one of the entities, all
    tags, all expressions, and the time. Separate media by commas.

    \b
    Examples:
      watchbell rules add alice --entity web-1 --critical email,sms --warning email
      watchbell rules add bob --tag-regex '^db' --when 'sat,sun' --blackhole warning
      watchbell rules add bob --when '22:00-06:00' --critical sms --replace-general
    """
    rule = Rule(id=ids.token(), contact_id=contact, **changes(given))
    asyncio.run(_save(loaded.settings, rule, replaces_general))


@command.command
@click.argument("rule")
@_conditions
@_replacing
@with_settings()
def edit(*, loaded: Loaded, rule: str, replaces_general: bool | None, **given: Any) -> None:
    """Change a rule. RULE is its id, or the beginning of it. Only the given options change; an
    empty value removes a condition.

    Example: watchbell rules edit 4f1c --tag '' --critical sms --blackhole none
    """
    asyncio.run(_edit(loaded.settings, rule, changes(given), replaces_general))


async def _edit(settings: Settings, prefix: str, changed: Given, replaces: bool | None) -> None:
    async with opened(settings) as store:
        before = rule_format.without_unreadable(
            await contacts.rule_by_prefix(store, prefix), changed
        )
        if "regex_entities" in changed:
            kept = tuple(map(rule_format.never, rule_format.unreadable(before)))
            changed = {**changed, "regex_entities": (*changed["regex_entities"], *kept)}
        changed_rule = replace(before, **changed)
        await _stored(store, settings, changed_rule, "rule.change", replaces)


async def _save(settings: Settings, rule: Rule, replaces: bool | None) -> None:
    async with opened(settings) as store:
        await _stored(store, settings, rule, "rule.add", replaces)


async def _stored(
    store: Store, settings: Settings, rule: Rule, action: str, replaces: bool | None
) -> None:
    person = await contacts.known(store, rule.contact_id)
    rule = validation.checked_rule(rule)
    await rules.save(store, rule)
    await record_change(store, action, rule.contact_id, f"{rule.id}: {rule_text.describe(rule)}")
    click.echo(f"rule {short_id(rule.id)}: {rule_text.describe(rule)}")
    await _generalised(store, settings, person, rule, replaces)
    missing = [name for name in _media(rule) if name not in person.media]
    if missing:
        names, them = " and no ".join(missing), "it" if len(missing) == 1 else "them"
        click.echo(
            f"warning: {person.first_name} has no {names}, so no alerts are sent by {them}",
            err=True,
        )


async def _generalised(
    store: Store, settings: Settings, person: Contact, rule: Rule, replaces: bool | None
) -> None:
    """Replace the automatic general rule if requested, and explain what applies otherwise."""
    zone, now = settings.alerting.timezone, int(SYSTEM.now())
    after = generals.prospect(person, rule, zone, now, replaces_general=bool(replaces))
    if replaces is None and after.can_replace and sys.stdin.isatty():
        click.echo(after.words)
        replaces = click.confirm(
            "Replace the automatic general rule, so that no alerts are sent then?"
        )
        after = generals.prospect(person, rule, zone, now, replaces_general=replaces)
    if replaces:
        await generals.replace_general(store, person.id)
        what = "the automatic general rule is replaced"
        await record_change(store, "rule.change", person.id, what)
    if after.words:
        click.echo(after.words)
    if replaces is None and after.can_replace:
        click.echo(
            f"To send no alerts then: watchbell rules edit {short_id(rule.id)} --replace-general",
            err=True,
        )


def _media(rule: Rule) -> Iterable[str]:
    return dict.fromkeys((*rule.critical_media, *rule.warning_media, *rule.unknown_media))


@command.command
@click.argument("rule")
@with_settings()
def remove(*, loaded: Loaded, rule: str) -> None:
    """Remove a rule. RULE is its id, or the beginning of it.

    Example: watchbell rules remove 4f1c
    """
    removed = asyncio.run(_remove(loaded.settings, rule))
    click.echo(f"removed the rule of {removed.contact_id}: {rule_text.describe(removed)}")


async def _remove(settings: Settings, prefix: str) -> Rule:
    async with opened(settings) as store:
        rule = await contacts.rule_by_prefix(store, prefix)
        await rules.remove(store, rule.id)
        details = f"{rule.id}: {rule_text.describe(rule)}"
        await record_change(store, "rule.remove", rule.contact_id, details)
        return rule
