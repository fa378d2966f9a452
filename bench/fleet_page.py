"""The page of the fleet with 500 live tiles: load of the browser's main thread."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bench.figures import Figure
from bench.pages import browser, session, share
from bench.stores import fresh
from bench.web import web
from tests.fleet.crew import join, sample
from tests.servers import held_port
from watchbell.clock import SYSTEM
from watchbell.fleet import presence, samples
from watchbell.fleet.model import AgentToken, Link, Server
from watchbell.fleet.presence import Beat
from watchbell.store.client import Store
from watchbell.web.guard import cookie_name

SERVERS, SECONDS, EVERY = 500, 15, 5
"""Tiles; how long they are watched; seconds between two samples of a server."""
Joined = tuple[Server, AgentToken]
_TEXTS = "() => [...document.querySelectorAll('.fleet-tile')].map((one) => one.textContent)"
_TILES = f"() => document.querySelectorAll('.fleet-tile').length === {SERVERS}"


def figures() -> list[Figure]:
    busy, idle, changed = asyncio.run(measured())
    return [
        Figure(
            name=f"main thread, {SERVERS} tiles, new figures every {EVERY} s, {changed} changed",
            unit="%",
            runs=[busy],
            sense="at most",
            aim=10,
            limit=idle,
            limit_name="% while nothing changes",
        )
    ]


async def measured() -> tuple[float, float, int]:
    """Percent of the main thread while all tiles change, and while none does; and how many did."""
    async with fresh() as (store, _):
        known = [await join(store, f"web-{number}") for number in range(SERVERS)]
        for one, _ in known:
            link = Link(session=one.id, process="bench", since=SYSTEM.now())
            await presence.connect(store, one.id, link)
        with held_port() as hold:
            port = hold.getsockname()[1]
            async with web(store, port), browser() as chromium, alive(store, known) as report:
                context = await chromium.new_context(base_url=f"http://127.0.0.1:{port}")
                secret, url = await session(store), f"http://127.0.0.1:{port}"
                await context.add_cookies(
                    [{"name": cookie_name(secure=False), "value": secret, "url": url}]
                )
                page = await context.new_page()
                await page.goto("/fleet")
                await page.wait_for_function(_TILES, polling="raf")
                await asyncio.sleep(EVERY)
                wire = await context.new_cdp_session(page)
                await wire.send("Performance.enable", {"timeDomain": "threadTicks"})
                idle = await share(wire, asyncio.sleep(SECONDS))
                before = await page.evaluate(_TEXTS)
                busy = await share(wire, report())
                after = await page.evaluate(_TEXTS)
                changed = sum(old != new for old, new in zip(before, after, strict=True))
                return busy, idle, changed


@asynccontextmanager
async def alive(store: Store, known: Sequence[Joined]) -> AsyncIterator[Any]:
    """Keeps the servers connected. Gives what reports samples of all of them, spread over time."""
    chance = random.Random(1)

    async def beat() -> None:
        while True:
            await presence.beat(store, [Beat(one.id, one.id, token.id) for one, token in known])
            await asyncio.sleep(EVERY)

    async def report() -> None:
        for tick in range(SECONDS * 2):
            some = [one for one, _ in known[tick % (2 * EVERY) :: 2 * EVERY]]
            now = SYSTEM.now()
            values = (sample(now, cpu=chance.random() * 100, jobs=0) for _ in some)
            sampled = [
                samples.Sampled(one.id, value, is_minute=False)
                for one, value in zip(some, values, strict=True)
            ]
            await samples.record(store, sampled)
            await asyncio.sleep(0.5)

    beating = asyncio.create_task(beat())
    try:
        yield report
    finally:
        beating.cancel()
