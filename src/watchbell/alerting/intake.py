"""Validates check events, adds the time, and pushes them to `events`."""

from collections.abc import Iterator, Sequence

from watchbell.alerting.event import encode, parse
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.store.client import Store

_MOST = 1_000
_MOST_BYTES = 4 << 20


async def submit(store: Store, event: CheckEvent, *more: CheckEvent) -> None:
    """Pushes events in order; raises Refused and pushes none if one is invalid."""
    now = int(SYSTEM.now())
    await submit_raw(store, [_checked(one, now) for one in (event, *more)])


async def submit_raw(store: Store, items: Sequence[bytes]) -> None:
    """Pushes encoded events; the first is processed first."""
    key = Alerting(store.prefix).events()
    for piece in _pieces(items):
        await store.call("LPUSH", key, *piece)


def _checked(event: CheckEvent, now: int) -> bytes:
    checked = parse(encode(event), now)
    if isinstance(checked, Rejection):
        raise Refused(f"this is no check event: {checked.reason}")
    return encode(checked)


def _pieces(items: Sequence[bytes]) -> Iterator[list[bytes]]:
    piece: list[bytes] = []
    size = 0
    for item in items:
        if piece and (len(piece) == _MOST or size + len(item) > _MOST_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(item)
        size += len(item)
    if piece:
        yield piece
