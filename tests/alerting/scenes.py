"""A stage for alerting: contacts, events and times go in, and what was told to whom comes out."""

import json
import os
from typing import Any

import msgspec

from tests.alerting import forgetting
from watchbell.alerting import contact_links, contacts, indexes, intake, queued_records, rules
from watchbell.alerting.drain import Drained, drain, notify_all, process_all
from watchbell.alerting.effects import EFFECTS
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import Alert, CheckEvent, Contact, Medium, Rule
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.processor import Processor
from watchbell.alerting.silence import Silence
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store
from watchbell.store.effects import flat, packed

KEPT = frozenset({*Alerting.families(), AlertingOwn.check_settings, AlertingOwn.silence})
"""Flapjack's keys, what people set, and what only a check itself can know."""
START = 1_700_000_000  # Tuesday 2023-11-14 22:13:20 UTC


class Stage:
    def __init__(self, store: Store, **settings: Any) -> None:
        self.store = store
        self.keys, self.own = Alerting(store.prefix), AlertingOwn(store.prefix)
        chosen = Settings(**settings)
        self._silence = Silence(store)
        self._processor = Processor(store, chosen, os.getpid())
        self._notifier = Notifier(store, chosen)
        self.now = START

    async def contact(
        self,
        name: str,
        *media: str,
        linked: str = "ALL",
        check: str | None = None,
        interval: int = 900,
        threshold: int = 0,
        zone: str = "",
        rule: dict[str, Any] | None = None,
    ) -> None:
        """Somebody with addresses for the media, interested in everything unless told otherwise."""
        made = {
            medium: Medium(
                address=f"{name}@{medium}", interval=interval, rollup_threshold=threshold
            )
            for medium in media
        }
        person = Contact(id=name, first_name=name.title(), timezone=zone, media=made)
        await contacts.save(self.store, person)
        await contact_links.link(self.store, name, linked, check)
        if rule is not None:
            await self.rule(name, **rule)

    async def rule(self, contact: str, **fields: Any) -> None:
        await rules.save(
            self.store, Rule(contact_id=contact, **{"id": f"{contact}-rule", **fields})
        )

    async def send(self, state: str, name: str = "web:http", **fields: Any) -> Drained:
        """One event, processed at the present time of the stage."""
        entity, _, check = name.partition(":")
        kind = "action" if state in ("acknowledgement", "test_notifications") else "service"
        event = CheckEvent(type=kind, state=state, entity=entity, check=check, **fields)  # type: ignore[arg-type]
        await intake.submit(self.store, event)
        return await self.drain()

    async def push(self, *items: str | bytes | dict[str, Any]) -> None:
        for item in items:
            raw = json.dumps(item) if isinstance(item, dict) else item
            await self.store.call("LPUSH", self.keys.events(), raw)

    async def drain(self) -> Drained:
        return await drain(self._silence, self._processor, self._notifier, self.now)

    def later(self, seconds: int) -> "Stage":
        self.now += seconds
        return self

    async def fails(self, name: str = "web:http", state: str = "critical") -> Drained:
        """Fails for long enough to notify contacts."""
        await self.send(state, name)
        return await self.later(30).send(state, name)

    async def alerts(self, medium: str = "email") -> list[Alert]:
        """The alerts that were queued for the medium since the last call."""
        found = await consumed(self.store, medium)
        return [msgspec.json.decode(one, type=Alert) for one in found]

    async def alert_lines(self, medium: str = "email") -> list[str]:
        """New alerts as `CONTACT KIND CHECK STATE`."""
        return [
            " ".join(
                [
                    a.contact_id,
                    f"rollup-{a.rollup}" if a.rollup else a.notification_type,
                    a.event_id,
                    a.state,
                ]
            )
            for a in await self.alerts(medium)
        ]


class ForgetfulStage(Stage):
    """Before every step, the store is as if Flapjack had taken all steps until then."""

    _forgotten = START

    async def drain(self) -> Drained:
        await self.forget()
        done = await process_all(self._silence, self._processor, self.now)
        await self.forget()
        await notify_all(self._notifier, done, self.now)
        return done

    async def forget(self) -> None:
        await forgetting.forget(self.store, self.now - self._forgotten, KEPT)
        self._forgotten = self.now


class RebuildingStage(ForgetfulStage):
    """The same, and our indexes are built anew before every step."""

    async def forget(self) -> None:
        await super().forget()
        await indexes.build(self.store)


async def consumed(store: Store, medium: str) -> list[bytes]:
    """Takes all alerts from the queue of a medium, and their records."""
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    items = await store.call("LRANGE", keys.queue(medium), 0, -1)
    found = await queued_records.alerts(store, items)
    await store.call("DEL", keys.queue(medium))
    gone = packed(flat([["CONSUME", "alerts", *queued_records.ids(items)]]))
    await EFFECTS.alone(store, [own.records()], [gone])
    return found
