"""The keys that Flapjack 1.x leaves in its store, written one by one as it writes them."""

import hashlib
import json
import uuid
from typing import Any

from watchbell.store.client import Store

INTERVAL = 900


class FlapjackStore:
    """Stopped at `now`. `is_old` leaves out what came with Flapjack 1.2."""

    def __init__(self, store: Store, now: int, *, is_old: bool = False) -> None:
        self.call, self.now, self.is_old = store.call, now, is_old

    async def entity(self, name: str, number: str, *contacts: str) -> None:
        if self.is_old:
            await self.call("SET", f"entity_id:{name}", number)
            await self.call("HSET", f"entity:{number}", "name", name)
        else:
            await self.call("HSET", "all_entity_ids_by_name", name, number)
            await self.call("HSET", "all_entity_names_by_id", number, name)
        if contacts:
            await self.call("SADD", f"contacts_for:{number}", *contacts)

    async def contact(self, number: str, threshold: int = 0) -> None:
        names = ("first_name", "Alice", "last_name", "Smith", "email", "alice@example.com")
        await self.call("HSET", f"contact:{number}", *names)
        await self.call("HSET", f"contact_media:{number}", "email", "alice@example.com")
        await self.call("HSET", f"contact_media_intervals:{number}", "email", INTERVAL)
        if threshold:
            thresholds = f"contact_media_rollup_thresholds:{number}"
            await self.call("HSET", thresholds, "email", threshold)

    async def check(self, name: str, state: str, since: int, *, is_enabled: bool = True) -> None:
        """A check that took its state so many seconds ago."""
        entity, _, check = name.partition(":")
        changed = self.now - since
        fields = ("state", state, "last_change", changed, "last_update", self.now, "summary", "x")
        await self.call("HSET", f"check:{name}", *fields)
        await self.call("RPUSH", f"{name}:states", changed)
        await self.call("ZADD", f"{name}:sorted_state_timestamps", changed, changed)
        await self.call("SET", f"{name}:{changed}:state", state)
        await self.call("SET", f"{name}:{changed}:summary", "x")
        await self.call("SET", f"{name}:{changed}:count", 1)
        if is_enabled:
            await self.call("ZADD", f"current_checks:{entity}", self.now, check)
            await self.call("ZADD", "current_entities", self.now, entity)
        if not self.is_old:
            await self.call("ZADD", "all_checks", self.now, name)
            await self.call("ZADD", f"all_checks:{entity}", self.now, check)
        if state != "ok":
            await self.call("ZADD", "failed_checks", changed, name)
            short = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:8]
            await self.call("HSET", "checks_by_hash", short, name)
            await self.call("HSET", "check_hashes_by_id", name, short)

    async def notified(self, name: str, kind: str, ago: int) -> None:
        """A notification was made so many seconds ago."""
        is_problem = kind in ("critical", "warning", "unknown")
        for one in ("problem", kind) if is_problem else (kind,):
            await self.call("SET", f"{name}:last_{one}_notification", self.now - ago)
            await self.call("RPUSH", f"{name}:{one}_notifications", self.now - ago)

    async def alerted(self, name: str, contact: str, ago: int, state: str = "critical") -> None:
        """The same, and the contact was alerted."""
        await self.notified(name, state, ago)
        alerting = f"contact_alerting_checks:{contact}:media:email"
        await self.call("ZADD", alerting, self.now - ago, name)
        if ago < INTERVAL:
            drop = f"drop_alerts_for_contact:{contact}:email:{name}:{state}"
            await self.call("SETEX", drop, INTERVAL - ago, "d")

    async def failing(self, name: str, contact: str, ago: int) -> None:
        await self.check(name, "critical", ago + 30)
        await self.alerted(name, contact, ago)

    async def summarised(self, contact: str, ago: int) -> None:
        """A rollup alert was sent so many seconds ago."""
        if ago < INTERVAL:
            key = f"drop_rollup_alerts_for_contact:{contact}:email"
            await self.call("SETEX", key, INTERVAL - ago, "d")

    async def maintenance(self, name: str, kind: str, ago: int, length: int) -> None:
        """`scheduled` or `unscheduled`. The key that expires is set where it is open."""
        start = self.now - ago
        await self.call("ZADD", f"{name}:{kind}_maintenances", length, start)
        await self.call("SET", f"{name}:{start}:{kind}_maintenance:summary", "on it")
        await self.call("ZADD", f"{name}:sorted_{kind}_maintenance_timestamps", start, start)
        if 0 <= ago < length:
            await self.call("SETEX", f"{name}:{kind}_maintenance", length - ago, start)

    async def queued(self, name: str, state: str, **fields: Any) -> None:
        """A notification that waits, as Flapjack 1.6 writes it."""
        notification = {
            "event_id": name,
            "event_hash": None,
            "state": state,
            "summary": "x",
            "details": None,
            "time": self.now,
            "duration": None,
            "count": 7,
            "last_state": "ok",
            "last_summary": "fine",
            "state_duration": 30,
            "type": "problem",
            "severity": state,
            "tags": name.replace(":", " ").split(),
            **fields,
        }
        await self.call("RPUSH", "notifications", json.dumps(notification))

    async def alert(self, name: str, state: str, **fields: Any) -> str:
        """An alert that waits, as Flapjack 1.6 writes it; its id."""
        alert = {
            "media": "email",
            "address": "alice@example.com",
            "id": str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
            "rollup": None,
            "contact_id": "17",
            "contact_first_name": "Alice",
            "contact_last_name": "Smith",
            "event_id": name,
            "event_hash": None,
            "state": state,
            "summary": "x",
            "duration": None,
            "last_state": "ok",
            "last_summary": None,
            "state_duration": 30,
            "details": None,
            "time": self.now,
            "notification_type": "problem",
            "event_count": 7,
            "tags": name.split(":"),
            **fields,
        }
        await self.call("RPUSH", "email_notifications", json.dumps(alert))
        return str(alert["id"])

    async def three_in_a_rollup(self, ago: int) -> None:
        """Three checks of an entity whose one contact has got a summary of them."""
        await self.contact("17", threshold=3)
        await self.entity("web", "5", "17")
        for name in ("web:a", "web:b", "web:c"):
            await self.failing(name, "17", ago)
        await self.summarised("17", ago)
