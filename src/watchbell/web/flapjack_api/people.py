"""Contacts, as the endpoints for contacts, media, credentials and rules read and change them."""

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from watchbell.alerting import contacts
from watchbell.alerting.model import Contact
from watchbell.errors import Changed, NotFound
from watchbell.web.flapjack_api.calls import Call, Failed

_TRIES = 10


async def find(
    call: Call, ids: Sequence[str], missing: str = "could not find contacts"
) -> list[Contact]:
    """The contacts of these ids, or all; with their tags."""
    found = await _loaded(call, ids)
    must_exist([one for one in ids if one not in found], missing)
    return list(found.values())


async def existing(call: Call) -> list[Contact]:
    """Those contacts of the path that exist, or all."""
    found = await _loaded(call, call.ids)
    some_must_exist(call.ids, found, "could not find contacts")
    return list(found.values())


async def _loaded(call: Call, ids: Sequence[str]) -> dict[str, Contact]:
    directory = await call.directory.current()
    found = await contacts.load(call.store, ids or directory.contacts)
    return {one: replace(c, tags=directory.tags.get(one, ())) for one, c in found.items()}


def some_must_exist(ids: Sequence[str], known: Container[str], words: str) -> None:
    """What is read by several ids leaves out those that nothing has, as long as one is known."""
    if not any(one in known for one in ids):
        must_exist(ids, words)


def must_exist(absent: Iterable[str], words: str) -> None:
    names = ", ".join(absent)
    if names:
        raise Failed(404, f"{words} '{names[:1_000]}'")


async def change(
    call: Call,
    contact_id: str,
    changed: Callable[[Contact], Contact],
    tags: tuple[str, ...] | None = None,
) -> None:
    """Replaces a contact by what becomes of it, and its tags only where they are given, since a
    search for them takes long. Raises Changed where others do so all the time."""
    for _ in range(_TRIES):
        with suppress(Changed):
            try:
                before, stamp = await contacts.stamped(call.store, contact_id)
            except NotFound:
                raise Failed(404, f"could not find contact '{contact_id}'") from None
            after = changed(before if tags is None else replace(before, tags=tags))
            await contacts.save(call.store, after, tags_before=tags, replaces=stamp)
            call.directory.forget()
            return
        if tags is not None:
            tags = (await contacts.tags(call.store)).get(contact_id, ())
    raise Changed(f"contact {contact_id} is being changed by others; try again")
