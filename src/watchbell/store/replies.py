"""Reading replies of the store: pages of large keys, and values that anybody may have written."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from watchbell.store.client import Store

PAGE = 1000


async def scored_members(store: Store, key: str) -> AsyncIterator[list[tuple[str, int]]]:
    """The members of a sorted set with their scores, page by page; one may come twice."""
    cursor = 0
    while True:
        cursor, page = await store.call("ZSCAN", key, cursor, "COUNT", PAGE)
        yield [(text(member), number(score) or 0) for member, score in page]
        if cursor == 0:
            return


async def hash_fields(store: Store, key: str) -> dict[bytes, bytes]:
    """All of a hash, page by page, without blocking the store."""
    found: dict[bytes, bytes] = {}
    cursor = 0
    while True:
        cursor, page = await store.call("HSCAN", key, cursor, "COUNT", PAGE)
        found |= page
        if cursor == 0:
            return found


def pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)


def text(value: bytes) -> str:
    return value.decode(errors="replace")


def text_or_none(value: bytes | None) -> str | None:
    return None if value is None else text(value)


def number(value: bytes | float | None) -> int | None:
    """The whole number that the bytes are; None where they are not one."""
    try:
        return None if value is None else int(float(value))
    except (ValueError, OverflowError):
        return None


def numbers(values: Iterable[bytes]) -> list[int]:
    return [found for found in map(number, values) if found is not None]
