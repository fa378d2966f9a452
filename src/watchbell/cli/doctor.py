"""`watchbell doctor`."""

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import click

from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.clock import SYSTEM
from watchbell.cron import checkup
from watchbell.cron.reading import reading
from watchbell.errors import BadSettings, EmbeddedFailed, WatchbellError
from watchbell.gateways import catalogue
from watchbell.roles import store_monitor
from watchbell.settings import Loaded, Settings
from watchbell.store import embedded, health, store_identity
from watchbell.store.client import CLIENT_ERRORS, Store
from watchbell.store.health import Finding
from watchbell.store.opening import url_of
from watchbell.web.tls_warning import (
    ADVICE,
    EXPOSED,
    NO_SIGN_IN,
    NO_SIGN_IN_ADVICE,
    is_exposed,
    is_local,
)

_SIGNS = {"ok": "✓", "warning": "!", "error": "✗"}
_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command
@with_settings("store.port")
@as_json
def command(*, loaded: Loaded, as_json: bool) -> int:
    """Check the machine, the settings, the store and the clocks, and advise what to do. The exit
    code is 1 if something can't work.

    Example: watchbell doctor --store redis://db.example.com
    """
    findings = asyncio.run(_examined(loaded))
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            sign = click.style(_SIGNS[finding.level], fg=_COLOURS[finding.level])
            click.echo(f"{sign} {finding.subject:<12}{plain(finding.text)}")
            if finding.advice:
                click.echo(f"  {'':<12}→ {finding.advice}")
    return 1 if any(finding.level == "error" for finding in findings) else 0


async def _examined(loaded: Loaded) -> list[Finding]:
    settings = loaded.settings
    findings = [*_machine(settings), *_settings(loaded)]
    try:
        async for finding in _store(settings):
            findings.append(finding)  # noqa: PERF401 what was found before an error is shown, too
    except (WatchbellError, *CLIENT_ERRORS) as error:
        findings.append(Finding("error", "store", str(error), "see docs/store.md"))
    return findings


def _machine(settings: Settings) -> Iterator[Finding]:
    yield Finding("ok", "python", f"{platform.python_version()} at {sys.prefix}")
    if settings.store.url:
        return
    try:
        yield Finding("ok", "server", str(embedded.find_binary()))
    except EmbeddedFailed as error:
        yield Finding("error", "server", str(error))
    overcommit = Path("/proc/sys/vm/overcommit_memory")
    if overcommit.exists() and overcommit.read_text().strip() == "2":
        yield Finding(
            "warning",
            "memory",
            "the kernel does not overcommit memory, so the store may fail to rewrite its file",
            "set vm.overcommit_memory to 1",
        )
    yield from _folder(settings.data)


def _folder(data: Path) -> Iterator[Finding]:
    there = next(folder for folder in (data, *data.parents) if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        advice = "name another folder with --data, or change its owner"
        yield Finding("error", "data", f"the data folder {data} can't be written", advice)
        return
    free = shutil.disk_usage(there).free
    yield from store_monitor.disk(free) or [Finding("ok", "data", f"{data}, {free >> 30} GiB free")]


def _settings(loaded: Loaded) -> Iterator[Finding]:
    shown, store = loaded.shown(), loaded.settings.store
    origins = {name: origin.rpartition(", line ")[0] for name, origin in loaded.origins.items()}
    files = set(origins.values()) - {""}
    secret = {
        origins[name] for name in ("store.url", "store.password") if "***" in str(shown[name])
    }
    for file in sorted(files):
        yield Finding("ok", "settings", file)
        if Path(file).stat().st_mode & 0o077 and file in secret:
            advice = f"chmod 600 {file}, or set store.password to file:PATH"
            text = f"others can read {file}, which holds a password"
            yield Finding("warning", "settings", text, advice)
    if not files:
        yield Finding("ok", "settings", "defaults, no settings file")
    yield from _media(loaded.settings)
    if is_exposed(loaded.settings.web):
        yield Finding("warning", "web", EXPOSED, ADVICE)
    dashboard = loaded.settings.archive.dashboard
    if dashboard.port and not is_local(dashboard.host):
        yield Finding("warning", "dashboard", NO_SIGN_IN, NO_SIGN_IN_ADVICE)
    if not store.url and store.port and not store.password:
        yield Finding(
            "warning",
            "port",
            f"every user of this machine can use the store through port {store.port}",
            "if others have accounts here, set store.password, or set store.port to 0",
        )


def _media(settings: Settings) -> Iterator[Finding]:
    try:
        for one in catalogue.configured(settings):
            yield Finding("ok", "gateway", f"{one.name}, kind {one.kind}")
    except BadSettings as error:
        yield Finding("error", "gateway", str(error), "see docs/media.md")


async def _store(settings: Settings) -> AsyncIterator[Finding]:
    async with Store(url_of(settings)) as store:
        for primary in await store.primaries():
            for finding in health.judge(primary.name, await health.facts(primary)):
                yield finding
            skews = [await health.skew(primary, SYSTEM) for _ in range(5)]
            skew = min(skews, key=abs)
            text = f"the store's clock differs from this machine's by {skew * 1000:+.1f} ms"
            if abs(skew) < store_monitor.SKEW:
                yield Finding("ok", "clock", text)
            else:
                yield Finding("warning", "clock", text, "synchronise both with a time server")
            taken = await health.round_trip(primary, SYSTEM)
            text = f"{taken * 1000:.2f} ms per round trip to {primary.name}"
            yield Finding("ok", "latency", text)
        fleet = await checkup.facts(store, reading(settings.cron))
        for finding in checkup.judge(fleet, settings.cron):
            yield finding
        seen, _ = await store_identity.read(store)
        for finding in store_identity.findings(seen):
            yield finding
