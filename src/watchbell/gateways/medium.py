"""What a medium is: it hands one message over to its server."""

from typing import Annotated, Protocol

from msgspec import Meta, Struct

from watchbell.gateways.message import Form, Message
from watchbell.store.client import Store


class SendLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that all media have."""

    kind: str = ""
    """The medium's kind, where its table has a name of its own."""
    concurrency: Annotated[int, Meta(ge=1, le=1_000)] = 10
    """Messages that are sent at the same time."""
    per_address: Annotated[int, Meta(ge=1, le=1_000)] = 1
    """How many of these may go to one address; more than one only about different checks."""
    rate: Annotated[float, Meta(ge=0, le=1e6)] = 0
    """Messages per second and process; 0 for no limit."""
    address_rate: Annotated[float, Meta(ge=0, le=1e6)] = 0
    """Messages per minute and process to one address; 0 for no limit."""
    timeout: Annotated[float, Meta(gt=0, le=600)] = 10
    """Seconds that sending one message may take."""


class Medium(Protocol):
    """One per configured table."""

    @property
    def limits(self) -> SendLimits: ...

    @property
    def form(self) -> Form: ...

    async def send(self, message: Message) -> str:
        """Returns the server's answer in one line once it has accepted the message. Every expected
        failure is a DeliveryFailed."""

    async def attend(self, store: Store) -> None:
        """Runs beside the deliveries until cancelled: receives answers, keeps a connection open."""

    async def close(self) -> None: ...
