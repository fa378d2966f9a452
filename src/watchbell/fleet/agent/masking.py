"""Masks secret values in everything that leaves an agent, however they are written there."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST = 4
"""Characters of the shortest value that is masked: a shorter one is part of anything."""


class Masker:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        self._longest = max(map(len, forms), default=0)
        # The longest first, because one may be within another.
        alternatives = b"|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        self._pattern = re.compile(alternatives) if forms else None

    def mask(self, content: bytes) -> bytes:
        return self._pattern.sub(MASK.encode(), content) if self._pattern else content

    def mask_text(self, text: str) -> str:
        if not self._pattern:
            return text
        return self.mask(text.encode(errors="surrogateescape")).decode(errors="replace")

    def mask_values(self, value: Any) -> Any:
        """The same value of lists, objects and texts, with the texts masked."""
        if not self._pattern:
            return value
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, dict):
            return {self.mask_text(str(name)): self.mask_values(v) for name, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask_values(one) for one in value]
        return value

    def safe_cut(self, content: bytes, cut: int) -> int:
        """The last place up to `cut` at which `content` can be cut so that no secret is cut in two.
        Secrets contain no end of a line, so that is always such a place."""
        if not self._pattern:
            return cut
        if len(content) - cut < self._longest:  # one may go on in what is not there yet
            cut = max(cut - self._longest + 1, 0)
        start = max(cut - self._longest + 1, 0)
        for found in self._pattern.finditer(content, start, cut + self._longest):
            if found.start() < cut < found.end():
                return found.start()
        return cut


def _forms(secret: str) -> Iterator[bytes]:
    yield from _whole_forms(secret)
    for text in _texts(_parsed(secret)):
        yield from _whole_forms(text)
    lines = secret.splitlines()
    if len(lines) > 1:  # such as a key in PEM, of which every line is secret
        for line in lines:
            yield from _whole_forms(line)


def _parsed(secret: str) -> Any:
    """The value of a secret that is an object or a list."""
    try:
        return json.loads(secret) if secret[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def _texts(value: Any) -> Iterator[str]:
    """The texts and numbers within a value, but no names."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _whole_forms(secret: str) -> Iterator[bytes]:
    if len(secret) < SHORTEST:
        return
    texts = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    texts |= {quote(secret, ""), quote_plus(secret), quote(secret, "").replace("%2F", "/")}
    for text in texts:
        if "\n" not in text and "\r" not in text:
            yield text.encode(errors="surrogateescape")
    yield from _base64_forms(secret.encode(errors="surrogateescape"))


def _base64_forms(secret: bytes) -> Iterator[bytes]:
    """As it stands in the base64 of any text that contains it, at each of three alignments. The
    digits at its ends depend on its neighbours, and are left out."""
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + secret)
        first = (0, 2, 3)[shift]
        last = (shift + len(secret)) * 8 // 6
        form = encoded[first:last]
        if len(form) >= SHORTEST:
            yield form
            yield form.translate(bytes.maketrans(b"+/", b"-_"))
