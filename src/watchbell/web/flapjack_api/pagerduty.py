"""PagerDuty accounts of contacts: `/pagerduty_credentials`, by the ids of contacts.

The service key is the address of the medium `pagerduty`. A stored password is shown only where it
is a reference to a secret, and never itself.
"""

from typing import Any

from msgspec.structs import replace

from watchbell.alerting import json_items
from watchbell.alerting.contacts import SECRET
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
)
from watchbell.web.flapjack_api.media import loaded

_MEDIUM = "pagerduty"
_ACCOUNT = ("subdomain", "username", "password", "token")
_FIELDS = ("service_key", *_ACCOUNT)


def _has(contact: Contact) -> bool:
    return bool(contact.pagerduty) or _MEDIUM in contact.media


def _shown(contact: Contact) -> dict[str, Any]:
    medium, account = contact.media.get(_MEDIUM), json_items.without_secrets(contact).pagerduty
    fields = {name: account.get(name) for name in _ACCOUNT if name != "token" or name in account}
    return {
        "service_key": medium.address if medium else None,
        **fields,
        "links": {"contacts": [contact.id]},
    }


@endpoint("GET", "/pagerduty_credentials/IDS", "read")
async def read(call: Call) -> Answer:
    found = await _contacts(call)
    return Answer({"pagerduty_credentials": [_shown(one) for one in found if _has(one)]})


async def _contacts(call: Call) -> list[Contact]:
    return await people.find(call, call.ids, "could not find contact")


@endpoint("POST", "/contacts/IDS/pagerduty_credentials", "write")
async def create(call: Call) -> Answer:
    given = call.items("pagerduty_credentials")
    if len(given) > 1:
        raise Failed(422, "a contact has one PagerDuty account; expected one object")
    return await _saved(call, await loaded(call), given[0], is_new=True)


async def _saved(
    call: Call, found: list[Contact], given: dict[str, Any], *, is_new: bool = False
) -> Answer:
    fields = {name: text(name, given[name], "") for name in _FIELDS if name in given}

    def changed(contact: Contact) -> Contact:
        return _with(replace(contact, pagerduty={}) if is_new else contact, fields)

    for contact in found:
        checked_contact(changed(contact))
    for contact in found:
        await people.change(call, contact.id, changed)
        await call.audit("contact.change", contact.id, "PagerDuty account")
    return created([one.id for one in found], "pagerduty_credentials") if is_new else DONE


def _with(contact: Contact, fields: dict[str, str]) -> Contact:
    account = {**contact.pagerduty}
    for name, value in fields.items():
        if name in SECRET and value == json_items.HIDDEN:
            continue  # a client sends back what it was shown
        if name != "service_key":
            account[name] = value
    contact = replace(contact, pagerduty={name: value for name, value in account.items() if value})
    if "service_key" not in fields:
        return contact
    media = {name: medium for name, medium in contact.media.items() if name != _MEDIUM}
    if fields["service_key"]:
        known = contact.media.get(_MEDIUM, Medium(address=""))
        media[_MEDIUM] = replace(known, address=fields["service_key"])
    return replace(contact, media=media)


@endpoint("PATCH", "/pagerduty_credentials/IDS", "write")
async def change(call: Call) -> Answer:
    operations = patches.parse("pagerduty_credentials", call)
    for operation in operations:
        if operation.op != "replace" or operation.field not in _FIELDS:
            raise patches.unknown("pagerduty_credentials", operation)
    given = {operation.field: operation.value for operation in operations}
    return await _saved(call, await _contacts(call), given)


@endpoint("DELETE", "/pagerduty_credentials/IDS", "write")
async def remove(call: Call) -> Answer:
    for contact in await _contacts(call):
        await people.change(call, contact.id, _without)
        await call.audit("contact.change", contact.id, "without PagerDuty account")
    return DONE


def _without(contact: Contact) -> Contact:
    media = {name: medium for name, medium in contact.media.items() if name != _MEDIUM}
    return replace(contact, pagerduty={}, media=media)
