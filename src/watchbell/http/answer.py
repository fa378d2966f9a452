"""What an answer over HTTP means for a message: taken, come again, or never. Pure."""

import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import Struct

from watchbell.errors import DeliveryFailed

_TAKEN = range(200, 207)
_PASSING = (408, 425, 429)
_OURS = (401, 403, 407)
"""The server does not know us, or does not let us."""

_SHOWN = 200
_LONGEST_WAIT = 86_400.0
_SHORTEST_SECRET = 4
"""Shorter ones would star out half of every text."""


class Answer(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """Under names in small letters."""
    text: str
    """The body, as much of it as was read."""
    now: float
    """When it came, in seconds since the epoch."""
    secrets: tuple[str, ...] = ()

    def line(self) -> str:
        """The answer as people may read it."""
        return f"{self.status} {one_line(starred(self.text, self.secrets))}".rstrip()

    def json(self) -> dict[str, Any]:
        """The object that the body is, or an empty one where it is none."""
        try:
            return msgspec.json.decode(self.text, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}

    def failure(self, *, is_service: bool) -> DeliveryFailed | None:
        """What the status says, of a service that is the same for everybody or of the server that
        an address names."""
        if self.status in _TAKEN:
            return None
        reason = f"the server answered {self.line()}"
        if self.status in _PASSING or self.status >= 500:
            return DeliveryFailed(reason, retry_after=self.retry_after())
        if self.status in _OURS and is_service:
            return DeliveryFailed(f"{reason}; are our credentials right?", unreachable=True)
        return DeliveryFailed(reason, permanent=True)

    def retry_after(self) -> float:
        """Seconds that the server asks us to wait; it may say so by a date."""
        asked = self.headers.get("retry-after", "").strip()
        if re.fullmatch("[0-9]{1,9}", asked):
            return min(float(asked), _LONGEST_WAIT)
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - self.now
        except (ValueError, OverflowError):
            return 0
        return min(max(seconds, 0.0), _LONGEST_WAIT)


def one_line(text: str, most: int = _SHOWN) -> str:
    """The beginning of a text in one line, without anything that a terminal could obey."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text[: most * 4])
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 3] + "..."


def starred(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, nor how a URL writes them."""
    forms = {form for one in secrets for form in (one, quote(one, safe=""), quote_plus(one))}
    for form in sorted(forms, key=len, reverse=True):  # one may be within another
        if len(form) >= _SHORTEST_SECRET:
            text = text.replace(form, "***")
    return text
