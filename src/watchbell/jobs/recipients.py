"""Mail addresses of the people that actions and channels name."""

from collections.abc import Sequence
from typing import NamedTuple

from watchbell.alerting import contacts
from watchbell.alerting.model import Contact
from watchbell.store.client import Store


class Recipients(NamedTuple):
    addresses: list[str]
    unknown: list[str]
    """People for whom no address is known."""


async def find(store: Store, email: str, users: Sequence[str]) -> Recipients:
    """`email` has addresses separated by commas. A user's address is that of the contact with this
    id or name."""
    known = await _by_user(store, users) if users else {}
    found = [one.strip() for one in email.split(",") if one.strip()]
    found += [address for address in known.values() if address]
    distinct: dict[str, str] = {}
    for address in found:
        distinct.setdefault(address.casefold(), address)
    return Recipients(list(distinct.values()), [user for user in users if not known.get(user)])


async def _by_user(store: Store, users: Sequence[str]) -> dict[str, str]:
    people = await contacts.load(store, users)
    found = {user: _address(one) for user, one in people.items()}
    if all(found.get(user) for user in users):
        return found
    everybody = await contacts.load(store, await contacts.all_ids(store))
    by_name = {_name(one): _address(one) for one in everybody.values()}
    return {user: found.get(user) or by_name.get(user.casefold(), "") for user in users}


def _address(contact: Contact) -> str:
    medium = contact.media.get("email")
    return medium.address if medium else contact.email


def _name(contact: Contact) -> str:
    return f"{contact.first_name} {contact.last_name}".strip().casefold()
