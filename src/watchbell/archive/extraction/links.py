"""The links of a document, as they are gathered: each URL once for each kind."""

import re
from typing import Literal, NamedTuple

from watchbell.archive.urls import Resolver

Kind = Literal["page", "requisite"]

MOST_LINKS = 50_000
"""Links of one document. Those after them are left out."""
MOST_BYTES = 10 << 20
"""Bytes of a document that are searched for links."""
_REQUISITE = re.compile(
    r"\.(?:avif|bmp|css|cur|eot|gif|ico|jpe?g|m?js|json|m3u8|map|mp3|mp4|m4a|oga|ogg|ogv|opus|otf"
    r"|png|svgz?|swf|tiff?|ttf|vtt|wasm|wav|webm|webmanifest|webp|woff2?)(?:[?#]|$)",
    re.IGNORECASE,
)


class Link(NamedTuple):
    """A URL that a document names: as a page to go to, or as a part of the document."""

    url: str
    kind: Kind


class Links:
    def __init__(self, base: str, charset: str = "utf-8") -> None:
        self._charset = charset
        self._resolved = Resolver(base)
        self._found: dict[Link, None] = {}

    @property
    def is_full(self) -> bool:
        return len(self._found) >= MOST_LINKS

    def rebase(self, base: str) -> None:
        """What follows is relative to `base`, which is relative to the document."""
        url = self._resolved(base.strip())
        if url is not None:
            self._resolved = Resolver(url)

    def page(self, text: str) -> None:
        self._add(text, "page")

    def requisite(self, text: str) -> None:
        self._add(text, "requisite")

    def guess(self, text: str) -> None:
        """A link whose kind its file name has to tell."""
        self._add(text, "requisite" if _REQUISITE.search(text) else "page")

    def every(self) -> list[Link]:
        return list(self._found)

    def _add(self, text: str, kind: Kind) -> None:
        if len(self._found) >= MOST_LINKS or text[:1] in {"", "#"}:
            return  # with `#`, it is a place in the same document
        if self._charset != "utf-8" and not text.isascii():
            text = self._query_encoded(text)
        url = self._resolved(text)
        if url is not None:
            self._found[Link(url, kind)] = None

    def _query_encoded(self, text: str) -> str:
        """Browsers encode the query in the charset of the document."""
        path, mark, query = text.partition("?")
        raw = query.encode(self._charset, "xmlcharrefreplace")
        return path + mark + "".join(chr(b) if b < 128 else f"%{b:02X}" for b in raw)
