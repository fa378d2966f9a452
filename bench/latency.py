"""Latency from an event to its alert in the queue on an idle system, and memory per check."""

import asyncio
import json
import os
import statistics
import time

import psutil

from bench.figures import Figure
from bench.stores import fresh
from watchbell.alerting import contact_links, contacts
from watchbell.alerting.model import Contact, Medium
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.notifier import step as notify
from watchbell.alerting.processor import Processor
from watchbell.alerting.processor import step as process
from watchbell.clock import SYSTEM
from watchbell.roles import alerting
from watchbell.roles.role import Context
from watchbell.store.client import Store

ROUNDS = 300
NOW = 1_700_000_000


def failing(number: int) -> str:
    return json.dumps(
        {
            "entity": f"host-{number}",
            "check": "HTTP",
            "type": "service",
            "state": "critical",
            "summary": "connection refused",
            "initial_failure_delay": 0,
        }
    )


async def somebody(store: Store) -> None:
    media = {"email": Medium(address="alice@example.com")}
    await contacts.save(store, Contact(id="alice", first_name="Alice", media=media))
    await contact_links.link(store, "alice", "ALL")


async def popped(store: Store, key: str) -> object:
    return await store.call("BLPOP", key, 5)


async def latencies() -> tuple[list[float], float]:
    """Milliseconds until each alert, and of a bare push and blocking pop."""
    async with fresh() as (store, settings):
        await somebody(store)
        context = Context(settings, store, SYSTEM, lambda _: None)
        spent, bare = [], []
        async with asyncio.TaskGroup() as group:
            roles = [
                group.create_task(alerting.process(context)),
                group.create_task(alerting.notify(context)),
            ]
            for number in range(ROUNDS):
                begun = time.perf_counter()
                waiting = group.create_task(popped(store, "email_notifications"))
                await store.call("LPUSH", "events", failing(number))
                assert await waiting is not None
                spent.append((time.perf_counter() - begun) * 1000)
                begun = time.perf_counter()
                waiting = group.create_task(popped(store, "bench:list"))
                await store.call("LPUSH", "bench:list", "x")
                await waiting
                bare.append((time.perf_counter() - begun) * 1000)
            for role in roles:
                role.cancel()
        return spent[20:], statistics.median(bare)


async def memory(checks: int, state: str) -> float:
    """MiB of the store and of this process with this many checks, all notified once."""
    async with fresh() as (store, settings):
        processor = Processor(store, settings.alerting, os.getpid())
        notifier = Notifier(store, settings.alerting)
        await somebody(store)
        for first in range(0, checks, 1000):
            events = [failing(n).replace("critical", state) for n in range(first, first + 1000)]
            await store.call("LPUSH", "events", *events)
            while await process(processor, NOW) is not None:
                pass
            while await notify(notifier, NOW) is not None:
                pass
            await store.call("DEL", "email_notifications")
        used: int = (await store.call("INFO", "memory"))["used_memory"]
        return (used + psutil.Process().memory_info().rss) / (1 << 20)


def figures() -> list[Figure]:
    spent, bare = asyncio.run(latencies())
    late = sorted(spent)[len(spent) * 99 // 100]
    return [
        Figure(
            name=f"event to alert, {name}",
            unit="ms",
            runs=[value],
            sense="at most",
            aim=aim,
            limit=bare,
            limit_name="ms of a bare push and pop",
        )
        for name, value, aim in (("p50", statistics.median(spent), 2), ("p99", late, 5))
    ] + [
        Figure(
            name=f"memory of store and process, {words}",
            unit="MiB",
            runs=[asyncio.run(memory(checks, state))],
            sense="at most",
            aim=aim,
        )
        for words, checks, state, aim in (
            ("100,000 failing checks, notified", 100_000, "critical", 200.0),
            ("200,000 checks that are ok", 200_000, "ok", None),
        )
    ]
