"""Ignore sets: patterns under a name. Ours are files; people may change them and add their own."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from watchbell.archive import ignores
from watchbell.archive.keys import Crawls
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store

MOST_SETS = 500
MOST_PATTERNS = 5_000
LONGEST_NAME = 100


@cache
def built_in() -> Mapping[str, tuple[str, ...]]:
    """Ours, by name. A file has a pattern per line, and comments after `#`."""
    folder = files("watchbell.archive").joinpath("ignore_sets")
    found = (one for one in folder.iterdir() if one.name.endswith(".txt"))
    return {
        one.name.removesuffix(".txt"): _patterns(one.read_text(encoding="utf-8"))
        for one in sorted(found, key=lambda one: one.name)
    }


def _patterns(text: str) -> tuple[str, ...]:
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


async def changed(store: Store) -> dict[str, tuple[str, ...]]:
    """Those that people have made or changed. What other programs spoiled is left out."""
    found = {}
    for name, value in (await store.call("HGETALL", Crawls(store.prefix).ignore_sets())).items():
        try:
            found[name.decode()] = msgspec.json.decode(value, type=tuple[str, ...])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    return found


async def every(store: Store) -> dict[str, tuple[str, ...]]:
    """All sets by name; a changed one replaces ours."""
    return {**built_in(), **await changed(store)}


async def save(store: Store, name: str, patterns: Sequence[str]) -> None:
    """Raises Refused for a pattern that is not valid, with its number."""
    check(name, patterns)
    key = Crawls(store.prefix).ignore_sets()
    is_new = not await store.call("HEXISTS", key, name)
    if is_new and await store.call("HLEN", key) >= MOST_SETS:
        raise Refused(f"there can be at most {MOST_SETS} ignore sets", field="name")
    await store.call("HSET", key, name, msgspec.json.encode(list(patterns)))


def check(name: str, patterns: Sequence[str]) -> None:
    if not name or len(name) > LONGEST_NAME or not set(name) <= _LETTERS:
        raise Refused("a name has letters, digits and _.-", field="name")
    if len(patterns) > MOST_PATTERNS:
        raise Refused(f"a set has at most {MOST_PATTERNS:,} patterns", field="patterns")
    for number, pattern in enumerate(patterns, 1):
        try:
            ignores.check(pattern)
        except Refused as error:
            raise Refused(f"pattern {number}: {error}", field="patterns") from None


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


async def remove(store: Store, name: str) -> bool:
    """Removes a set of one's own; returns True where ours takes its place again. Raises
    NotFound."""
    if not await store.call("HDEL", Crawls(store.prefix).ignore_sets(), name):
        raise NotFound(f"nobody has made or changed an ignore set {name!r}")
    return name in built_in()
