"""Evaluates minute samples: loads what is known of their servers, decides, writes what follows."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from watchbell import ids, logs
from watchbell.fleet.monitoring import judgement, minute_scripts
from watchbell.fleet.monitoring.compiled import Definitions
from watchbell.fleet.monitoring.judgement import Reading, Verdict
from watchbell.fleet.monitoring.minute_scripts import Loaded, Outlets
from watchbell.probes import probe
from watchbell.store.client import Store

AT_ONCE = 50
"""Servers of one call."""
_ATTEMPTS = 5


class Failure(Struct, frozen=True, kw_only=True):
    """Why a definition could not be evaluated."""

    at: float
    server: str
    reason: str


async def evaluate(
    store: Store, readings: Sequence[Reading], definitions: Definitions, outlets: Outlets
) -> list[Verdict]:
    """What became of each reading whose server exists. Of each server one reading is expected."""
    found = list[Verdict]()
    for first in range(0, len(readings), AT_ONCE):
        waiting = {one.server: one for one in readings[first : first + AT_ONCE]}
        for _ in range(_ATTEMPTS):
            if not waiting:
                break
            verdicts, waiting = await _attempt(store, waiting, definitions, outlets)
            found += verdicts
        for server in waiting:
            logs.get(role="web").warning(
                "a sample is left out: what is known of its server kept changing", server=server
            )
    return found


async def _attempt(
    store: Store, waiting: Mapping[str, Reading], definitions: Definitions, outlets: Outlets
) -> tuple[list[Verdict], dict[str, Reading]]:
    """Verdicts that are written, and readings whose servers have changed meanwhile."""
    alerts = [one.rule.id for one in definitions.alerts]
    loaded = await minute_scripts.load(store, list(waiting), alerts)
    probe("monitoring.loaded")
    judged = {
        server: one
        for server, known in loaded.items()
        if (one := _judged(waiting[server], known, definitions)) is not None
    }
    kept = {server: packed for server, (_, packed) in judged.items() if packed is not None}
    over = [verdict for verdict, packed in judged.values() if packed is None]
    if not kept:
        return over, {}
    at = max(waiting[server].at for server in kept)
    errors = judgement.errors_of((server, judged[server][0]) for server in kept)
    texts = [{name: _failure(at, *one) for name, one in each.items()} for each in errors]
    written = await minute_scripts.apply(store, kept, (texts[0], texts[1]), outlets)
    probe("monitoring.applied")
    for reason in written.refused:
        logs.get(role="web").error("the store refused a part of a sample", reason=reason)
    done = set(written.done)
    again = {server: waiting[server] for server in kept if server not in done}
    return over + [judged[server][0] for server in written.done], again


def _judged(
    reading: Reading, known: Loaded, definitions: Definitions
) -> tuple[Verdict, msgspec.Raw | None] | None:
    """With what is written, if anything is. None where the sample can't be handled; that stops no
    other."""
    try:
        found = judgement.judge(reading, known.facts, definitions, _new_ids(reading))
        is_written = found.state is not None
        return found, minute_scripts.pack(reading.server, known, found) if is_written else None
    except Exception:  # noqa: BLE001 a sample is whatever an agent sends
        logs.get(role="web").exception("a sample can't be evaluated", server=reading.server)
        return None


def _new_ids(reading: Reading) -> Callable[[str], str]:
    """The same for the same sample, however often it is evaluated."""
    return lambda alert: ids.derived_id("a", reading.at, f"{reading.server}:{alert}")


def _failure(at: float, server: str, reason: str) -> bytes:
    return msgspec.json.encode(Failure(at=at, server=server, reason=reason))
