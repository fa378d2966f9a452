"""Another program that keeps contacts, entities and checks as records, as Flapjack's second
document has them: under locks, and with ids of its own."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.waiting import eventually
from watchbell.store.client import Argument, Store

LIFE = 3_600
"""Seconds of a lock: longer than Flapjack's, since no test waits for its end."""


def escaped(value: str) -> str:
    return value.replace(" ", "%20").replace(":", "%3A")


class Sandstorm:
    def __init__(self, store: Store) -> None:
        self._store, self._me = store, uuid.uuid4().hex

    async def call(self, command: str, key: str, *words: Argument) -> object:
        found: object = await self._store.call(command, self._store.prefix + key, *words)
        return found

    @asynccontextmanager
    async def lock(self, *classes: str) -> AsyncIterator[None]:
        now, _ = await self._store.call("TIME")
        prefix = self._store.prefix
        pairs: list[Argument] = []
        for name in classes:
            pairs += [f"{prefix}{name}::lock:owner", self._me]
            pairs += [f"{prefix}{name}::lock:expiry", int(now) + LIFE]
        await eventually(lambda: self._store.call("MSETNX", *pairs))
        try:
            yield
        finally:
            await self._store.call("DEL", *pairs[::2])

    async def edit(self, name: str, command: str, key: str, *words: Argument) -> None:
        """One command under the lock of a class."""
        async with self.lock(name):
            await self.call(command, key, *words)

    async def save(self, name: str, fields: dict[str, str | int], record: str = "") -> str:
        """A record with these fields besides those that it has; its indexes are the caller's."""
        record = record or uuid.uuid4().hex
        flat = [part for pair in fields.items() for part in pair]
        await self.call("HSET", f"{name}:{record}:attrs", *flat)
        await self.call("SADD", f"{name}::ids", record)
        return record

    async def destroy(self, name: str, record: str, *parts: str) -> None:
        await self.call("SREM", f"{name}::ids", record)
        for part in ("attrs", "belongs_to", *parts):
            await self.call("DEL", f"{name}:{record}:{part}")

    async def contact(self, contact: str, **fields: str | int) -> None:
        async with self.lock("contact"):
            await self.save("contact", fields, contact)

    async def medium(self, contact: str, kind: str, address: str, **fields: str | int) -> str:
        async with self.lock("contact", "medium"):
            medium = await self.save("medium", {"type": kind, "address": address, **fields})
            await self.call("SADD", f"medium::by_type:{kind}", medium)
            await self.call("HSET", f"medium:{medium}:belongs_to", "contact_id", contact)
            await self.call("SADD", f"contact:{contact}:media_ids", medium)
        return medium

    async def rule(self, contact: str, rule: str, **sets: str) -> None:
        async with self.lock("contact", "notification_rule"):
            holes: dict[str, str | int] = {
                f"{one}_blackhole": "false" for one in ("unknown", "warning", "critical")
            }
            await self.save("notification_rule", {"time_restrictions_json": "[]", **holes}, rule)
            for name, member in sets.items():
                await self.call("SADD", f"notification_rule:{rule}:attrs:{name}", member)
            await self.call("HSET", f"notification_rule:{rule}:belongs_to", "contact_id", contact)
            await self.call("SADD", f"contact:{contact}:notification_rules_ids", rule)

    async def entity(self, entity: str, name: str, *contacts: str, tags: str = "") -> None:
        async with self.lock("entity", "contact"):
            await self.entity_without_lock(entity, name)
            for tag in tags.split():
                await self.call("SADD", f"entity:{entity}:attrs:tags", tag)
            for contact in contacts:
                await self.call("SADD", f"entity:{entity}:contacts_ids", contact)
                await self.call("SADD", f"contact:{contact}:entities_ids", entity)

    async def entity_without_lock(self, entity: str, name: str) -> None:
        await self.save("entity", {"name": name, "enabled": "true"}, entity)
        await self.call("HSET", "entity::by_name", name, entity)
        await self.call("SADD", "entity::by_enabled:true", entity)

    async def check(self, entity_id: str, entity: str, name: str, **fields: str | int) -> str:
        async with self.lock("check", "entity"):
            given: dict[str, str | int] = {
                "entity_name": entity,
                "name": name,
                "enabled": "true",
                **fields,
            }
            check = await self.save("check", given)
            for field in ("entity_name", "name", "enabled", "state"):
                if field in given:
                    value = escaped(str(given[field]))
                    await self.call("SADD", f"check::by_{field}:{value}", check)
            if entity_id:
                await self.call("SADD", f"entity:{entity_id}:checks_ids", check)
        return check

    async def enable(self, check: str, *, is_on: bool) -> None:
        value, other = ("true", "false") if is_on else ("false", "true")
        async with self.lock("check", "entity"):
            await self.save("check", {"enabled": value}, check)
            await self.call("SREM", f"check::by_enabled:{other}", check)
            await self.call("SADD", f"check::by_enabled:{value}", check)

    async def delete_check(self, check: str, entity_id: str, entity: str, name: str) -> None:
        async with self.lock("check", "entity"):
            for value in ("ok", "warning", "critical", "unknown"):
                await self.call("SREM", f"check::by_state:{value}", check)
            await self.call("SREM", "check::by_enabled:true", check)
            await self.call("SREM", f"check::by_entity_name:{escaped(entity)}", check)
            await self.call("SREM", f"check::by_name:{escaped(name)}", check)
            await self.call("SREM", f"entity:{entity_id}:checks_ids", check)
            await self.destroy("check", check, "contacts_ids")

    async def state(self, check: str, time: int, state: str, **fields: str | int) -> str:
        async with self.lock("check", "check_state"):
            given: dict[str, str | int] = {"state": state, "timestamp": time, "notified": "false"}
            given |= {"count": 1, **fields}
            record = await self.save("check_state", given)
            await self.call("SADD", f"check_state::by_state:{state}", record)
            await self.call("SADD", f"check_state::by_notified:{given['notified']}", record)
            await self.call("HSET", "check_state::by_count", str(given["count"]), record)
            await self.call("HSET", f"check_state:{record}:belongs_to", "check_id", check)
            await self.call("ZADD", f"check:{check}:states_ids", time, record)
        return record

    async def window(self, kind: str, check: str, start: int, end: int, summary: str = "") -> str:
        name = f"{kind}_maintenance"
        async with self.lock("check", name):
            given: dict[str, str | int] = {"start_time": start, "end_time": end, "summary": summary}
            record = await self.save(name, given)
            owners = ["check_by_start_id", check, "check_by_end_id", check]
            await self.call("HSET", f"{name}:{record}:belongs_to", *owners)
            await self.call("ZADD", f"check:{check}:{name}s_by_start_ids", start, record)
            await self.call("ZADD", f"check:{check}:{name}s_by_end_ids", end, record)
        return record

    async def delete_window(self, kind: str, check: str, record: str) -> None:
        name = f"{kind}_maintenance"
        async with self.lock("check", name):
            await self.call("ZREM", f"check:{check}:{name}s_by_start_ids", record)
            await self.call("ZREM", f"check:{check}:{name}s_by_end_ids", record)
            await self.destroy(name, record)

    async def block(self, medium: str, check: str, end: int, **fields: str | int) -> str:
        given: dict[str, str | int] = {"expire_at": end, "rollup": "false", **fields}
        record = await self.save("notification_block", given)
        for field in ("rollup", "state"):
            if field in given:
                await self.call("SADD", f"notification_block::by_{field}:{given[field]}", record)
        belongs = f"notification_block:{record}:belongs_to"
        await self.call("HSET", belongs, "medium_id", medium)
        await self.call("ZADD", f"medium:{medium}:notification_blocks_ids", end, record)
        if check:
            await self.call("HSET", belongs, "check_id", check)
            await self.call("SADD", f"check:{check}:notification_blocks_ids", record)
        return record
