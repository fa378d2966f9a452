"""The meaning of an HTTP answer for a message: accepted, try again, or give up. Pure."""

import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import Struct

from watchbell.errors import DeliveryFailed

_ACCEPTED = range(200, 207)
_TEMPORARY = (408, 425, 429)
_CREDENTIALS = (401, 403, 407)
"""The server does not accept our credentials."""

_SHOWN = 200
_LONGEST_WAIT = 86_400.0
_SHORTEST_SECRET = 4
"""Shorter secrets would mask half of every text."""


class Answer(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """By lower-case name."""
    text: str
    """The body, as far as it was read."""
    now: float
    """When it arrived, in seconds since 1970."""
    secrets: tuple[str, ...] = ()

    def line(self) -> str:
        """The answer in one line, with secrets masked."""
        return f"{self.status} {one_line(starred(self.text, self.secrets))}".rstrip()

    def json(self) -> dict[str, Any]:
        """The body as a JSON object, or an empty one."""
        try:
            return msgspec.json.decode(self.text, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}

    def failure(self, *, is_service: bool) -> DeliveryFailed | None:
        """None where the status means success. `is_service` is true for a service that all messages
        go to, false for the server that an address names."""
        if self.status in _ACCEPTED:
            return None
        reason = f"the server answered {self.line()}"
        if self.status in _TEMPORARY or self.status >= 500:
            return DeliveryFailed(reason, retry_after=self.retry_after())
        if self.status in _CREDENTIALS and is_service:
            return DeliveryFailed(f"{reason}; check the credentials", unreachable=True)
        return DeliveryFailed(reason, permanent=True)

    def retry_after(self) -> float:
        """Seconds that the server asks us to wait, given as a number or as a date."""
        asked = self.headers.get("retry-after", "").strip()
        if re.fullmatch("[0-9]{1,9}", asked):
            return min(float(asked), _LONGEST_WAIT)
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - self.now
        except (ValueError, OverflowError):
            return 0
        return min(max(seconds, 0.0), _LONGEST_WAIT)


def one_line(text: str, most: int = _SHOWN) -> str:
    """The beginning of a text in one line, without control characters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text[: most * 4])
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 3] + "..."


def starred(text: str, secrets: Iterable[str]) -> str:
    """The text with secrets masked, also where they are URL-encoded."""
    forms = {form for one in secrets for form in (one, quote(one, safe=""), quote_plus(one))}
    for form in sorted(forms, key=len, reverse=True):  # one may contain another
        if len(form) >= _SHORTEST_SECRET:
            text = text.replace(form, "***")
    return text
