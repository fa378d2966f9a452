"""What holds whatever broke: I1 to I8 of the fault list, each a question to what was logged.

Each returns its violations as sentences; an empty list means that the invariant holds.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults.ledger import Row

SHOWN = 20


def check(*violations: Sequence[str]) -> None:
    """Fails with everything that does not hold, the first of each kind where there are many."""
    lines = [line for found in violations for line in _shown(found)]
    if lines:
        pytest.fail("\n".join(["the invariants do not hold:", *lines]), pytrace=False)


def _shown(found: Sequence[str]) -> list[str]:
    more = len(found) - SHOWN
    return [*found[:SHOWN], *([f"… and {more} more like this"] if more > 0 else [])]


def processed_once(acknowledged: Iterable[Hashable], processed: Iterable[Hashable]) -> list[str]:
    """I1: what was acknowledged was processed, and nothing was processed twice."""
    times = Counter(processed)
    lost = [item for item in dict.fromkeys(acknowledged) if item not in times]
    return [
        *(f"I1: {item} was acknowledged and never processed" for item in lost),
        *(f"I1: {item} was processed {n} times" for item, n in times.items() if n > 1),
    ]


def history_as_modelled(
    history: Sequence[Any],
    events: Iterable[Row],
    model: Callable[[list[Row]], Sequence[Any]],
) -> list[str]:
    """I2: the history is the model's for the distinct events, ordered by (`time`, `id`)."""
    distinct = {event["id"]: event for event in events}.values()
    expected = model(sorted(distinct, key=lambda event: (event["time"], event["id"])))
    steps = enumerate(zip_longest(history, expected, fillvalue="nothing"))
    return [
        f"I2: step {n} of the history is {was}, the model has {wanted}"
        for n, (was, wanted) in steps
        if was != wanted
    ]


class Hold(NamedTuple):
    lock: str
    token: str
    start: float
    stop: float


def holds(rows: Iterable[Row]) -> list[Hold]:
    """From rows `event=start|stop, lock, token, at`; one that never stopped is still held."""
    begun: dict[tuple[str, str, Hashable], float] = {}
    ended: dict[tuple[str, str, Hashable], float] = {}
    for row in rows:
        by = ended if row["event"] == "stop" else begun
        by[row["lock"], row["token"], row.get("run")] = row["at"]
    return [Hold(key[0], key[1], at, ended.get(key, inf)) for key, at in begun.items()]


def held_by_one(held: Iterable[Hold]) -> list[str]:
    """I3: the intervals of one lock do not overlap."""
    by_lock: dict[str, list[Hold]] = defaultdict(list)
    for hold in held:
        by_lock[hold.lock].append(hold)
    return [line for intervals in by_lock.values() for line in _clashes(intervals)]


def _clashes(held: list[Hold]) -> list[str]:
    in_turn = sorted(held, key=lambda hold: hold.start)
    longest = accumulate(in_turn, _later_to_stop)
    return [
        f"I3: {after.lock} was held under token {after.token} from {after.start:.3f} "
        f"while token {before.token} held it until {before.stop:.3f}"
        for before, after in zip(longest, in_turn[1:], strict=False)
        if after.start < before.stop
    ]


def _later_to_stop(one: Hold, other: Hold) -> Hold:
    return one if one.stop > other.stop else other


def run_once(slots: Iterable[Hashable], runs: Iterable[Hashable]) -> list[str]:
    """I4: every slot has exactly one run, and every run a slot."""
    times = Counter(runs)
    due = dict.fromkeys(slots)
    return [
        *(f"I4: slot {slot} has {times[slot]} runs" for slot in due if times[slot] != 1),
        *(
            f"I4: {n} runs of {slot}, which is no slot"
            for slot, n in times.items()
            if slot not in due
        ),
    ]


@dataclass(frozen=True)
class Problem:
    name: str
    opened: float
    delay: float
    contacts: Collection[str]
    closed: float = inf


class Page(NamedTuple):
    problem: str
    contact: str
    at: float


def paged_in_time(
    problems: Iterable[Problem], pages: Iterable[Page], within: float, until: float
) -> list[str]:
    """I5: a problem open for longer than its delay was paged `within` seconds to all who are due.

    `until` is when the log ends; what is not late by then is not judged.
    """
    sent: dict[tuple[str, str], list[float]] = defaultdict(list)
    for page in pages:
        sent[page.problem, page.contact].append(page.at)
    return [
        f"I5: {contact} had no page of {problem.name} from {problem.opened:.3f} to {latest:.3f}"
        for problem in problems
        if problem.closed - problem.opened > problem.delay
        and (latest := problem.opened + problem.delay + within) <= until
        for contact in problem.contacts
        if not any(problem.opened <= at <= latest for at in sent[problem.name, contact])
    ]


def paged_once(keys: Iterable[Hashable], kills: int = 0) -> list[str]:
    """I6: pages of one deduplication key are at most 1 + the kills between send and record."""
    return [
        f"I6: {key} was sent {n} times with {kills} kills"
        for key, n in Counter(keys).items()
        if n > 1 + kills
    ]


def in_one_list(known: Iterable[Hashable], lists: Mapping[str, Iterable[Hashable]]) -> list[str]:
    """I7: each known id is in exactly one of the lists, once, and no list has an unknown one."""
    places: dict[Hashable, list[str]] = {item: [] for item in known}
    orphans = []
    for name, items in lists.items():
        for item in items:
            if item in places:
                places[item].append(name)
            else:
                orphans.append(f"I7: {item} in {name} is an orphan")
    return [
        *orphans,
        *(f"I7: {item} is in no list" for item, at in places.items() if not at),
        *(f"I7: {item} is in {' and '.join(at)}" for item, at in places.items() if len(at) > 1),
    ]


def none_alive(finished: Iterable[str], alive: Mapping[int, str]) -> list[str]:
    """I8: no process of a finished run is alive; `alive` is what `marked` gives."""
    over = set(finished)
    return [f"I8: process {pid} of run {run} is alive" for pid, run in alive.items() if run in over]


def marked(variable: str) -> dict[int, str]:
    """The processes that have this variable in their environment, and its value."""
    prefix = f"{variable}=".encode()
    return {
        int(folder.name): entry[len(prefix) :].decode(errors="replace")
        for folder in Path("/proc").glob("[0-9]*")
        for entry in _environment(folder)
        if entry.startswith(prefix)
    }


def _environment(folder: Path) -> list[bytes]:
    """Empty for a zombie, which has none, and for a process that ended meanwhile."""
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def order_kept(rows: Iterable[Row]) -> list[str]:
    """Within one `key`, the `sequence` of the rows increases."""
    last: dict[Hashable, int] = {}
    found = []
    for row in rows:
        key, sequence = row["key"], row["sequence"]
        if key in last and sequence <= last[key]:
            found.append(f"order: {key} has {sequence} after {last[key]}")
        last[key] = sequence
    return found
