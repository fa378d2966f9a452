"""Warnings about a contact's addresses, which are saved all the same."""

import re
from collections.abc import Iterator

from watchbell.alerting.model import Contact
from watchbell.settings import Settings

_PHONES = frozenset({"messagenet", "twilio", "vonage", "sns"})
"""Kinds of media that send to phone numbers."""
_DIGITS = 7
"""Digits of the shortest international phone number."""


def warnings(contact: Contact, settings: Settings) -> list[str]:
    """One sentence for each medium that is unlikely to reach the contact."""
    return [
        words
        for name, medium in contact.media.items()
        for words in _of_medium(name, medium.address, settings)
    ]


def _of_medium(name: str, address: str, settings: Settings) -> Iterator[str]:
    tables = settings.gateways.content
    if name not in tables:
        yield (
            f"{name}: no gateway of that name is configured, so alerts by it wait; "
            f"add [gateways.{name}] to watchbell.toml"
        )
    kind = tables.get(name, {}).get("kind", name)
    digits = len(re.findall(r"\d", address))
    is_phone = kind in _PHONES or kind.startswith("sms")
    if is_phone and not address.startswith("arn:") and digits < _DIGITS:
        yield (
            f"{name}: {address!r} has {digits} digits; expected a phone number with its country "
            "code, as +39 055 1234567"
        )
