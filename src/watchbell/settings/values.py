"""Types of settings: secrets, tables, and numbers with a unit; how each is read and shown."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import unquote_plus

import msgspec
from msgspec import Meta

from watchbell import units
from watchbell.errors import BadSettings, Refused

_LENGTHS = {"seconds": 1, "hours": 3_600, "days": 86_400}
_MIB = 1 << 20


class Secret:
    """A value that is never shown: given as it is, or by reference as `file:PATH` or `env:NAME`."""

    __slots__ = ("reference",)

    def __init__(self, reference: str = "") -> None:
        self.reference = reference

    def __bool__(self) -> bool:
        return bool(self.reference)

    def __repr__(self) -> str:
        return f"Secret({self.shown()!r})"

    def shown(self) -> str:
        by_reference = self.reference.startswith(("file:", "env:"))
        return self.reference if by_reference else "***" if self else ""

    def reveal(self) -> str:
        kind, _, name = self.reference.partition(":")
        if kind == "file":
            try:
                value = Path(name).expanduser().read_text(encoding="utf-8").strip()
            except UnicodeDecodeError:
                raise BadSettings(f"the secret {self.reference} is not UTF-8 text") from None
            except (OSError, RuntimeError, ValueError) as error:
                raise BadSettings(f"the secret {self.reference} can't be read: {error}") from error
        elif kind == "env":
            if name not in os.environ:
                raise BadSettings(f"the secret {self.reference} names a variable that is not set")
            value = os.environ[name]
        else:
            return self.reference
        if not value:
            raise BadSettings(f"the secret {self.reference} is empty")
        return value


class Tables:
    """Named tables whose fields a later floor knows. Until that one reads them nothing of their
    content is shown, since any of it may be a secret."""

    __slots__ = ("content",)

    def __init__(self, content: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.content = content or {}

    def __repr__(self) -> str:
        return f"Tables({', '.join(self.content)})"


def redacted(url: str) -> str:
    """The URL without its passwords, also where it is none that could be used."""
    scheme, separator, rest = url.partition("://")
    if not separator or ":" in scheme or "@" in scheme:
        scheme, separator, rest = "", "", url
    rest, mark, query = rest.partition("?")
    if "@" in query:  # a password with a bare ? in it, perhaps
        return f"{scheme}{separator}***"
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    options = "&".join(map(_option_shown, query.split("&")))
    return f"{scheme}{separator}{user}{':***' if colon else ''}{at}{place}{mark}{options}"


def _option_shown(option: str) -> str:
    name, equals, value = option.partition("=")
    return f"{name}{equals}{'***' if 'password' in unquote_plus(name) else value}"


def decode(type_: type, value: Any) -> Any:
    """The hook with which msgspec makes our own types; see its `dec_hook`."""
    if type_ is Secret and isinstance(value, str):
        return Secret(value)
    if type_ is Path and isinstance(value, str) and value and "\0" not in value:
        return Path(value)
    if type_ is Tables and isinstance(value, dict) and all(map(_is_table, value.items())):
        return Tables(value)
    raise msgspec.ValidationError(f"not a {type_.__name__.lower()}")


def _is_table(item: tuple[str, Any]) -> bool:
    return re.fullmatch("[a-z][a-z0-9_]*", item[0]) is not None and isinstance(item[1], dict)


def in_unit(type_: Any, value: Any) -> Any:
    """The number that words such as `10 min` or `2 GiB` mean in the unit of a setting's type; any
    other value as it is."""
    unit = (_meta(type_).extra or {}).get("unit")
    if unit is None or not isinstance(value, str):
        return value
    try:
        if unit == "MiB":
            found, one = units.size(value, _MIB), _MIB
        else:
            one = _LENGTHS[unit]
            found = units.duration(value, one)
    except Refused:
        return value
    return found // one if found % one == 0 else value


def _meta(type_: Any) -> Meta:
    return next((one for one in get_args(type_)[1:] if isinstance(one, Meta)), Meta())


def expected(type_: Any) -> str:
    if get_origin(type_) is Literal:
        return "one of " + ", ".join(get_args(type_))
    if get_origin(type_) is Annotated:
        limits = _meta(type_)
        unit = (limits.extra or {}).get("unit")
        example = {"MiB": "512 MiB", "days": "2 weeks", "hours": "2 days"}.get(unit or "", "10 min")
        number = f"{expected(get_args(type_)[0])} from {limits.ge} to {limits.le}"
        return limits.title or (
            f"{number}, in {unit}, or words such as '{example}'" if unit else number
        )
    words: dict[Any, str] = {
        int: "a whole number",
        str: "text",
        bool: "true or false",
        Path: "a path",
        Tables: "tables, each with a name of lower-case letters, digits and _",
        Secret: "text, file:PATH or env:NAME",
        tuple[str, ...]: "a list of texts",
    }
    return words.get(type_, str(type_))


def shown(value: Any) -> str | int:
    """A value as it may be shown to anybody."""
    if isinstance(value, Secret):
        return value.shown()
    if isinstance(value, Tables):
        return ", ".join(value.content)
    if isinstance(value, tuple | list):
        return ", ".join(str(shown(one)) for one in value)
    # A path may have bytes that are not text.
    return value if isinstance(value, int) else str(value).encode(errors="replace").decode()
