"""A small medium of the tests' own: letters that are put down in a list, at addresses which say
what becomes of them."""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from watchbell.alerting.model import Alert
from watchbell.errors import DeliveryFailed
from watchbell.gateways.medium import Message, SendLimits
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

    def __init__(self, limits: SendLimits | None = None) -> None:
        self.limits = limits or SendLimits()
        self.letters: list[Letter] = []
        self.tried: list[str] = []
        self.refusals: dict[str, Refusal] = {}
        self.slow: dict[str, asyncio.Event] = {}
        self.most_at_once = 0
        self._at_once = 0

    def render(self, alert: Alert) -> Message:
        return Message(alert=alert, subject=f"about {alert.event_id}", text=str(alert.summary))

    async def send(self, message: Message) -> str:
        alert = message.alert
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        self.tried.append(alert.id)
        try:
            if alert.address in self.slow:
                await self.slow[alert.address].wait()
            await asyncio.sleep(0)
            refused = self.refusals.get(alert.address, lambda: None)()
            if refused is not None:
                raise refused
        finally:
            self._at_once -= 1
        self.letters.append(Letter(alert.id, alert.address, message.text))
        return f"taken as {alert.id}"

    async def attend(self, store: Store) -> None:
        await store.call("PING")

    async def close(self) -> None:
        pass

    @property
    def ids(self) -> list[str]:
        return [letter.id for letter in self.letters]
