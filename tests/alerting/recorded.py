"""Checks with a past, written to the store as the document has them."""

from collections.abc import Sequence

from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import split_id
from watchbell.store.client import Argument, Store

Told = tuple[int, str] | tuple[int, str, str]


async def check(store: Store, event_id: str, changes: Sequence[Told], **fields: str | int) -> None:
    """A check that changed its state at these times: time, state and perhaps a summary."""
    keys, (entity, name) = Alerting(store.prefix), split_id(event_id)
    for time, state, *summary in changes:
        await store.call("RPUSH", keys.states(entity, name), time)
        await store.call("ZADD", keys.state_times(entity, name), time, time)
        await store.call("SET", keys.state(entity, name, time), state)
        await store.call("SET", keys.count(entity, name, time), 7)
        for text in summary:
            await store.call("SET", keys.summary(entity, name, time), text)
    last, state, *_ = changes[-1]
    known = {"state": state, "last_change": last, "last_update": last, **fields}
    flat = [part for pair in known.items() for part in pair]
    await store.call("HSET", keys.current(entity, name), *flat)
    await store.call("ZADD", keys.all_checks(), last, event_id)
    await store.call("ZADD", keys.entity_checks(entity), last, name)
    await store.call("ZADD", keys.current_checks(entity), last, name)
    await store.call("ZADD", keys.current_entities(), last, entity)
    if state != "ok":
        await store.call("ZADD", keys.failed_checks(), last, event_id)


async def disabled(store: Store, event_id: str) -> None:
    entity, name = split_id(event_id)
    await store.call("ZREM", Alerting(store.prefix).current_checks(entity), name)


async def notified(store: Store, event_id: str, family: str, *times: int) -> None:
    """Notifications of one kind, by the family of their times."""
    await store.call("RPUSH", getattr(Alerting(store.prefix), family)(*split_id(event_id)), *times)


async def alert(store: Store, identifier: str, time: int, contact: str, event_id: str) -> None:
    keys = Alerting(store.prefix)
    fields: list[Argument] = [
        "timestamp",
        time,
        "contact",
        contact,
        "media",
        "email",
        "check",
        event_id,
    ]
    await store.call("HSET", keys.alert(identifier), *fields, "state", "critical")
    await store.call("EXPIRE", keys.alert(identifier), 600)
    for index in (
        keys.alerts(),
        keys.alerts_by_contact(contact),
        keys.alerts_by_medium(contact, "email"),
        keys.alerts_by_check(*split_id(event_id)),
    ):
        await store.call("ZADD", index, time, identifier)
