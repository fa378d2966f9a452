"""Reads XML that others wrote: no entities of its own, and what comes before an error counts."""

import re
from collections.abc import Iterator
from xml.parsers import expat

_BARE_AMPERSAND = re.compile(r"&(?!#\d{1,7};|#x[0-9a-f]{1,6};|\w{1,40};)", re.IGNORECASE)
_DECLARATION = re.compile(r"<\?xml[^>]{0,200}\?>")
_UNSUITED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CDATA = "<![CDATA["
_MOST_DEPTH = 200
_PIECE = 65_536


class Element:
    """An element that has ended. Names are without their namespaces' prefixes."""

    __slots__ = ("attributes", "name", "parent", "texts")

    def __init__(self, name: str, attributes: dict[str, str], parent: str) -> None:
        self.name, self.attributes, self.parent = name, attributes, parent
        self.texts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()


class _TooOdd(Exception):
    """It declares entities, or nests without end."""


class _Collector:
    """What the parser reports."""

    def __init__(self) -> None:
        self._opened: list[Element] = []
        self._ended: list[Element] = []

    def take(self) -> list[Element]:
        ended, self._ended = self._ended, []
        return ended

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._opened) >= _MOST_DEPTH:
            raise _TooOdd
        plain = {_local(key): value for key, value in attributes.items()}
        parent = self._opened[-1].name if self._opened else ""
        self._opened.append(Element(_local(name), plain, parent))

    def end(self, _: str) -> None:
        self._ended.append(self._opened.pop())

    def characters(self, piece: str) -> None:
        if self._opened:
            self._opened[-1].texts.append(piece)

    def declare(self, *_: object) -> None:
        raise _TooOdd


def elements(text: str) -> Iterator[Element]:
    """Elements in the order in which they end."""
    text = _UNSUITED.sub(" ", text.removeprefix("\ufeff")).lstrip()
    if declaration := _DECLARATION.match(text):
        text = text[declaration.end() :]
    text = _with_escaped_ampersands(text)
    collector = _Collector()
    parser = expat.ParserCreate("utf-8")
    parser.UseForeignDTD()  # unknown entities such as &nbsp; are left out, and are no error
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.characters
    parser.EntityDeclHandler = collector.declare
    for position in range(0, len(text) + 1, _PIECE):
        try:
            parser.Parse(text[position : position + _PIECE], position + _PIECE > len(text))
        except (expat.ExpatError, _TooOdd):
            yield from collector.take()
            return
        yield from collector.take()


def _with_escaped_ampersands(text: str) -> str:
    """URLs are often written with bare ones."""
    first, *others = text.split(_CDATA)
    parts = [_BARE_AMPERSAND.sub("&amp;", first)]
    for other in others:
        inside, end, after = other.partition("]]>")
        parts.append(inside + end + _BARE_AMPERSAND.sub("&amp;", after))
    return _CDATA.join(parts)


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()
