"""Endpoints for contacts: people or groups, their media, and what they are alerted about."""

from contextlib import suppress
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, QueryParameter
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import (
    contact_links,
    contacts,
    entities,
    json_items,
    test_message,
    validation,
)
from watchbell.alerting.entities import Link
from watchbell.alerting.json_items import Taken
from watchbell.alerting.keys import ALL
from watchbell.alerting.model import KNOWN_MEDIA, Contact
from watchbell.errors import Changed, Refused
from watchbell.gateways import catalogue
from watchbell.web.access import needs
from watchbell.web.alerting.contact_shapes import (
    AvailableMedium,
    ContactBody,
    ContactRow,
    ContactView,
    CreatedLink,
    LinkBody,
    NewContact,
    TestBody,
    TestSent,
)
from watchbell.web.alerting.contact_view import (
    contact_of,
    contact_version,
    differences,
    full_name,
    row,
    view,
)
from watchbell.web.alerting.imports import import_items
from watchbell.web.listing import Limit, Page, paged
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, actor_of, audited, services_of
from watchbell.web.versions import STALE, TRIES, IfMatch, fits

Id = Annotated[str, QueryParameter(min_length=1, max_length=500, description="A contact's id.")]
Cursor = Annotated[
    str, QueryParameter(max_length=2_000, description="`next` of the previous page.")
]
Text = Annotated[
    str, QueryParameter(max_length=200, description="Part of an id, name, address or tag.")
]
Tagged = Annotated[str, QueryParameter(max_length=200, description="Only contacts with this tag.")]
By = Annotated[str, QueryParameter(max_length=64, description="Only contacts with this medium.")]
OfEntity = Annotated[
    str, QueryParameter(min_length=1, max_length=500, description="An entity's name, or `ALL`.")
]
OfCheck = Annotated[
    str, QueryParameter(max_length=500, description="A single check of the entity.")
]
Rows = Annotated[list[dict[str, Any]], msgspec.Meta(max_length=10_000)]


@get("/contacts", opt=needs("read"))
async def all_contacts(
    request: Asked,
    text: Text = "",
    tag: Tagged = "",
    medium: By = "",
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Page[ContactRow]:
    """List contacts by name.

    Each has its media and what it is alerted about. Changes by other programs appear within
    seconds.
    """
    services = services_of(request)
    directory = await services.directory_cache.current()
    found = await contacts.load(services.store, directory.contacts)
    people = [replace(one, tags=directory.tags.get(one.id, ())) for one in found.values()]
    matching = [
        one
        for one in people
        if _has(one, text.lower())
        and (not tag or tag in one.tags)
        and (not medium or medium in one.media)
    ]
    page = paged(sorted(matching, key=_order), _order, cursor, limit)
    return Page([row(one, directory) for one in page.items], page.next)


def _order(contact: Contact) -> str:
    """By name; no two contacts have the same id."""
    return f"{full_name(contact).lower()}\t{contact.id}"


def _has(contact: Contact, text: str) -> bool:
    texts = (contact.id, full_name(contact), contact.email, *contact.tags, *contact.media)
    addresses = (medium.address for medium in contact.media.values())
    return not text or any(text in one.lower() for one in (*texts, *addresses))


@post("/contacts", opt=needs("write"))
async def add_contact(request: Asked, data: JSONBody[NewContact]) -> ContactView:
    """Add a contact."""
    services, contact = services_of(request), contact_of(data.id, data)
    try:
        await contacts.save(services.store, contact, tags_before=(), replaces="")
    except Changed:
        taken = f"contact {data.id} already exists"
        raise HttpProblem(422, taken, field="id") from None
    services.directory_cache.forget()
    await audited(request, "contact.add", data.id)
    return view(services_of(request).settings, await _known(request, data.id))


@get("/contact", opt=needs("read"))
async def one_contact(request: Asked, id: Id) -> ContactView:  # noqa: A002
    """Get a contact."""
    return view(services_of(request).settings, await _known(request, id))


@put("/contact", opt=needs("write"), responses=STALE)
async def change_contact(
    request: Asked,
    id: Id,  # noqa: A002
    data: JSONBody[ContactBody],
    if_match: IfMatch = "",
) -> ContactView:
    """Replace a contact.

    Its rules and links stay.
    """
    for _ in range(TRIES):
        with suppress(Changed):
            before, after = await _changed_to(request, id, data, if_match)
            await audited(request, "contact.change", id, differences(before, after))
            return view(services_of(request).settings, await _known(request, id))
    raise HttpProblem(412, f"contact {id} is being changed by others; try again")


async def _changed_to(
    request: Asked, contact_id: str, data: ContactBody, if_match: str
) -> tuple[Contact, Contact]:
    """The contact before and after. Raises Changed where somebody else changed it first."""
    services = services_of(request)
    known, stamp = await contacts.stamped(services.store, contact_id)
    before = await _tagged(request, known)
    fits(if_match, contact_version(before))
    after = json_items.with_secrets(contact_of(contact_id, data), before)
    try:
        await contacts.save(services.store, after, tags_before=before.tags, replaces=stamp)
    finally:
        services.directory_cache.forget()
    return before, after


@delete("/contact", opt=needs("write"))
async def remove_contact(request: Asked, id: Id) -> None:  # noqa: A002
    """Delete a contact.

    Its rules, links and tags are deleted, too. Records of alerts stay.
    """
    services = services_of(request)
    await contacts.remove(services.store, id)
    services.directory_cache.forget()
    await audited(request, "contact.remove", id)


@get("/contact/links", opt=needs("read"))
async def links(request: Asked, id: Id, cursor: Cursor = "", limit: Limit = 100) -> Page[Link]:  # noqa: A002
    """List what a contact is alerted about.

    A link is to an entity, to a single check, or to everything.
    """
    await _known(request, id)
    directory = await services_of(request).directory_cache.current()
    found = sorted(entities.links(directory.entities, id), key=_place)
    return paged(found, _place, cursor, limit)


def _place(link: Link) -> str:
    """Everything first, then by name, an entity before its checks."""
    return "\t" if link.entity == ALL else f"{link.entity}\t{link.check or ''}"


@post("/contact/links", opt=needs("write"))
async def link_contact(request: Asked, id: Id, data: JSONBody[LinkBody]) -> CreatedLink:  # noqa: A002
    """Alert a contact about an entity, a single check, or everything."""
    store = services_of(request).store
    await contacts.known(store, id)
    try:
        if data.check is not None:
            validation.plain("check", data.check)
        entity_id, is_new = await entities.id_or_new(store, data.entity)
        await contact_links.link(store, id, entity_id, data.check)
    except Refused as error:
        field = "entity" if error.field == "name" else error.field
        raise Refused(error.reason, field=field) from error
    services_of(request).directory_cache.forget()
    name = data.entity if data.entity == ALL else data.entity.lower()
    link = Link(entity=name, check=data.check)
    await audited(request, "contact.link", id, link.words)
    return CreatedLink(entity=name, check=data.check, words=link.words, is_new=is_new)


@delete("/contact/links", opt=needs("write"))
async def unlink_contact(request: Asked, id: Id, entity: OfEntity, check: OfCheck = "") -> None:  # noqa: A002
    """Stop alerting a contact about an entity, a single check, or everything."""
    store = services_of(request).store
    entity_id = await entities.id_of(store, entity)
    await contact_links.unlink(store, id, entity_id, check or None)
    services_of(request).directory_cache.forget()
    await audited(request, "contact.unlink", id, Link(entity=entity, check=check or None).words)


@post("/contact/test", status_code=202, opt=needs("operate"))
async def send_test(request: Asked, id: Id, data: JSONBody[TestBody]) -> TestSent:  # noqa: A002
    """Send a test message to a contact.

    It takes the same way as alerts do.
    """
    services = services_of(request)
    contact = await contacts.known(services.store, id)
    summary = f"{actor_of(request).name or 'Somebody'} tests whether this reaches you"
    days = services.settings.alerting.alert_days
    alert = await test_message.send(
        services.store, contact, data.medium, summary, days, services.now()
    )
    await audited(request, "contact.test", id, data.medium)
    return TestSent(alert=alert, has_gateway=data.medium in _gateways(request))


@get("/contacts/media", opt=needs("read"))
async def media(request: Asked) -> list[AvailableMedium]:
    """List the media that contacts can have.

    The answer says which of them have a gateway in the settings.
    """
    own = _gateways(request)
    names = dict.fromkeys((*own, *KNOWN_MEDIA))
    return [AvailableMedium(medium=name, has_gateway=name in own) for name in names]


def _gateways(request: Asked) -> list[str]:
    return [one.name for one in catalogue.configured(services_of(request).settings)]


@get("/contacts/export", opt=needs("read"))
async def export_contacts(request: Asked) -> list[dict[str, Any]]:
    """Export all contacts.

    The answer can be imported again. Secrets are masked.
    """
    people = await contacts.everybody(services_of(request).store)
    return [json_items.of_contact(json_items.without_secrets(one)) for one in people]


@post("/contacts/import", status_code=200, opt=needs("write"))
async def import_contacts(request: Asked, data: JSONBody[Rows]) -> list[Taken]:
    """Import contacts.

    An item replaces the contact with its id, and the contact's rules if the item has any. A
    secret that is `***` stays as it is. Invalid items are reported, and the others are
    imported.
    """
    services = services_of(request)
    before = await contacts.tags(services.store)

    async def one(item: json_items.Item) -> None:
        contact = json_items.contact(item, ids.token)
        known = (await contacts.load(services.store, [contact.id])).get(contact.id)
        contact = json_items.with_secrets(contact, known)
        with_rules = item.get("notification_rules") is not None
        tags = before.get(contact.id, ())
        await contacts.save(services.store, contact, with_rules=with_rules, tags_before=tags)
        before[contact.id] = contact.tags

    return await import_items(request, data, json_items.ContactItem, one, "contacts.import")


async def _known(request: Asked, contact_id: str) -> Contact:
    """The contact with its tags."""
    return await _tagged(request, await contacts.known(services_of(request).store, contact_id))


async def _tagged(request: Asked, contact: Contact) -> Contact:
    directory = await services_of(request).directory_cache.current()
    return replace(contact, tags=directory.tags.get(contact.id, ()))


ROUTES = Router(
    "/",
    tags=["Contacts"],
    route_handlers=[
        *(all_contacts, add_contact, one_contact, change_contact, remove_contact),
        *(links, link_contact, unlink_contact, send_test, media),
        *(export_contacts, import_contacts),
    ],
)
