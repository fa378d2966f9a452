"""Media of contacts: `/media`, by ids of the form CONTACT_TYPE."""

from functools import partial
from typing import Any

from msgspec.structs import replace

from watchbell.alerting.model import Contact, Medium
from watchbell.alerting.validation import checked_contact
from watchbell.web.flapjack_api import patches, people
from watchbell.web.flapjack_api.calls import (
    DONE,
    Answer,
    Call,
    Failed,
    created,
    endpoint,
    text,
    whole,
)
from watchbell.web.flapjack_api.patches import Operation

_FIELDS = ("address", "interval", "rollup_threshold")


def _shown(contact: Contact, name: str) -> dict[str, Any]:
    medium = contact.media[name]
    return {
        "id": f"{contact.id}_{name}",
        "type": name,
        "address": medium.address,
        "interval": medium.interval,
        "rollup_threshold": medium.rollup_threshold or None,
        "links": {"contacts": [contact.id]},
    }


@endpoint("GET", "/media/IDS", "read")
async def read(call: Call) -> Answer:
    if not call.ids:
        everybody = await people.find(call, ())
        return Answer({"media": [_shown(one, name) for one in everybody for name in one.media]})
    return Answer({"media": [_shown(one, name) for one, name in await _found(call)]})


async def _found(call: Call) -> list[tuple[Contact, str]]:
    """The contact and the medium of each id. A contact's id may have underscores, and so may the
    name of a medium."""
    known = {one.id: one for one in await people.find(call, ())}
    return [_split(known, one) for one in call.ids]


def _split(known: dict[str, Contact], medium_id: str) -> tuple[Contact, str]:
    places = [at for at, letter in enumerate(medium_id) if letter == "_"]
    for at in places:
        contact = known.get(medium_id[:at])
        if contact is not None and medium_id[at + 1 :] in contact.media:
            return contact, medium_id[at + 1 :]
    for at in places:
        if medium_id[:at] in known:
            raise Failed(404, f"could not find medium '{medium_id[:200]}'")
    name = medium_id[: places[0]] if places else medium_id
    raise Failed(404, f"could not find contact '{name[:200]}'")


@endpoint("POST", "/contacts/IDS/media", "write")
async def create(call: Call) -> Answer:
    new = [_given(item) for item in call.items("media")]
    found = await loaded(call)

    def changed(contact: Contact) -> Contact:
        return replace(contact, media={**contact.media, **dict(new)})

    for contact in found:
        checked_contact(changed(contact))
    for contact in found:
        await people.change(call, contact.id, changed)
        await call.audit("contact.change", contact.id, f"media {', '.join(n for n, _ in new)}")
    return created([f"{one.id}_{name}" for one in found for name, _ in new], "media")


async def loaded(call: Call) -> list[Contact]:
    """The contacts to which something is added."""
    try:
        return await people.find(call, call.ids)
    except Failed as error:
        if error.status != 404:
            raise
        raise Failed(422, f"Contact id: '{call.ids[0][:200]}' could not be loaded") from None


def _given(item: dict[str, Any]) -> tuple[str, Medium]:
    name = text("type", item.get("type"))
    return name, Medium(
        address=text("address", item.get("address")),
        interval=whole("interval", item.get("interval"), Medium(address="").interval),
        rollup_threshold=whole("rollup_threshold", item.get("rollup_threshold"), 0),
    )


@endpoint("PATCH", "/media/IDS", "write")
async def change(call: Call) -> Answer:
    operations = patches.parse("media", call)
    found = await _found(call)

    def with_changes(name: str, contact: Contact) -> Contact:
        medium = contact.media.get(name)
        if medium is None:
            raise Failed(404, f"could not find medium '{contact.id}_{name}'")
        for operation in operations:
            medium = _with(medium, operation)
        return replace(contact, media={**contact.media, name: medium})

    for contact, name in found:
        checked_contact(with_changes(name, contact))
    for contact, name in found:
        await people.change(call, contact.id, partial(with_changes, name))
        await call.audit("contact.change", contact.id, f"medium {name}")
    return DONE


def _with(medium: Medium, operation: Operation) -> Medium:
    if operation.op != "replace" or operation.field not in _FIELDS:
        raise patches.unknown("media", operation)
    if operation.field == "address":
        return replace(medium, address=text("address", operation.value))
    return replace(medium, **{operation.field: whole(operation.field, operation.value or 0)})


@endpoint("DELETE", "/media/IDS", "write")
async def remove(call: Call) -> Answer:
    for contact, name in await _found(call):
        await people.change(call, contact.id, partial(without, name))
        await call.audit("contact.change", contact.id, f"without {name}")
    return DONE


def without(name: str, contact: Contact) -> Contact:
    return replace(contact, media={one: m for one, m in contact.media.items() if one != name})
