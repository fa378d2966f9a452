"""Pages with 20,000 checks: time until the first rows, load of the browser, cost of a list."""

import asyncio
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import ClientSession
from msgspec import Struct
from playwright.async_api import Browser, BrowserContext, CDPSession, async_playwright

from bench.figures import Figure
from bench.stores import fresh
from bench.web import web
from tests.servers import held_port
from watchbell.actors import system
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.settings import Web
from watchbell.store.client import Store
from watchbell.web.audit import Stamp
from watchbell.web.guard import cookie_name
from watchbell.web.people.api_keys import ApiKeys
from watchbell.web.people.sessions import Sessions
from watchbell.web.people.users import Users

CHECKS, CHANGES, REQUESTS = 20_000, 200, 200
"""Checks; state changes per second; requests per second."""
LOADS, SECONDS = 5, 10
_STATES = ("warning", "critical", "unknown")
_FIRST_ROW = "() => document.querySelector('.checks-row') && performance.now()"
_ACCOUNT = "() => document.querySelector('main .card, main form') && performance.now()"


class Measured(Struct, kw_only=True):
    """Times in seconds, shares in percent."""

    cold: float = 0
    """Until the first rows, for the first visitor after a start."""
    rows: list[float] = []
    empty: list[float] = []
    """Until a page without rows."""
    files: float = 0
    data: float = 0
    """Bytes received on a first visit."""
    busy: float = 0
    busy_idle: float = 0
    """The same while nothing changes."""
    changed: float = 0
    """Changes per second that the server sent."""
    lists: list[float] = []
    bare: list[float] = []


def figures() -> list[Figure]:
    found = asyncio.run(measured())
    name = f"{CHECKS:,} checks"
    empty = (min(found.empty), "s of a page without rows")
    lists = f"list of 100 checks at {REQUESTS} requests/s"
    return [
        _at_most(f"first rows of {name}", "s", found.rows, 1, *empty),
        _at_most("the same, right after a start", "s", [found.cold], 1, *empty),
        _at_most(
            f"main thread, {name}, {found.changed:.0f} changes/s",
            *("%", [found.busy], 10, found.busy_idle, "% while nothing changes"),
        ),
        *(
            _at_most(
                f"{lists}, p{part}",
                *("ms", [_late(found.lists, part)], aim, _late(found.bare, part), "ms of /healthz"),
            )
            for part, aim in ((50, None), (99, 20))
        ),
        _at_most("first load, compressed", "bytes", [found.files], 200_000),
        _at_most(f"{name} for a page, compressed", "bytes", [found.data], None),
    ]


def _at_most(
    name: str,
    unit: str,
    runs: list[float],
    aim: float | None,
    limit: float | None = None,
    limit_name: str = "",
) -> Figure:
    return Figure(
        name=name,
        unit=unit,
        runs=runs,
        sense="at most",
        aim=aim,
        limit=limit,
        limit_name=limit_name,
    )


def _late(times: list[float], part: int) -> float:
    return statistics.quantiles(times, n=100)[part - 1] * 1000


async def measured() -> Measured:
    found = Measured()
    async with fresh() as (store, _), processor(store):
        await report(store, list(range(CHECKS)), ["ok"] * CHECKS)
        await settled(store)
        with held_port() as hold:
            port = hold.getsockname()[1]
            url = f"http://127.0.0.1:{port}"
            async with web(store, port), browser() as chromium:
                await look(chromium, store, url, found)
                found.lists = await asked(store, url, "/api/v1/checks?limit=100")
                found.bare = await asked(store, url, "/healthz")
    return found


@asynccontextmanager
async def processor(store: Store) -> AsyncIterator[None]:
    """Runs in its own process."""
    command = [
        sys.executable,
        "-m",
        "watchbell",
        "run",
        "processor",
        "--store",
        store.url.redacted(),
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: ASYNC220
        try:
            yield
        finally:
            process.terminate()


async def report(store: Store, numbers: list[int], states: list[str]) -> None:
    for first in range(0, len(numbers), 1_000):
        some = zip(numbers[first : first + 1_000], states[first : first + 1_000], strict=True)
        await store.call("LPUSH", Alerting().events(), *(event(*one) for one in some))


def event(number: int, state: str) -> bytes:
    return msgspec.json.encode(
        {
            "type": "service",
            "state": state,
            "entity": f"web-{number // 20:04}.example.com",
            "check": f"HTTP port {8_000 + number % 20}",
            "summary": f"{state}: answered in {random.randrange(1_000)} ms",
        }
    )


async def settled(store: Store) -> None:
    """Waits until all events are processed."""
    while await store.call("ZCARD", Alerting().all_checks()) < CHECKS:  # noqa: ASYNC110
        await asyncio.sleep(0.1)


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    program = shutil.which("chromium")
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        await running.close()


async def look(chromium: Browser, store: Store, url: str, found: Measured) -> None:
    secret = await session(store)

    async def visit() -> BrowserContext:
        context = await chromium.new_context(base_url=url)
        await context.add_cookies(
            [{"name": cookie_name(secure=False), "value": secret, "url": url}]
        )
        return context

    found.cold = await loaded(visit, "/checks", _FIRST_ROW)
    found.rows = [await loaded(visit, "/checks", _FIRST_ROW) for _ in range(LOADS)]
    found.empty = [await loaded(visit, "/account", _ACCOUNT) for _ in range(LOADS)]
    found.files, found.data = await weighed(visit)
    await watch(visit, store, found)


async def session(store: Store) -> str:
    """A session of a user with the role viewer."""
    by = Stamp(system("bench"), int(SYSTEM.now()))
    user = await Users(store).add("alice", "viewer", by)
    secret, _ = await Sessions(store, Web()).begin(
        user, "bench", by.entry("session.begin", "alice")
    )
    return secret


Visit = Callable[[], Awaitable[BrowserContext]]


async def loaded(visit: Visit, path: str, seen: str) -> float:
    """Seconds from the start of a visit, with an empty cache, until that is visible."""
    context = await visit()
    page = await context.new_page()
    await page.goto(path, wait_until="commit")
    handle = await page.wait_for_function(seen, polling="raf")
    taken = await handle.json_value()
    await context.close()
    return float(taken) / 1000


async def weighed(visit: Visit) -> tuple[int, int]:
    """Bytes received on a first visit: of files, and of rows."""
    context = await visit()
    page = await context.new_page()
    wire = await context.new_cdp_session(page)
    sizes: dict[str, int] = {}
    urls: dict[str, str] = {}
    wire.on(
        "Network.responseReceived", lambda m: urls.update({m["requestId"]: m["response"]["url"]})
    )
    wire.on(
        "Network.loadingFinished", lambda m: sizes.update({m["requestId"]: m["encodedDataLength"]})
    )
    await wire.send("Network.enable")
    await page.goto("/checks")
    await page.wait_for_selector(".checks-row")
    await context.close()
    data = sum(size for name, size in sizes.items() if "/api/" in urls.get(name, ""))
    return int(sum(sizes.values()) - data), int(data)


async def watch(visit: Visit, store: Store, found: Measured) -> None:
    """Load of the page's main thread while nothing changes and while many states change."""
    context = await visit()
    page = await context.new_page()
    await page.goto("/checks")
    await page.wait_for_selector(".checks-row")
    await asyncio.sleep(2)
    wire = await context.new_cdp_session(page)
    await wire.send("Performance.enable", {"timeDomain": "threadTicks"})
    found.busy_idle = await share(wire, asyncio.sleep(SECONDS))
    before = await moment(page.request)
    found.busy = await share(wire, change(store))
    found.changed = (await moment(page.request) - before) / SECONDS
    await context.close()


async def share(wire: CDPSession, meanwhile: Awaitable[None]) -> float:
    async def spent() -> float:
        told = await wire.send("Performance.getMetrics")
        return float(next(m["value"] for m in told["metrics"] if m["name"] == "TaskDuration"))

    begun, before = SYSTEM.monotonic(), await spent()
    await meanwhile
    return 100 * (await spent() - before) / (SYSTEM.monotonic() - begun)


async def moment(request: Any) -> int:
    answer = await (await request.get("/api/v1/checks?limit=1")).json()
    return int(answer["moment"].partition(".")[2])


async def change(store: Store) -> None:
    """Push events that change this many states per second, spread over all checks."""
    chance, failing = random.Random(1), set[int]()
    begun = SYSTEM.monotonic()
    for tick in range(SECONDS * 10):
        numbers = chance.sample(range(CHECKS), CHANGES // 10)
        states = ["ok" if number in failing else chance.choice(_STATES) for number in numbers]
        failing ^= set(numbers)
        await report(store, numbers, states)
        await asyncio.sleep(max(begun + (tick + 1) / 10 - SYSTEM.monotonic(), 0))


async def asked(store: Store, url: str, path: str) -> list[float]:
    """Seconds from the due time of each request until its answer."""
    by = Stamp(system("bench"), int(SYSTEM.now()))
    secret, _ = await ApiKeys(store, SYSTEM).make("bench", ("read",), by)
    times: list[float] = []

    async def one(http: ClientSession, due: float) -> None:
        await asyncio.sleep(max(due - SYSTEM.monotonic(), 0))
        async with http.get(path) as answer:
            await answer.read()
            assert answer.status == 200
        times.append(SYSTEM.monotonic() - due)

    async with (
        ClientSession(url, headers={"Authorization": f"Bearer {secret}"}) as http,
        asyncio.TaskGroup() as group,
    ):
        begun = SYSTEM.monotonic() + 0.5
        for number in range(REQUESTS * SECONDS):
            group.create_task(one(http, begun + number / REQUESTS))
    return times
