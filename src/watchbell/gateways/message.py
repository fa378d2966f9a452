"""What a medium sends: a message to one address, which knows nothing about alerts or jobs."""

from typing import Any, Literal

from msgspec import Struct

Part = Literal["subject", "headline", "text", "html", "thread", "payload", "incident"]


class Form(Struct, frozen=True, kw_only=True):
    """What the messages of a medium are made of."""

    parts: tuple[Part, ...] = ("text",)
    """`headline` takes the first line of the text as the subject; `thread` is a mail's thread and
    headers."""
    reply_prefix: str = ""
    """What people in a chat put before a command to us, such as `watchbell: `."""


class Thread(Struct, frozen=True):
    """Mails that a mail client shows together."""

    name: str
    title: str


class Incident(Struct, frozen=True, kw_only=True):
    """What a pager opens, acknowledges or resolves. Messages with the same key are about one
    incident."""

    key: str
    action: Literal["trigger", "acknowledge", "resolve"] = "trigger"
    severity: Literal["critical", "error", "warning", "info"] = "info"
    source: str = ""
    component: str = ""
    time: int | None = None
    """Seconds since 1970."""
    details: dict[str, Any] = {}
    links: list[str] = []


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    """Sent along, so that a receiver recognises a second copy."""
    address: str
    text: str = ""
    subject: str = ""
    html: str = ""
    recipient: str = ""
    """The name of the person at the address."""
    topic: str = ""
    """What it is about. Messages to one address on one topic are sent in order."""
    tone: str = ""
    """A check's state, `acknowledgement` or `test`: decides the colour."""
    is_urgent: bool = False
    thread: Thread | None = None
    headers: dict[str, str] = {}
    """Further headers of a mail."""
    payload: str = ""
    """The JSON that a web hook posts; if empty, it posts id, subject and text."""
    reach: Literal["", "public", "any"] = ""
    """To which addresses a URL may lead: only on the public Internet, or any; empty for those that
    the medium's settings allow."""
    incident: Incident | None = None

    @property
    def body(self) -> str:
        """The text that is recorded as sent."""
        return self.payload or self.text
