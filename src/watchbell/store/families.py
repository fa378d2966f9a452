"""Key families: the pattern of keys, their type, and whether they expire."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self, overload

Expiry = bool | Literal["sometimes"]

_PART = re.compile(r"<[a-z0-9_/]+>|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")

# Parts whose form is known; every other part is free text.
_FORMS = {
    "TIMESTAMP": r"\d+",
    "DATE": r"\d{8}",
    "YYYYMMDDHH": r"\d{10}",
    "PID": r"\d+",
    "IDENT": r"[a-z0-9]{20,}",
    "PIPELINE_ID": r"[0-9a-f]+",
    "STATE": r"(?:ok|warning|critical|unknown|acknowledgement|test_notifications)",
    "TAKER": r"[^:]+",
    "RECORD_ID": r"[0-9a-f]{32}",
    "INDEXED": r"[^: ]+",
    "BOOLEAN": r"(?:true|false)",
    "CLASS": r"[a-z_]+",
    "<run_id>": r"[^:]+",
    "<success/fail>": r"(?:success|fail)",
    "<sha1_of_lock_name>": r"[0-9a-f]{40}",
}


class Family:
    """A pattern whose upper-case or <bracketed> words are parts; `keys.family(*parts)` is a key."""

    kind: ClassVar[str]
    """The type, as the store itself names it."""

    def __init__(self, pattern: str, *, expires: Expiry = False) -> None:
        self.pattern = pattern
        self.expires: Expiry = expires
        self.name = ""
        self.parts = _PART.findall(pattern)
        self.literals = _PART.split(pattern)
        self._matches: re.Pattern[str] | None = None

    def __set_name__(self, owner: type["Keyspace"], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: "Keyspace", owner: type[object]) -> "Named": ...
    @overload
    def __get__(self, instance: object, owner: type[object]) -> Self: ...
    def __get__(self, instance: object, owner: type[object]) -> "Self | Named":
        return Named(self, instance.prefix) if isinstance(instance, Keyspace) else self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.pattern!r})"

    @property
    def specificity(self) -> tuple[int, int]:
        """Of two families that match a key, the one with more fixed letters wins."""
        return sum(map(len, self.literals)), -len(self.parts)

    def matches(self, key: str) -> bool:
        if self._matches is None:
            expression = re.escape(self.literals[0]) + "".join(
                f"(?:{_FORMS.get(part, '.+')}){re.escape(literal)}"
                for part, literal in zip(self.parts, self.literals[1:], strict=True)
            )
            self._matches = re.compile(expression, re.DOTALL)
        return self._matches.fullmatch(key) is not None


class String(Family):
    kind = "string"


class Hash(Family):
    kind = "hash"


class List(Family):
    kind = "list"


class Set(Family):
    kind = "set"


class SortedSet(Family):
    kind = "zset"


class Stream(Family):
    kind = "stream"


class Channel(Family):
    kind = "channel"


class Named:
    """A family in a namespace: called with the parts, it gives the key."""

    __slots__ = ("_count", "_form", "family", "literals", "prefix")

    def __init__(self, family: Family, prefix: str) -> None:
        self.family = family
        self.prefix = prefix
        self.literals = [prefix + family.literals[0], *family.literals[1:]]
        """What stands between the parts; scripts make keys of it."""

        self._count = len(self.literals) - 1
        self._form = "%s".join(literal.replace("%", "%%") for literal in self.literals)

    def __call__(self, *parts: str | int) -> str:
        if len(parts) != self._count:
            raise TypeError(f"{self.family!r} takes {self._count} parts, got {len(parts)}")
        return self._form % parts


class Keyspace:
    """The families of one domain; an instance is a namespace: a prefix for each of its keys."""

    document: ClassVar[str]
    _made: ClassVar[dict[str, dict[str, Named]]]

    def __init_subclass__(cls, *, document: str, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.document = document
        cls._made = {}

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        # Found here before the families' own __get__, so a key costs one lookup.
        self.__dict__.update(self._named(prefix))

    @classmethod
    def _named(cls, prefix: str) -> dict[str, Named]:
        """Made once for each prefix: a namespace is created for every call of a domain."""
        made = cls._made
        if prefix not in made:
            made[prefix] = {family.name: Named(family, prefix) for family in cls.families()}
        return made[prefix]

    @classmethod
    def families(cls) -> Iterator[Family]:
        return (value for value in vars(cls).values() if isinstance(value, Family))


def family_of(key: str, kind: str, families: list[Family]) -> Family | None:
    """The family of a key without its prefix, by name and type."""
    fitting = [family for family in families if family.kind == kind and family.matches(key)]
    return max(fitting, key=lambda family: family.specificity, default=None)
