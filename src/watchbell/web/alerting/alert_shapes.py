"""What the API accepts and returns for alerts."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from watchbell.gateways.alert_log import AlertRecord, SentMessage


class AlertRow(Struct, frozen=True, kw_only=True):
    """An alert and its delivery."""

    sent: AlertRecord
    contact_name: str
    """Empty where the contact no longer exists."""


class AlertView(Struct, frozen=True, kw_only=True):
    message: SentMessage
    contact_name: str


class RetryBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ids: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(min_length=1, max_length=100),
    ]


class RetriedAlert(Struct, frozen=True, kw_only=True):
    id: str
    status: Literal["again", "refused"]
    reason: str = ""
