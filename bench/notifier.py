"""Notifications per second with 1,000 contacts, while few checks fail and while many do."""

import asyncio
import gc
import time

import msgspec

from bench.figures import Figure, repeated
from bench.stores import fresh
from watchbell.alerting import contacts, indexes, rules
from watchbell.alerting.model import Contact, Medium, Notification, Rule
from watchbell.alerting.notifier import Notifier, step
from watchbell.roles.gc_tuning import COLLECT
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

CONTACTS, RULES, NOTIFICATIONS = 1_000, 5, 10_000
WARMING = 2 * CONTACTS
ALERTING = 50_000
THRESHOLD = 20
"""Failing checks from which on a contact gets summaries; ALERTING exceeds it for every contact."""
NOW = 1_700_000_000

# ARGV[1] msgpack: texts. The minimal cost of a notification: pop it, push an alert.
bare = Script("""
for _, text in ipairs(cmsgpack.unpack(ARGV[1])) do
  redis.call('LPOP', 'bench:in')
  redis.call('RPUSH', 'bench:out', text)
end
""")

# ARGV[1] since when, ARGV[2] msgpack: entity and check of each that fails.
failing = Script("""
for _, pair in ipairs(cmsgpack.unpack(ARGV[2])) do
  local entity, check = pair[1], pair[2]
  redis.call('HSET', 'check:' .. entity .. ':' .. check, 'state', 'critical',
    'last_change', ARGV[1], 'last_update', ARGV[1], 'summary', 'connection refused')
  redis.call('ZADD', 'current_checks:' .. entity, ARGV[1], check)
  redis.call('ZADD', 'failed_checks', ARGV[1], entity .. ':' .. check)
end
""")


def rule(contact: str, number: int) -> Rule:
    hours: dict[str, object] = {
        "start_time": "2013-04-18 00:00:00",
        "end_time": "2013-04-18 23:59:59",
        "rrules": [
            {"rule_type": "Weekly", "interval": 1, "validations": {"day": [0, 1, 2, 3, 4, 5, 6]}}
        ],
    }
    return Rule(
        id=f"{contact}-{number}",
        contact_id=contact,
        tags=("http",) if number == 0 else (f"tag-{number}",),
        time_restrictions=(hours,),
        critical_media=("email", "sms"),
        warning_media=("email",),
    )


def notification(number: int) -> bytes:
    return msgspec.json.encode(
        Notification(
            event_id=f"web-{number}:HTTP port 80",
            state="critical",
            summary="connection refused",
            type="problem",
            severity="critical",
            tags=["http", "port", f"web-{number}"],
            count=number,
        )
    )


async def prepare(store: Store, *, alerting: int) -> None:
    for number in range(CONTACTS):
        name = f"contact-{number}"
        media = {
            medium: Medium(address=f"{name}@example.com", rollup_threshold=THRESHOLD)
            for medium in ("email", "sms")
        }
        await contacts.save(store, Contact(id=name, first_name="Alice", media=media))
        for one in range(RULES):
            await rules.save(store, rule(name, one))
    for first in range(0, WARMING + NOTIFICATIONS, 500):
        pairs = [(f"web-{n}", f"entity-{n}") for n in range(first, first + 500)]
        await store.call("HSET", "all_entity_ids_by_name", *(x for pair in pairs for x in pair))
        for name, identifier in pairs:
            contact = f"contact-{int(name.removeprefix('web-')) % CONTACTS}"
            await store.call("SADD", f"contacts_for:{identifier}", contact)
    new = [f"web-{number}:HTTP port 80" for number in range(WARMING + NOTIFICATIONS)]
    old = [f"old-{number}:HTTP" for number in range(alerting)]
    await failed(store, [*new, *old])
    for number in range(CONTACTS if alerting else 0):
        scored = [x for check in old[number::CONTACTS] for x in (NOW, check)]
        for medium in ("email", "sms"):
            key = f"contact_alerting_checks:contact-{number}:media:{medium}"
            await store.call("ZADD", key, *scored)


async def failed(store: Store, checks: list[str]) -> None:
    """Write what the processor stores about failing checks and the notifier reads."""
    for first in range(0, len(checks), 500):
        packed = msgspec.msgpack.encode(
            [check.split(":", 1) for check in checks[first : first + 500]]
        )
        await failing(store, [], [NOW - 60, packed])


async def notify_all(store: Store, notifier: Notifier, first: int, last: int) -> int:
    items = [notification(number) for number in range(first, last)]
    for at in range(0, len(items), 500):
        await store.call("RPUSH", "notifications", *items[at : at + 500])
    done = 0
    while (tally := await step(notifier, NOW)) is not None:
        done += tally.notifications
    return done


async def rate(alerting: int) -> float:
    gc.set_threshold(*COLLECT)
    async with fresh() as (store, settings):
        await prepare(store, alerting=alerting)
        await indexes.build(store)
        notifier = Notifier(store, settings.alerting)
        await notify_all(store, notifier, 0, CONTACTS)  # creates the general rules
        await notify_all(store, notifier, CONTACTS, WARMING)  # fills the caches
        begun = time.perf_counter()
        done = await notify_all(store, notifier, WARMING, WARMING + NOTIFICATIONS)
        spent = time.perf_counter() - begun
        assert done == NOTIFICATIONS
        assert await store.call("LLEN", "email_notifications") > 0
        return NOTIFICATIONS / spent


async def bare_rate() -> float:
    async with fresh() as (store, _):
        items = [notification(number) for number in range(NOTIFICATIONS)]
        await store.call("RPUSH", "bench:in", *items)
        begun = time.perf_counter()
        for first in range(0, NOTIFICATIONS, 200):
            texts = [verbatim(item) for item in items[first : first + 200]]
            await bare(store, [], [msgspec.msgpack.encode(texts)])
        return NOTIFICATIONS / (time.perf_counter() - begun)


def figures() -> list[Figure]:
    limit = max(repeated(lambda: asyncio.run(bare_rate()), 3))
    return [
        Figure(
            name=f"notifier, {CONTACTS:,} contacts, {RULES} rules each, {words}",
            unit="notifications/s",
            runs=repeated(lambda alerting=alerting: asyncio.run(rate(alerting)), 3),  # type: ignore[misc]
            aim=7_000,
            limit=limit,
            limit_name="notifications/s by a bare script",
        )
        for words, alerting in (("none failing", 0), (f"{ALERTING:,} checks failing", ALERTING))
    ]
