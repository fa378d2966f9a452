"""Actions on many checks at once: which checks are selected, which are refused, and the results."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from watchbell.alerting import check_settings, event, history, maintenance
from watchbell.alerting.decide import acknowledgement
from watchbell.alerting.intake import submit
from watchbell.alerting.model import CheckEvent, split_id
from watchbell.alerting.windows import Kind, Window
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.alerting.check_rows import CheckRow
from watchbell.web.alerting.check_table import CheckTable
from watchbell.web.live.background import at_once
from watchbell.web.problems import HttpProblem

MOST = 50_000
"""Checks that one request may select."""
MOST_TESTED = 100
_AT_ONCE = 16
_SLICE = 200

Selection = dict[str, CheckRow | None]
"""The selected checks; None for one that does not exist."""
Refusals = dict[str, str]
"""Why the action was not done, by check."""
Judge = Callable[[CheckRow], str]
"""Why the action makes no sense for a check; empty where it does."""


async def select(table: CheckTable, names: Sequence[str], wanted: CheckFilter | None) -> Selection:
    if bool(names) == (wanted is not None):
        raise HttpProblem(422, "give either checks or a filter", field="checks")
    if wanted is None:
        asked = list(dict.fromkeys(map(_named, names)))
        found = await table.read(asked)
        return {name: found.get(name) for name in asked}
    _, view = await table.view(wanted, "severity")
    if len(view.order) > MOST:
        reason = f"{len(view.order):,} checks match; expected at most {MOST:,}"
        raise HttpProblem(422, reason, field="filter")
    return {row.id: row for row in view.order}


def _named(name: str) -> str:
    entity, check = split_id(name)
    return f"{entity.lower()}:{check}"


def partition(checks: Selection, judge: Judge) -> tuple[list[str], Refusals]:
    """The checks for which the action makes sense, and why not for the others."""
    refused = {
        name: judge(row) if row is not None else "there is no such check"
        for name, row in checks.items()
    }
    return [name for name in checks if not refused[name]], {n: r for n, r in refused.items() if r}


def always(_: CheckRow) -> str:
    return ""


def can_be_acknowledged(row: CheckRow) -> str:
    found = acknowledgement.refusal(row.state, row.in_maintenance)
    return found.value if found else ""


def can_be_disabled(row: CheckRow) -> str:
    return "" if row.enabled else "it is disabled already"


def can_be_enabled(row: CheckRow) -> str:
    return "it is enabled already" if row.enabled else ""


def has_open(kinds: Iterable[Kind]) -> Judge:
    wanted = set(kinds)

    def judge(row: CheckRow) -> str:
        is_open = (row.scheduled_until and "scheduled" in wanted) or (
            row.unscheduled_until and "unscheduled" in wanted
        )
        return "" if is_open else "it is not in such maintenance"

    return judge


async def acknowledge(
    store: Store, names: Sequence[str], summary: str, duration: int, now: int
) -> Refusals:
    """Queued for the processor, which handles it in its turn."""
    make = partial(event.acknowledge, summary=summary, duration=duration, time=now)
    return await _submitted(store, names, make)


async def try_notifications(store: Store, names: Sequence[str], summary: str, now: int) -> Refusals:
    return await _submitted(
        store, names, partial(event.try_notifications, summary=summary, time=now)
    )


async def _submitted(
    store: Store, names: Sequence[str], make: Callable[[str, str], CheckEvent]
) -> Refusals:
    for first in range(0, len(names), _SLICE):
        await submit(store, *(make(*split_id(name)) for name in names[first : first + _SLICE]))
    return {}


async def plan(store: Store, names: Sequence[str], window: Window, now: int) -> Refusals:
    async def some(part: Sequence[str]) -> None:
        await maintenance.create(store, part, "scheduled", window, now)

    return await _in_slices(names, some)


async def end(store: Store, names: Sequence[str], kinds: Sequence[Kind], now: int) -> Refusals:
    """Ends the windows that are open; those planned for later stay."""

    async def some(part: Sequence[str]) -> None:
        if "unscheduled" in kinds:
            await maintenance.end(store, part, "unscheduled", 0, now, now)
        opened: dict[int, list[str]] = {}
        async for name, windows in history.windows_of(store, part, "scheduled"):
            for window in windows:
                if window.is_open(now):
                    opened.setdefault(window.start, []).append(name)
        for start, several in opened.items() if "scheduled" in kinds else ():
            await maintenance.end(store, several, "scheduled", start, now, now)

    return await _in_slices(names, some)


async def _in_slices(
    names: Sequence[str], some: Callable[[Sequence[str]], Awaitable[None]]
) -> Refusals:
    """Where one check of a slice is refused, each check of it is handled by itself."""
    refused: Refusals = {}
    for first in range(0, len(names), _SLICE):
        part = names[first : first + _SLICE]
        try:
            await some(part)
        except Refused:
            refused |= await _each(part, lambda name: some([name]))
    return refused


async def disable(store: Store, names: Sequence[str]) -> Refusals:
    return await _each(names, partial(check_settings.disable, store))


async def enable(store: Store, names: Sequence[str]) -> Refusals:
    return await _each(names, partial(check_settings.enable, store))


async def configure(store: Store, names: Sequence[str], given: dict[str, int | None]) -> Refusals:
    async def one(name: str) -> None:
        await check_settings.configure(store, name, given)

    return await _each(names, one)


async def _each(names: Sequence[str], act: Callable[[str], Awaitable[None]]) -> Refusals:
    """Several of them concurrently."""
    left, refused = iter(names), Refusals()

    async def work() -> None:
        for name in left:
            try:
                await act(name)
            except (Refused, NotFound) as error:
                refused[name] = str(error)

    await at_once(min(_AT_ONCE, len(names)), work)
    return refused
