"""`watchbell contacts`."""

import asyncio
from collections.abc import Sequence
from typing import Any

import click
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import contact_links, contacts, entities, json_items, rule_text
from watchbell.alerting.entities import Link
from watchbell.alerting.json_items import ContactItem, Item, converted, without_secrets
from watchbell.alerting.keys import ALL
from watchbell.alerting.model import Contact, Medium
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import short_id
from watchbell.cli.items import export_to, imported, items_of
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.errors import NotFound, Refused
from watchbell.gateways import addresses
from watchbell.schedule import spoken
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened
from watchbell.units import counted


@click.group
def command() -> None:
    """Manage contacts: people or groups, and how to reach them.

    \b
    Examples:
      watchbell contacts set alice --first-name Alice --medium email=alice@example.com
      watchbell contacts link alice --entity web-1
      watchbell contacts import contacts.json
    """


@command.command("import")
@click.argument("file")
@with_settings()
def import_(*, loaded: Loaded, file: str) -> None:
    """Import contacts from a JSON array. The format is that of Flapjack; FILE can be - for standard
    input. A contact with the same id is replaced, and its rules are if the item has any. Invalid
    items are reported by position and field; all others are imported, and the exit code is 1.

    Example: watchbell contacts import contacts.json
    """
    asyncio.run(_import(loaded.settings, items_of(file)))


async def _import(settings: Settings, given: Sequence[Any]) -> None:
    async with opened(settings) as store:
        before = await contacts.tags(store)

        async def one(item: Item) -> None:
            contact = json_items.contact(item, ids.token)
            with_rules = item.get("notification_rules") is not None
            tags = before.get(contact.id, ())
            await contacts.save(store, contact, with_rules=with_rules, tags_before=tags)
            before[contact.id] = contact.tags

        await imported(store, given, ContactItem, "contacts", one)


@command.command
@click.argument("file", default="-")
@with_settings()
def export(*, loaded: Loaded, file: str) -> None:
    """Export all contacts as a JSON array. It goes to FILE or standard output, can be imported
    again, and contains secrets in plain text.

    Example: watchbell contacts export contacts.json
    """
    people = with_store(loaded.settings, contacts.everybody)
    export_to(file, [json_items.of_contact(contact) for contact in people])


@command.command
@click.argument("contact", required=False)
@with_settings()
@as_json
def show(*, loaded: Loaded, contact: str | None, as_json: bool) -> None:
    """List all contacts, or show one. For one, show its media, its rules, and what it is alerted
    about. Secrets are hidden.

    Example: watchbell contacts show alice
    """
    if contact is not None:
        person, about = asyncio.run(_one(loaded.settings, contact))
        if as_json:
            print_json({**json_items.of_contact(person), "told_about": about})
        else:
            _show_contact(person, about)
        return
    people = [without_secrets(one) for one in with_store(loaded.settings, contacts.everybody)]
    if as_json:
        print_json([json_items.of_contact(person) for person in people])
        return
    rows = [
        [
            p.id,
            f"{p.first_name} {p.last_name}".strip(),
            ", ".join(p.media),
            p.timezone,
            ", ".join(p.tags),
            str(len(p.rules)),
        ]
        for p in people
    ]
    show_table(["contact", "name", "media", "time zone", "tags", "rules"], rows, right=["rules"])


async def _one(settings: Settings, contact_id: str) -> tuple[Contact, list[str]]:
    async with opened(settings) as store:
        (person,) = await contacts.everybody(store, [contact_id])
        links = entities.links(await entities.find(store), contact_id)
        about = [link.words for link in links]
        return without_secrets(person), about


def _show_contact(person: Contact, about: list[str]) -> None:
    account = ", ".join(f"{name} {value}" for name, value in person.pagerduty.items())
    for name, value in (
        ("contact", person.id),
        ("name", f"{person.first_name} {person.last_name}".strip()),
        ("email", person.email),
        ("time zone", person.timezone),
        ("tags", ", ".join(person.tags)),
        ("PagerDuty", account),
        ("alerted about", ", ".join(about) or "nothing"),
    ):
        if value:
            click.echo(f"{name:15}{value}")
    if person.media:
        click.echo()
        show_table(
            ["medium", "address", "interval", "summary from"],
            [
                [
                    name,
                    m.address,
                    spoken.in_words(m.interval),
                    counted(m.rollup_threshold, "failing check") if m.rollup_threshold else "never",
                ]
                for name, m in person.media.items()
            ],
        )
    for rule in person.rules:
        click.echo(f"\nrule {short_id(rule.id)}: {rule_text.describe(rule)}")


def _named(option: str, pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair or pair.startswith("="):
            raise click.UsageError(f"--{option} is {pair!r}; write NAME=VALUE")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


@command.command("set")
@click.argument("contact")
@click.option("--first-name", metavar="TEXT", help="Needed for a new contact.")
@click.option("--last-name", metavar="TEXT", help="Optional.")
@click.option(
    "--email", metavar="ADDRESS", help="Identifies the person; alerts go to the medium `email`."
)
@click.option("--timezone", metavar="ZONE", help="Time zone of the rules, such as Europe/Rome.")
@click.option(
    "--medium", multiple=True, metavar="NAME=ADDRESS", help="An address; an empty one is removed."
)
@click.option(
    "--interval",
    multiple=True,
    metavar="NAME=LENGTH",
    help="Time between alerts about a failure that lasts, such as email='5 min'.",
)
@click.option(
    "--rollup",
    multiple=True,
    metavar="NAME=N",
    help="Failing checks from which on one summary is sent; 0: never.",
)
@click.option(
    "--pagerduty",
    multiple=True,
    metavar="FIELD=VALUE",
    help="A PagerDuty credential; the value can be file:PATH or env:NAME.",
)
@click.option("--tag", multiple=True, metavar="TAG", help="A tag to add.")
@click.option("--untag", multiple=True, metavar="TAG", help="A tag to remove.")
@with_settings()
def set_(*, loaded: Loaded, contact: str, **given: Any) -> None:
    """Add a contact, or change one. Only the given options change; an empty value removes.

    \b
    Examples:
      watchbell contacts set alice --first-name Alice --medium email=alice@example.com
      watchbell contacts set alice --interval 'email=5 min' --rollup email=5 --timezone Europe/Rome
      watchbell contacts set alice --pagerduty password=file:/run/secrets/pagerduty
    """
    saved = asyncio.run(_set(loaded.settings, contact, given))
    click.echo(f"saved contact {contact}")
    for words in addresses.warnings(saved, loaded.settings):
        click.echo(f"warning: {words}", err=True)


async def _set(settings: Settings, contact_id: str, given: Item) -> Contact:
    async with opened(settings) as store:
        found = await contacts.load(store, [contact_id])
        if contact_id not in found and not given["first_name"]:
            raise NotFound(f"there is no contact {contact_id!r}; to add one, give --first-name")
        new = Contact(id=contact_id, first_name="")
        before = (await contacts.tags(store)).get(contact_id, ())
        changed = changes(replace(found.get(contact_id, new), tags=before), given)
        await contacts.save(store, changed, tags_before=before)
        action = "contact.change" if contact_id in found else "contact.add"
        await record_change(store, action, contact_id, _given(given))
        return changed


def _given(given: Item) -> str:
    """The names of the given options; their values may be secret."""
    return ", ".join(name for name, value in given.items() if value not in (None, ()))


def changes(contact: Contact, given: Item) -> Contact:
    names = ("first_name", "last_name", "email", "timezone")
    texts = {name: given[name] for name in names if given[name] is not None}
    account = {**contact.pagerduty, **_named("pagerduty", given["pagerduty"])}
    tags = dict.fromkeys((*contact.tags, *given["tag"]))
    return replace(
        contact,
        **texts,
        media=_media(contact.media, given),
        pagerduty={name: value for name, value in account.items() if value},
        tags=tuple(tag for tag in tags if tag not in given["untag"]),
    )


def _length(text: str, option: str) -> int:
    try:
        return spoken.duration(text)
    except Refused as error:
        raise Refused(error.reason, field=option) from None


def _media(media: dict[str, Medium], given: Item) -> dict[str, Medium]:
    found = dict(media)
    for name, address in _named("medium", given["medium"]).items():
        found[name] = replace(found.get(name, Medium(address="")), address=address)
    for option, field in (("interval", "interval"), ("rollup", "rollup_threshold")):
        for name, text in _named(option, given[option]).items():
            if name not in found:
                raise Refused(
                    f"the contact has no medium {name!r}; add it with --medium {name}=ADDRESS",
                    field=f"--{option}",
                )
            given_as = f"--{option} {name}"
            if option == "interval":
                number = _length(text, given_as)
            else:
                number = converted(text, int, given_as)
            found[name] = replace(found[name], **{field: number})
    return {name: medium for name, medium in found.items() if medium.address}


@command.command
@click.argument("contact")
@with_settings()
def remove(*, loaded: Loaded, contact: str) -> None:
    """Remove a contact with its rules, links and tags.

    Example: watchbell contacts remove alice
    """
    asyncio.run(_remove(loaded.settings, contact))
    click.echo(f"removed contact {contact}")


async def _remove(settings: Settings, contact_id: str) -> None:
    async with opened(settings) as store:
        await contacts.remove(store, contact_id)
        await record_change(store, "contact.remove", contact_id)


def _linking(name: str, says: str) -> None:
    @command.command(name, help=says)
    @click.argument("contact")
    @click.option(
        "--entity",
        "named",
        multiple=True,
        metavar="NAME",
        help="An entity, by its name or id; can be repeated.",
    )
    @click.option("--check", metavar="NAME", help="Only this check of each entity.")
    @click.option("--all", "everything", is_flag=True, help="All entities, future ones, too.")
    @with_settings()
    def linking(
        *, loaded: Loaded, contact: str, named: tuple[str, ...], check: str | None, everything: bool
    ) -> None:
        if everything == bool(named) or (everything and check is not None):
            raise click.UsageError("give --entity NAME (and --check NAME for one check), or --all")
        about = list(dict.fromkeys(named)) or [ALL]
        asyncio.run(_link_all(loaded.settings, name, contact, about, check))


async def _link_all(
    settings: Settings, how: str, contact_id: str, about: list[str], check: str | None
) -> None:
    async with opened(settings) as store:
        person = await contacts.known(store, contact_id)
        act = _unlink if how == "unlink" else _link
        for entity in about:
            await act(store, person, entity, check)


async def _unlink(store: Store, person: Contact, entity: str, check: str | None) -> None:
    await contact_links.unlink(store, person.id, await entities.id_of(store, entity), check)
    about = Link(entity=entity, check=check).words
    await record_change(store, "contact.unlink", person.id, about)
    click.echo(f"{person.first_name} has no link to {about} any more")


async def _link(store: Store, person: Contact, entity: str, check: str | None) -> None:
    entity_id, is_new = await entities.id_or_new(store, entity)
    if is_new:
        click.echo(f"{entity} is a new entity: it has sent no events yet", err=True)
    await contact_links.link(store, person.id, entity_id, check)
    about = Link(entity=entity, check=check).words
    await record_change(store, "contact.link", person.id, about)
    click.echo(f"{person.first_name} gets alerts about {about}")


_linking(
    "link",
    """Alert a contact about an entity, a check, or everything.

    \b
    Examples:
      watchbell contacts link alice --entity web-1 --entity web-2
      watchbell contacts link alice --entity web-1 --check HTTP
      watchbell contacts link bob --all
    """,
)
_linking(
    "unlink",
    """Remove a link that `contacts link` made.

    Example: watchbell contacts unlink alice --entity web-1
    """,
)
