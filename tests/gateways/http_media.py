"""Media that speak HTTP, opened as the settings would open them, in front of the tests' server."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests.gateways.http_sink import Sink, running
from tests.gateways.rendering import no_link, renderer
from watchbell import settings
from watchbell.alerting.model import Alert
from watchbell.errors import DeliveryFailed
from watchbell.gateways import catalogue
from watchbell.gateways.medium import Medium
from watchbell.gateways.samples import sample

LOOPBACK = ["127.0.0.0/8", "::1/128"]
ACK_URL = "https://watch.example.com/ack/abc?x=1&y=2"

NASTY: dict[str, dict[str, Any]] = {
    "unicode": {"summary": "Störung ✓ 停止 🔥", "event_id": "wéb:Ünïcode 检查"},
    "newlines": {"summary": "one\r\ntwo\u2028three", "event_id": "web:a\nb\r\nX-Evil: 1"},
    "controls": {"summary": "".join(map(chr, range(32))) + "\x7f\x9b31m", "event_id": "w\0:c\x1b"},
    "half characters": {"summary": "\ud800 lone \udfff", "event_id": "web:\udc80"},
    "1 MB": {"details": "details " * 131_072, "summary": "long " * 50_000},
    "headers": {"id": "a1\r\nX-Evil: 1", "contact_first_name": "Alice\r\nX-Evil: 1"},
    "markup": {"summary": "<!channel> <@U1> & </section> {{ 7*7 }} %s ${x}", "tags": ["<b>"]},
    "nothing": {"summary": None, "details": None, "time": None, "event_id": ":"},
    "far": {"time": 1 << 60, "state_duration": 1 << 60},
}
"""What strangers may have written."""


def opened(kind: str, /, **fields: Any) -> Medium:
    module = catalogue.module(kind)
    chosen = msgspec.convert(fields, module.Settings, dec_hook=settings.decode)
    return module.open_medium(kind, chosen)


@asynccontextmanager
async def scene(kind: str, /, **fields: Any) -> AsyncIterator[tuple[Sink, Medium]]:
    """A server and a medium; in the medium's settings `SINK` is the server's address."""
    async with running() as sink:
        placed = {
            n: v.replace("SINK", sink.url) if isinstance(v, str) else v for n, v in fields.items()
        }
        medium = opened(kind, timeout=20, **placed)
        try:
            yield sink, medium
        finally:
            await medium.close()


async def sent(medium: Medium, alert: Alert, link: Callable[[Alert], str] = no_link) -> str:
    return await medium.send(renderer(medium, link)(alert))


async def refused(medium: Medium, alert: Alert) -> DeliveryFailed:
    """The failure; all that every failure has to be."""
    with pytest.raises(DeliveryFailed) as raised:
        await sent(medium, alert)
    failure = raised.value
    assert not (failure.permanent and failure.unreachable)
    assert 0 < len(str(failure)) <= 1_000
    assert str(failure).isprintable()
    return failure


def kind_of(failure: DeliveryFailed) -> str:
    return "permanent" if failure.permanent else "unreachable" if failure.unreachable else "passing"


def problem(address: str, **fields: Any) -> Alert:
    return sample("problem", address=address, **fields)
