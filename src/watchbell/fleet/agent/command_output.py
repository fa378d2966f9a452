"""Reads what a command has printed, by its format."""

from typing import Any
from xml.parsers import expat

import msgspec

from watchbell.errors import Refused
from watchbell.fleet import command_values
from watchbell.fleet.model import OutputFormat

_DEEPEST = 20
_TEXT = "_text"
"""The name for the text of an element that has attributes or children, too."""


def parsed(kind: OutputFormat, content: bytes) -> Any:
    """Raises Refused."""
    value = _PARSERS[kind](content)
    command_values.check(value)
    return value


def _plain(content: bytes) -> str:
    return content.decode(errors="replace").strip()


def _json(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Refused(f"it printed no JSON: {error}") from None


def _xml(content: bytes) -> Any:
    """The content of the root: an element is its text, or an object of its attributes and children;
    children of one name are a list."""
    document = _Document()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = document.refuse
    parser.EntityDeclHandler = document.refuse
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    parser.CharacterDataHandler = document.add
    parser.buffer_text = True
    try:
        parser.Parse(content, True)  # noqa: FBT003
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two: of its encoding
        raise Refused(f"it printed no XML: {error}") from None
    return document.root


_PARSERS = {"text": _plain, "json": _json, "xml": _xml}


class _Document:
    def __init__(self) -> None:
        self.root: Any = None
        self._open: list[tuple[dict[str, Any], list[str]]] = []

    def refuse(self, *_: Any) -> None:
        raise Refused("its XML has a document type, which is not read")

    def start(self, _: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= _DEEPEST:
            raise Refused(f"its XML is nested more than {_DEEPEST} levels deep")
        self._open.append((dict(attributes), []))

    def add(self, text: str) -> None:
        if self._open:
            self._open[-1][1].append(text)

    def end(self, name: str) -> None:
        inside, texts = self._open.pop()
        text = "".join(texts).strip()
        value: Any = inside
        if not inside:
            value = text
        elif text:
            inside[_TEXT] = text
        if not self._open:
            self.root = value
            return
        outer = self._open[-1][0]
        if name not in outer:
            outer[name] = value
        elif isinstance(outer[name], list):
            outer[name].append(value)
        else:
            outer[name] = [outer[name], value]
