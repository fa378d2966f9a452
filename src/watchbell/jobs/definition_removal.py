"""Removes what people define, unless something needs it, with what belongs to it."""

from collections.abc import Sequence

import msgspec

from watchbell.actors import Actor
from watchbell.alerting.keys import Alerting
from watchbell.errors import Changed, Refused
from watchbell.fleet.keys import Fleet
from watchbell.fleet.monitoring import series
from watchbell.jobs import check_reports, definitions
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event, Plugin
from watchbell.store.client import Argument, Store
from watchbell.store.families import Named
from watchbell.store.script import Script

KEPT_AFTER_DELETION = 90 * 86_400
"""Seconds for which the revisions of a record stay that was removed."""

# KEYS[1] records, KEYS[2] revisions of this one, KEYS[3] channel of changes, then hashes with a
# field for each record. ARGV[1] id, ARGV[2] the record as it was read, ARGV[3] what is kept of it,
# ARGV[4] for how many seconds, ARGV[5] message. Of an event also ARGV[6] `events` of alerting,
# ARGV[7] check events that are held back, ARGV[8] check and ARGV[9] event that ends its failure,
# sent if a job of it has ended; that is known from the last of KEYS; ARGV[10] a set of events.
# Returns 1, also if it was done before; 0 if the record is another one.
_REMOVE = Script("""
local now = redis.call('HGET', KEYS[1], ARGV[1])
if not now and redis.call('LINDEX', KEYS[2], 0) == ARGV[3] then return 1 end
if now ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('LPUSH', KEYS[2], ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[4])
if ARGV[6] and redis.call('HEXISTS', KEYS[#KEYS], ARGV[1]) == 1 then
  redis.call('HDEL', ARGV[7], ARGV[8])
  redis.pcall('LPUSH', ARGV[6], ARGV[9])
end
if ARGV[6] then redis.call('ZREM', ARGV[10], ARGV[1]) end
for i = 4, #KEYS do redis.call('HDEL', KEYS[i], ARGV[1]) end
redis.call('PUBLISH', KEYS[3], ARGV[5])
return 1
""")


async def remove(
    store: Store,
    kind: str,
    id: str,  # noqa: A002
    who: Actor,
    now: float,
    *,
    force: bool = False,
) -> None:
    """Removes a record. Raises Refused where events need it, unless it is to go by `force`."""
    if not force:
        await check_unused(store, kind, id)
    keys = Jobs(store.prefix)
    family = [definitions.records(store, kind)(), keys.revisions(kind, id), keys.changes()]
    family += [named() for named in _belongings(store, kind)]
    for _ in range(definitions.ATTEMPTS):
        raw = await definitions.raw_record(store, kind, id)
        _, current = definitions.readable(kind, raw)
        kept = definitions.Replaced(
            revision=current.revision + 1 if current else 0,
            at=now,
            by=who.display_name,
            action="delete",
            old=definitions.kept(raw),
        )
        message = definitions.change_message(kind, id)
        args: list[Argument] = [id, raw, msgspec.json.encode(kept), KEPT_AFTER_DELETION, message]
        if kind == "event":
            title = current.title if isinstance(current, Event) else id
            report = check_reports.event_removed(id, title, now)
            args += [Alerting(store.prefix).events(), keys.unreported(), *report]
            args.append(keys.state_changes())
        if await _REMOVE(store, family, args):
            break
    else:
        raise Changed(f"others change the {kind} {id!r} all the time; try again")
    if kind == "monitor":
        servers = await store.call("HKEYS", Fleet(store.prefix).servers())
        await series.delete(store, [one.decode(errors="replace") for one in servers], [id])


def _belongings(store: Store, kind: str) -> tuple[Named, ...]:
    """Hashes with a field for each record of a kind, which mean nothing once it is gone. Of events,
    the last one has a field only for those of which a job has ended."""
    keys, fleet = Jobs(store.prefix), Fleet(store.prefix)
    if kind == "monitor":
        return (fleet.monitor_errors,)
    if kind == "alert":
        return (fleet.alert_errors, fleet.alert_snoozes)
    if kind != "event":
        return ()
    return (
        keys.cursors,
        keys.counts,
        keys.turns,
        keys.left_out,
        keys.first_runs,
        keys.continuous,
        keys.started,
        keys.event_states,
    )


async def check_unused(store: Store, kind: str, id: str) -> None:  # noqa: A002
    """Raises Refused where events need the record, or it has to exist."""
    if kind not in ("category", "plugin", "event"):
        return
    if kind == "category" and id == "general":
        raise Refused("the category 'general' can't be deleted; events without one belong to it")
    if kind == "plugin" and await _is_stock(store, id):
        raise Refused(f"the plugin {id!r} is part of Watchbell; disable it instead")
    users = await _users(store, kind, id)
    if users:
        more = f" and {len(users) - 1} more need" if len(users) > 1 else " needs"
        raise Refused(f"the event {users[0]!r}{more} this {kind}", code="in_use")


async def _is_stock(store: Store, id: str) -> bool:  # noqa: A002
    try:
        plugin = await definitions.get(store, "plugin", id)
    except Refused:
        return False
    return isinstance(plugin, Plugin) and plugin.stock


async def _users(store: Store, kind: str, id: str) -> Sequence[str]:  # noqa: A002
    events = await definitions.every(store, "event")
    return sorted(
        event.id
        for event in events.values()
        if isinstance(event, Event) and id in _needed(event, kind)
    )


def _needed(event: Event, kind: str) -> set[str]:
    """The categories, plugins or events that an event needs."""
    nodes = event.workflow.nodes if event.workflow else ()
    own = () if kind == "event" else (getattr(event, kind),)
    return {*own, *(one.data.get(kind, "") for one in nodes)}
