"""Sends a test message to one contact by one medium, like any alert."""

from watchbell import ids
from watchbell.alerting.alert_writes import AlertWrites
from watchbell.alerting.effects import EFFECTS
from watchbell.alerting.model import Alert, Contact
from watchbell.errors import NotFound
from watchbell.store.client import Store
from watchbell.store.effects import flat, packed

CHECK = "watchbell:test"
"""The check that test messages name."""


async def send(
    store: Store, contact: Contact, medium: str, summary: str, alert_days: int, now: int
) -> str:
    """Queues the message and returns the alert's id, by which its record is found."""
    if medium not in contact.media:
        raise NotFound(f"{contact.first_name} has no medium {medium}")
    alert = Alert(
        id=ids.token(),
        media=medium,
        address=contact.media[medium].address,
        contact_id=contact.id,
        contact_first_name=contact.first_name,
        contact_last_name=contact.last_name,
        event_id=CHECK,
        state="test_notifications",
        summary=summary,
        time=now,
        notification_type="test",
    )
    alert_writes = AlertWrites(store.prefix, alert_days)
    commands = flat(alert_writes.alerts([alert], now))
    await EFFECTS.alone(store, [alert_writes.own.records()], [packed(commands)])
    return alert.id
