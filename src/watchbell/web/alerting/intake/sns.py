"""Messages of Amazon's SNS: their fields, the text that is signed, and which URLs are Amazon's."""

import base64
import binascii
import fnmatch
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from watchbell.alerting.model import Rejection

Kind = Literal["Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"]
OLDEST = 86_400
"""Seconds after which a message is taken no more. Until then it is known by its id, so that one
that somebody sends once more is taken once."""

_HOST = r"https://sns\.[a-z0-9-]{1,40}\.amazonaws\.com(?:\.cn)?"
_CERTIFICATE = re.compile(_HOST + r"/SimpleNotificationService-[0-9a-f]{1,64}\.pem")
_CONFIRMATION = re.compile(_HOST + r"/\?[A-Za-z0-9&=:%._~-]{1,2000}")
_ELSEWHERE = r"https?://(?:{})/[!-~]{{0,2000}}"
_SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        *("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    ),
}
_SIGNED["UnsubscribeConfirmation"] = _SIGNED["SubscriptionConfirmation"]
_DIGESTS = {"1": "sha1", "2": "sha256"}


class Envelope(Struct, frozen=True, kw_only=True):
    """A message as it was posted; not verified yet."""

    kind: Kind = msgspec.field(name="Type")
    id: str = msgspec.field(name="MessageId")
    topic: str = msgspec.field(name="TopicArn")
    time: datetime = msgspec.field(name="Timestamp")
    message: str = msgspec.field(name="Message")
    certificate: str = msgspec.field(name="SigningCertURL")
    version: Literal["1", "2"] = msgspec.field(name="SignatureVersion")
    signature: str = msgspec.field(name="Signature")
    confirmation: str = msgspec.field(name="SubscribeURL", default="")

    @property
    def digest(self) -> str:
        return _DIGESTS[self.version]

    @property
    def signed(self) -> bytes | None:
        """The decoded signature; None where it is not valid base64."""
        try:
            return base64.b64decode(self.signature, validate=True)
        except (binascii.Error, ValueError):
            return None


def is_envelope(body: object) -> bool:
    return isinstance(body, dict) and body.get("Type") in get_args(Kind)


def read(body: object) -> Envelope | Rejection:
    try:
        return msgspec.convert(body, Envelope)
    except msgspec.ValidationError as error:
        return Rejection(f"this is no message of SNS: {error}")


def signed_text(body: Mapping[str, Any], kind: Kind) -> bytes:
    """The text that is signed: names and values, each on a line. A subject may be missing."""
    lines = [f"{name}\n{body[name]}\n" for name in _SIGNED[kind] if body.get(name) is not None]
    return "".join(lines).encode(errors="replace")


def is_old(envelope: Envelope, now: float) -> bool:
    return envelope.time.timestamp() < now - OLDEST


def is_wanted(topic: str, topics: Sequence[str]) -> bool:
    """Whether a topic matches one of the settings, which may have shell globs."""
    return any(fnmatch.fnmatchcase(topic, one) for one in topics)


class Hosts:
    """The hosts from which we fetch certificates and confirmations: Amazon's, and those of the
    settings."""

    def __init__(self, others: Sequence[str] = ()) -> None:
        names = "|".join(map(re.escape, others))
        self._others = re.compile(_ELSEWHERE.format(names)) if others else None

    def is_chosen(self, url: str) -> bool:
        """Whether it is on a host that the settings name."""
        return self._others is not None and self._others.fullmatch(url) is not None

    def has_certificate(self, url: str) -> bool:
        return self.is_chosen(url) or _CERTIFICATE.fullmatch(url) is not None

    def has_confirmation(self, url: str) -> bool:
        return self.is_chosen(url) or _CONFIRMATION.fullmatch(url) is not None
