"""Queues messages of actions for the gateways, each once."""

from typing import Literal, NamedTuple

from msgspec.structs import replace

from watchbell.errors import Refused
from watchbell.gateways import catalogue, overview
from watchbell.gateways.message import Message
from watchbell.gateways.sent_messages import send_later
from watchbell.jobs import recipients
from watchbell.jobs.keys import Jobs
from watchbell.settings import Settings
from watchbell.store.client import Store

KEPT = 30 * 86_400
"""Seconds for which it is kept what became of a message."""

Kind = Literal["email", "webhook"]
_NAMES: dict[Kind, str] = {"email": "mail", "webhook": "web hooks"}


class Queued(NamedTuple):
    message: str
    """The id of its record."""
    words: str


class MessageQueue:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._media = {one.name: one.kind for one in reversed(catalogue.configured(settings))}
        self.reach: Literal["public", "any"] = "any" if settings.jobs.private_hooks else "public"

    async def mail(
        self, message: Message, email: str, users: tuple[str, ...], now: float
    ) -> Queued:
        """The message, to these people. Raises Refused where there is nobody to send it to, or no
        gateway that could."""
        found = await recipients.find(self._store, email, users)
        unknown = f"no address is known for {', '.join(found.unknown)}" if found.unknown else ""
        if not found.addresses:
            raise Refused(unknown or "no address is given")
        addressed = replace(message, address=", ".join(found.addresses))
        queued = await self._queue(await self._medium("email", now), addressed, now)
        return queued._replace(words="; ".join(filter(None, [queued.words, unknown])))

    async def web_hook(self, message: Message, now: float) -> Queued:
        return await self._queue(await self._medium("webhook", now), message, now)

    async def _queue(self, medium: str, message: Message, now: float) -> Queued:
        record = Jobs(self._store.prefix).message(message.id)
        await send_later(self._store, medium, message, record, now)
        await self._store.call("EXPIRE", record, KEPT)
        return Queued(message.id, f"{medium} to {message.address}")

    async def _medium(self, kind: Kind, now: float) -> str:
        """The medium that sends it. Where these settings have none, gateways of another process
        may; a message that nobody would send is refused rather than left to wait."""
        named = [name for name, its_kind in self._media.items() if its_kind == kind]
        if kind in named or (not named and await self._is_served(kind, now)):
            return kind
        if named:
            return named[-1]
        raise Refused(
            f"no gateway for {_NAMES[kind]} is configured; add [gateways.{kind}] to the settings",
            code="no_gateway",
        )

    async def _is_served(self, medium: str, now: float) -> bool:
        (status,) = await overview.statuses(self._store, [medium])
        return status.is_alive(now)
