"""Lists in pages, each of which says where the next one begins."""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

from litestar.params import QueryParameter
from msgspec import Struct

T = TypeVar("T")

Limit = Annotated[int, QueryParameter(ge=1, le=1_000, description="The maximum number of items.")]
Cursor = Annotated[str, QueryParameter(max_length=200, description="`next` of the previous page.")]


class Page(Struct, Generic[T], frozen=True):
    items: list[T]
    next: str | None = None
    """Where the next page begins; null on the last one."""


def paged(items: Sequence[T], name: Callable[[T], str], cursor: str, limit: int) -> Page[T]:
    """The items after the cursor, which are sorted by unique names."""
    rest = [item for item in items if name(item) > cursor]
    chosen = rest[:limit]
    return Page(chosen, name(chosen[-1]) if len(rest) > limit else None)
