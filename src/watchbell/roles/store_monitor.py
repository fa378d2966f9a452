"""The lookout: monitors the store and warns when it could lose or refuse data."""

import asyncio
import shutil

from watchbell import logs
from watchbell.errors import StoreUnavailable
from watchbell.roles.role import Context, Role
from watchbell.roles.store_loss import Watch
from watchbell.store import health
from watchbell.store.health import Finding

_EVERY = 10.0
SKEW = 1.0
_DISK_LEAST = 256 << 20


async def run(context: Context, every: float = _EVERY) -> None:
    known: dict[str, Finding] = {}
    watch = Watch(context)
    log = logs.get(role="lookout")
    while True:
        findings = await _found(context, watch)
        wrong = {finding.subject: finding for finding in findings if finding.level != "ok"}
        for subject, finding in wrong.items():
            if known.get(subject) != finding:
                write = log.error if finding.level == "error" else log.warning
                write(finding.text, advice=finding.advice)
        for subject in known.keys() - wrong.keys():
            log.info("well again", subject=subject)
        known = wrong
        context.show_status("; ".join(f.text for f in wrong.values()) or _calm(findings))
        await asyncio.sleep(every)


async def _found(context: Context, watch: Watch) -> list[Finding]:
    """Reports an unavailable store as a finding, so that the loop keeps what it knows of it."""
    findings: list[Finding] = []
    try:
        findings += await look(context)
        findings += await watch.look()
    except StoreUnavailable as error:
        findings.append(Finding("warning", "store", str(error), "it is tried again"))
    return findings


async def look(context: Context) -> list[Finding]:
    findings: list[Finding] = []
    for primary in await context.store.primaries():
        findings += health.judge(primary.name, await health.facts(primary))
        skew = await health.skew(primary, context.clock)
        if abs(skew) > SKEW:
            text = f"the clock of {primary.name} is {skew:+.1f} s off this machine's"
            findings.append(Finding("warning", "clock", text, "let both follow a time server"))
    if not context.settings.store.url:
        findings += disk(shutil.disk_usage(context.settings.data).free)
    return findings


def disk(free: int) -> list[Finding]:
    if free >= _DISK_LEAST:
        return []
    text = f"only {free >> 20} MiB are left on the disk of the data folder"
    return [Finding("warning", "disk", text, "make room: a full disk stops all writes")]


def _calm(findings: list[Finding]) -> str:
    return next((f.text for f in findings if f.subject == "memory"), "all well")


ROLE = Role("lookout", "monitors the store", run)
