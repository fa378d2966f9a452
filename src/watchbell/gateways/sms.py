"""What the services for short messages have in common: numbers. The words are cut with them."""

import re

from watchbell.errors import DeliveryFailed
from watchbell.http.answer import one_line

STYLE = "short"

_BETWEEN = re.compile(r"[\s().\-/]")
_NUMBER = re.compile(r"\+?[0-9]{3,15}")


def number(address: str) -> str:
    """The number without what people put in for reading, in international form with its `+`."""
    plain = _BETWEEN.sub("", address)
    if not _NUMBER.fullmatch(plain):
        reason = f"the address {one_line(address, 100)!r} is no phone number, as +491701234567"
        raise DeliveryFailed(reason, permanent=True)
    return plain
