"""What `doctor` shows of cron: jobs that do not come to run, marks, and events nobody takes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from watchbell.alerting.keys import Alerting
from watchbell.cron.instances import Fleet, fleet
from watchbell.cron.keys import CronOwn
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store
from watchbell.store.health import Finding
from watchbell.store.script import READ, Script

_NAMED = 3

# KEYS ahead, overdue, unreported, events. Returns marks that were moved, jobs that are late with
# their reasons, how many checks have an event that is kept back, and how many events wait.
_FACTS = Script(
    READ
    + """
return {read('HKEYS', KEYS[1]) or {}, read('HGETALL', KEYS[2]) or {}, read('HLEN', KEYS[3]) or 0,
        read('LLEN', KEYS[4]) or -1}
"""
)


class Facts(NamedTuple):
    moved: list[str]
    """Jobs whose mark lay beyond the store's present."""
    late: Mapping[str, str]
    """Jobs that do not come to run, each with the reason."""
    kept_back: int
    waiting: int
    """Events; -1 where `events` is no list."""
    fleet: Fleet


async def facts(store: Store) -> Facts:
    own = CronOwn(store.prefix)
    keys = [own.ahead(), own.overdue(), own.unreported(), Alerting(store.prefix).events()]
    moved, late, kept_back, waiting = await _FACTS(store, keys)
    texts = [text.decode(errors="replace") for text in late]
    return Facts(
        moved=sorted(name.decode(errors="replace") for name in moved),
        late=dict(zip(texts[::2], texts[1::2], strict=True)),
        kept_back=kept_back,
        waiting=waiting,
        fleet=await fleet(store),
    )


def judge(found: Facts, settings: CronSettings) -> Iterator[Finding]:
    """What is wrong; nothing where all is well."""
    if found.moved:
        yield Finding(
            "warning",
            "cron",
            f"{_jobs(found.moved)} marked as handled beyond the present of the store in the last "
            "hour, and continued from the present",
            "let the store's clock follow a time server",
        )
    for name, reason in sorted(found.late.items())[:_NAMED]:
        yield Finding("warning", "cron", f"{name}: {reason}", "see docs/cron.md")
    if len(found.late) > _NAMED:
        yield Finding("warning", "cron", f"{len(found.late) - _NAMED} more jobs do not come to run")
    if found.kept_back or found.waiting > settings.most_events:
        yield Finding(
            "warning",
            "cron",
            f"{found.waiting:,} check events wait for alerting; cron keeps back all but the latest "
            f"of {found.kept_back:,} checks",
            "run a processor: `watchbell run processor`, or `watchbell up`",
        )
    for beat in found.fleet.beats:
        if beat.is_silent:
            text = f"the instance {beat.name} gives no sign of life"
            yield Finding("warning", "cron", text, "its runs are declared frozen in a while")


def _jobs(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return f"1 job ({shown}) was" if len(names) == 1 else f"{len(names):,} jobs ({shown}) were"
