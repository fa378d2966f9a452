"""Contacts as the API shows them, and what a change of one is."""

from collections.abc import Iterable

from msgspec.structs import replace

from watchbell.alerting import entities, json_items
from watchbell.alerting.decide.routing import zone_of
from watchbell.alerting.model import Contact, Medium
from watchbell.gateways import addresses
from watchbell.settings import Settings
from watchbell.web.alerting.contact_shapes import ContactBody, ContactRow, ContactView, MediumView
from watchbell.web.alerting.directory_cache import Directory
from watchbell.web.versions import version

_LINKS = 5
"""Links of each contact that a list shows."""


def contact_of(contact_id: str, data: ContactBody) -> Contact:
    media = {
        name: Medium(
            address=one.address, interval=one.interval, rollup_threshold=one.rollup_threshold
        )
        for name, one in data.media.items()
    }
    return Contact(
        id=contact_id,
        first_name=data.first_name,
        last_name=data.last_name,
        email=data.email,
        timezone=data.timezone,
        tags=tuple(dict.fromkeys(data.tags)),
        media=media,
        pagerduty={name: value for name, value in data.pagerduty.items() if value},
    )


def view(settings: Settings, contact: Contact) -> ContactView:
    public = json_items.without_secrets(contact)
    return ContactView(
        id=public.id,
        first_name=public.first_name,
        last_name=public.last_name,
        email=public.email,
        timezone=public.timezone,
        zone=zone_of(public, settings.alerting.timezone).key,
        tags=list(public.tags),
        media={name: _medium(one) for name, one in public.media.items()},
        pagerduty=public.pagerduty,
        warnings=addresses.warnings(public, settings),
        version=contact_version(contact),
    )


def _medium(medium: Medium) -> MediumView:
    return MediumView(
        address=medium.address,
        interval=medium.interval,
        rollup_threshold=medium.rollup_threshold,
    )


def contact_version(contact: Contact) -> str:
    """The version leaves out secrets: a digest of them would let everybody guess them."""
    return version(replace(json_items.without_secrets(contact), rules=()))


def differences(before: Contact, after: Contact) -> str:
    """The names of the fields that differ, without values: those are private."""
    own = [name for name in Contact.__struct_fields__ if name not in ("rules", "media")]
    changed = [name for name in own if getattr(before, name) != getattr(after, name)]
    names = dict.fromkeys((*before.media, *after.media))
    return ", ".join([*changed, *_changed(names, before, after)])


def _changed(names: Iterable[str], before: Contact, after: Contact) -> Iterable[str]:
    for name in names:
        if before.media.get(name) != after.media.get(name):
            yield f"media.{name}"


def full_name(contact: Contact) -> str:
    return f"{contact.first_name} {contact.last_name}".strip()


def row(contact: Contact, directory: Directory) -> ContactRow:
    about = [link.words for link in entities.links(directory.entities, contact.id)]
    return ContactRow(
        id=contact.id,
        name=full_name(contact),
        email=contact.email,
        timezone=contact.timezone,
        tags=list(contact.tags),
        media={name: medium.address for name, medium in contact.media.items()},
        rules=len(contact.rules),
        links=len(about),
        told_about=about[:_LINKS],
    )
