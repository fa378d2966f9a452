"""What a medium is: it renders an alert as a message, and hands the message over."""

from typing import Annotated, Protocol

from msgspec import Meta, Struct

from watchbell.alerting.model import Alert
from watchbell.store.client import Store


class SendLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the settings of all media have in common."""

    kind: str = ""
    """The medium's kind, where its table has a name of its own."""
    concurrency: Annotated[int, Meta(ge=1, le=1_000)] = 10
    """Messages on their way at once."""
    per_address: Annotated[int, Meta(ge=1, le=1_000)] = 1
    """How many of these may go to one address; more than one only about different checks."""
    rate: Annotated[float, Meta(ge=0, le=1e6)] = 0
    """Messages a second, of this process; 0 for no limit."""
    address_rate: Annotated[float, Meta(ge=0, le=1e6)] = 0
    """Messages a minute to one address, of this process; 0 for no limit."""
    timeout: Annotated[float, Meta(gt=0, le=600)] = 10
    """Seconds that handing one message over may take."""


class Message(Struct, frozen=True, kw_only=True):
    alert: Alert
    """Its `id` travels with the message, so that a second copy can be told for what it is."""
    text: str
    subject: str = ""
    html: str = ""


class Words(Protocol):
    """The texts of one medium. `part` is `subject`, `text` or `html`; what people wrote of their
    own and what fails is replaced by ours, and told."""

    def __call__(self, part: str, alert: Alert) -> str: ...


class Medium(Protocol):
    """One per configured table. Everything that can go wrong in `send` is a DeliveryFailed."""

    @property
    def limits(self) -> SendLimits: ...

    def render(self, alert: Alert) -> Message: ...

    async def send(self, message: Message) -> str:
        """Returns what the server answered, in one line, once it has taken the message."""

    async def attend(self, store: Store) -> None:
        """Runs beside the deliveries until cancelled: hears answers, keeps a connection."""

    async def close(self) -> None: ...
