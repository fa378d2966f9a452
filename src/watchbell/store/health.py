"""Checks whether a store can serve us and whether it could lose data."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct
from redis.exceptions import ResponseError

from watchbell.clock import Clock
from watchbell.errors import StoreUnavailable, StoreUnfit
from watchbell.store.client import Primary, Store
from watchbell.store.keys import StoreKeys, tagged

OLDEST = (7, 0)

Level = Literal["ok", "warning", "error"]

_PINGS = 20


class Finding(Struct, frozen=True):
    level: Level
    subject: str
    text: str
    advice: str = ""


async def admit(store: Store) -> list[Finding]:
    """Findings about the store. Raises StoreUnfit where it can't serve us."""
    if store.url.topology == "cluster" and tagged(store.prefix) != store.prefix:
        raise StoreUnfit(
            f"the store at {store.url.redacted()} is a cluster, where keys that belong together "
            "need a hash tag; add ?prefix={watchbell}: to its URL"
        )
    findings = []
    for primary in await store.primaries():
        findings += judge(primary.name, await facts(primary))
    for finding in findings:
        if finding.level == "error":
            raise StoreUnfit(f"{finding.text}; {finding.advice}")
    return findings


async def facts(primary: Primary) -> dict[str, Any]:
    """The server's INFO, with its snapshot schedule where we may read that."""
    try:
        info: dict[str, Any] = dict(await primary.call("INFO"))
    except ResponseError as error:
        raise StoreUnavailable(f"the store at {primary.name} can't be used: {error}") from error
    try:
        answer = await primary.call("CONFIG", "GET", "save")
    except ResponseError:  # managed services keep their configuration to themselves
        return info
    return {**info, "save": answer[1].decode()} if answer else info


async def check_writable(store: Store) -> None:
    """Raises StoreUnavailable unless the store accepts writes now. Changes nothing.

    Reads and PING may succeed while every write is refused, so only a write can tell.
    """
    with suppress(ResponseError):  # a key of another type, or a command we may not use: an answer
        await store.call("SETRANGE", StoreKeys(store.prefix).mark(), 0, "")


def judge(name: str, info: Mapping[str, Any]) -> list[Finding]:
    version = str(info.get("valkey_version") or info.get("redis_version") or "0")
    server = "Valkey" if "valkey_version" in info else "Redis"
    if _number(info.get("redis_version", version)) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return [
            Finding(
                "error",
                "version",
                f"the store at {name} is {server} {version}, older than {oldest}",
                f"use Redis {oldest} or later, or Valkey",
            )
        ]
    found = Finding("ok", "version", f"{server} {version} at {name}")
    return [found, *_memory(info), *_persistence(info)]


async def round_trip(primary: Primary, clock: Clock) -> float:
    """Average seconds of a command that does nothing."""
    begun = clock.monotonic()
    for _ in range(_PINGS):
        await primary.call("PING")
    return (clock.monotonic() - begun) / _PINGS


async def skew(primary: Primary, clock: Clock) -> float:
    """Seconds by which the store's clock is ahead of ours, within half a round trip."""
    before = clock.now()
    seconds, microseconds = await primary.call("TIME")
    after = clock.now()
    return float(int(seconds) + int(microseconds) / 1e6 - (before + after) / 2)


def _number(version: object) -> tuple[int, int]:
    found = re.match(r"(\d+)(?:\.(\d+))?", str(version))
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _memory(info: Mapping[str, Any]) -> Iterator[Finding]:
    policy = info.get("maxmemory_policy", "noeviction")
    limit, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    if policy != "noeviction":
        yield Finding(
            "warning",
            "eviction",
            f"the store forgets keys when memory runs short (maxmemory-policy {policy})",
            "set maxmemory-policy to noeviction",
        )
    elif limit and used > 0.9 * limit:
        yield Finding(
            "warning",
            "memory",
            f"the store uses {used * 100 // limit} % of its memory limit and will refuse writes",
            "raise its maxmemory, or purge old history",
        )
    else:
        yield Finding("ok", "memory", f"{used / (1 << 20):.1f} MiB used, no key is evicted")


def _persistence(info: Mapping[str, Any]) -> Iterator[Finding]:
    if info.get("aof_enabled"):
        if info.get("aof_last_write_status", "ok") != "ok":
            yield Finding(
                "warning",
                "persistence",
                "the store can't write its append-only file and refuses new data",
                "make room on its disk",
            )
            return
        yield Finding("ok", "persistence", "append-only file")
    elif info.get("save"):
        yield Finding(
            "warning",
            "persistence",
            "the store keeps snapshots only: a crash loses what came after the last one",
            "set appendonly to yes",
        )
    elif "save" in info:
        yield Finding(
            "warning",
            "persistence",
            "the store keeps nothing on disk: a restart loses everything",
            "set appendonly to yes",
        )
    else:
        yield Finding("ok", "persistence", "kept by the service, which does not show its settings")
