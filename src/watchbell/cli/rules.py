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
from watchbell.cli.options import Command, as_json, opened, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.schedule import spoken
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store

Given = dict[str, Any]


@click.group
def command() -> None:
    """Rules say when, and by which media, a contact is told about what. A rule with conditions
    goes before the general one, which Watchbell makes for every contact that has none.

    \b
    Examples:
      watchbell rules add alice --tag database --when "mon-fri 08:00-18:00" --critical email,sms
      watchbell rules show alice
      watchbell rules edit 4f1c… --blackhole warning
    """


def _conditions(command: Command) -> Command:
    options = [
        click.option("--entity", multiple=True, metavar="NAME", help="The entity is one of these."),
        click.option(
            "--entity-regex", multiple=True, metavar="RE", help="The entity's name matches."
        ),
        click.option("--tag", multiple=True, metavar="TAG", help="The event has this tag."),
        click.option("--tag-regex", multiple=True, metavar="RE", help="One of its tags matches."),
        click.option(
            "--when",
            multiple=True,
            metavar="TIMES",
            help="At these times by the contact's clock, as 'mon-fri 08:00-18:00'; several "
            "are separated by ;",
        ),
        *(
            click.option(f"--{severity}", metavar="MEDIA", help=f"Media for what is {severity}.")
            for severity in rule_format.SEVERITIES
        ),
        click.option(
            "--blackhole",
            multiple=True,
            type=click.Choice([*rule_format.SEVERITIES, "none"]),
            help="Tell the contact nothing of this severity, whatever other rules say.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


_replacing = click.option(
    "--replace-general/--keep-general",
    "replaces_general",
    default=None,
    help="Whether this rule replaces the automatic general rule, so that nothing is sent where it "
    "does not apply. Asked on a terminal where it is the contact's first rule; kept elsewhere.",
)


def changes(given: Given) -> Given:
    """The fields of a rule that the options give; an empty value empties a field."""
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
    """Show the rules of a contact, in words.

    Example: watchbell rules show alice
    """
    person = asyncio.run(_person(loaded.settings, contact))
    if as_json:
        print_json([{**of_rule(rule), "words": rule_text.describe(rule)} for rule in person.rules])
        return
    if person.rules:
        show_table(["rule", "does"], [[rule.id, rule_text.describe(rule)] for rule in person.rules])
    if all(rule.is_specific for rule in person.rules):
        click.echo(
            f"{'N' if not person.rules else 'There is n'}o general rule: one for all media is made "
            f"as soon as there is something to tell {person.first_name}."
        )


async def _person(settings: Settings, contact_id: str) -> Contact:
    async with opened(settings) as store:
        return await contacts.known(store, contact_id)


@command.command
@click.argument("contact")
@_conditions
@_replacing
@with_settings()
def add(*, loaded: Loaded, contact: str, replaces_general: bool | None, **given: Any) -> None:
    """Add a rule to a contact. All its conditions must hold: any of the entities, all the
    tags, every expression. Media are separated by commas.

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
    """Change a rule: each option that is given replaces what the rule had there, and an
    empty value empties it.

    Example: watchbell rules edit 4f1c… --tag '' --critical sms --blackhole none
    """
    asyncio.run(_edit(loaded.settings, rule, changes(given), replaces_general))


async def _edit(settings: Settings, rule_id: str, changed: Given, replaces: bool | None) -> None:
    async with opened(settings) as store:
        before = rule_format.without_unreadable(await rules.find(store, rule_id), changed)
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
    click.echo(f"{rule.id}: {rule_text.describe(rule)}")
    await _generalised(store, settings, person, rule, replaces)
    missing = [name for name in _media(rule) if name not in person.media]
    if missing:
        names, them = " and no ".join(missing), "it" if len(missing) == 1 else "them"
        click.echo(f"{person.first_name} has no {names}: nothing is sent by {them}.", err=True)


async def _generalised(
    store: Store, settings: Settings, person: Contact, rule: Rule, replaces: bool | None
) -> None:
    """Replaces the automatic general rule, if that is wanted, and says what applies elsewhere."""
    zone, now = settings.alerting.timezone, int(SYSTEM.now())
    after = generals.prospect(person, rule, zone, now, replaces_general=bool(replaces))
    if replaces is None and after.can_replace and sys.stdin.isatty():
        click.echo(after.words)
        replaces = click.confirm(
            "Replace the automatic general rule, so that nothing is sent then?"
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
            f"To send nothing then: watchbell rules edit {rule.id} --replace-general", err=True
        )


def _media(rule: Rule) -> Iterable[str]:
    return dict.fromkeys((*rule.critical_media, *rule.warning_media, *rule.unknown_media))


@command.command
@click.argument("rule")
@with_settings()
def remove(*, loaded: Loaded, rule: str) -> None:
    """Remove a rule.

    Example: watchbell rules remove 4f1c…
    """
    asyncio.run(_remove(loaded.settings, rule))
    click.echo(f"{rule} is removed")


async def _remove(settings: Settings, rule_id: str) -> None:
    async with opened(settings) as store:
        rule = await rules.find(store, rule_id)
        await rules.remove(store, rule_id)
        details = f"{rule_id}: {rule_text.describe(rule)}"
        await record_change(store, "rule.remove", rule.contact_id, details)
