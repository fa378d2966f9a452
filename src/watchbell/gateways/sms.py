"""Phone numbers, as all SMS services take them."""

import re

from watchbell.errors import DeliveryFailed
from watchbell.http.answer import one_line

STYLE = "short"

_BETWEEN = re.compile(r"[\s().\-/]")
_NUMBER = re.compile(r"\+?[0-9]{3,15}")


def number(address: str) -> str:
    """The number without spaces and punctuation, except for the leading `+`."""
    plain = _BETWEEN.sub("", address)
    if not _NUMBER.fullmatch(plain):
        reason = (
            f"the address {one_line(address, 100)!r} is not a phone number such as +491701234567"
        )
        raise DeliveryFailed(reason, permanent=True)
    return plain
