"""A small medium of the tests' own: letters that are put down in a list, at addresses which say
what becomes of them."""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from watchbell.alerting.model import Alert
from watchbell.errors import DeliveryFailed
from watchbell.gateways.medium import SendLimits
from watchbell.gateways.message import Form, Message
from watchbell.store.client import Store

Refusal = Callable[[], DeliveryFailed | None]


def alert(
    number: int, address: str = "alice@example.com", check: str = "HTTP", **more: str
) -> Alert:
    fields = {
        "id": f"a{number}",
        "media": "post",
        "address": address,
        "contact_id": "alice",
        "contact_first_name": "Alice",
        "contact_last_name": "Adams",
        "event_id": f"web-1:{check}",
        "state": "critical",
        "notification_type": "problem",
        "summary": f"number {number}",
    }
    return Alert(**{**fields, **more})  # type: ignore[arg-type]


def hush(words: str) -> None:
    """For those who say how they fare, and nobody listens."""


class Letter(Struct, frozen=True):
    id: str
    address: str
    text: str


class Post:
    """Delivers at once, unless the address was said to be refused or is slow."""

    form = Form(parts=("subject", "text"))

    def __init__(self, limits: SendLimits | None = None) -> None:
        self.limits = limits or SendLimits()
        self.letters: list[Letter] = []
        self.tried: list[str] = []
        self.refusals: dict[str, Refusal] = {}
        self.slow: dict[str, asyncio.Event] = {}
        self.most_at_once = 0
        self._at_once = 0

    async def render_later(self, alert: Alert) -> Message:
        return self.render(alert)

    def render(self, alert: Alert) -> Message:
        return Message(
            id=alert.id,
            address=alert.address,
            subject=f"about {alert.event_id}",
            text=str(alert.summary),
        )

    async def send(self, message: Message) -> str:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        self.tried.append(message.id)
        try:
            if message.address in self.slow:
                await self.slow[message.address].wait()
            await asyncio.sleep(0)
            refused = self.refusals.get(message.address, lambda: None)()
            if refused is not None:
                raise refused
        finally:
            self._at_once -= 1
        self.letters.append(Letter(message.id, message.address, message.text))
        return f"taken as {message.id}"

    async def attend(self, store: Store) -> None:
        await store.call("PING")

    async def close(self) -> None:
        pass

    @property
    def ids(self) -> list[str]:
        return [letter.id for letter in self.letters]
