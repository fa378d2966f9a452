"""Writes into the records of alerts what became of their actions, and which jobs ran then."""

from collections.abc import Sequence

import msgspec

from watchbell.fleet.keys import Fleet
from watchbell.jobs.action_results import Recorded
from watchbell.jobs.decide import alert_actions
from watchbell.jobs.decide.actions import ActionItem
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

# KEYS[1] alert; ARGV[1] actions as they were read, ARGV[2] as they are to be. Returns 'done',
# 'changed' or 'none'.
_WRITE = Script("""
if redis.call('EXISTS', KEYS[1]) == 0 then return 'none' end
if (redis.call('HGET', KEYS[1], 'actions') or '[]') ~= ARGV[1] then return 'changed' end
redis.call('HSET', KEYS[1], 'actions', ARGV[2])
return 'done'
""")

# KEYS[1] alert, KEYS[2] jobs of its server. Returns the jobs as JSON: those that ran when this was
# first called.
_LIST_JOBS = Script(
    READ
    + """
local known = redis.call('HGET', KEYS[1], 'jobs')
if known then return known end
local found = read('SMEMBERS', KEYS[2]) or {}
table.sort(found)
local text = #found > 0 and cjson.encode(found) or '[]'
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'jobs', text) end
return text
"""
)


async def record(store: Store, item: ActionItem) -> Recorded:
    """Writes the results of the item. May be repeated."""
    key = Fleet(store.prefix).alert(item.alert)
    while True:
        raw = await store.call("HGET", key, "actions") or b"[]"
        new = alert_actions.recorded(_actions(raw), item.results)
        answer = await _WRITE(store, [key], [raw, msgspec.json.encode(new)])
        if answer == b"none":
            return Recorded.GONE
        if answer == b"done":
            return Recorded.DONE


def _actions(raw: bytes) -> Sequence[Action]:
    """What other programs spoiled is replaced."""
    try:
        return msgspec.json.decode(raw, type=tuple[Action, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()


async def jobs_then(store: Store, alert: str, server: str) -> tuple[str, ...]:
    """The jobs that ran on the server when the alert became active, however often it is asked."""
    names = [Fleet(store.prefix).alert(alert), Jobs(store.prefix).server_jobs(server)]
    raw = await _LIST_JOBS(store, names)
    try:
        return msgspec.json.decode(raw, type=tuple[str, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ()
