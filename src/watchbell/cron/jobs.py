"""Changes that people make to jobs and runs: written to the store, then announced on the channel.

Each changed job is announced alone, so a change costs the same whatever the number of jobs.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from watchbell.cron import commands, definitions, history, instances, last_handled, retirement
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Invalid, Job
from watchbell.cron.reading import AS_USUAL, Reading
from watchbell.cron.triggers import Trigger, new_trigger, refusal
from watchbell.cron.validation import EVERYBODY, from_fields, read
from watchbell.errors import Changed, NotFound, Refused
from watchbell.store.client import Store
from watchbell.store.script import Script

Mode = Literal["new", "known", "either"]
NO_INSTANCE = "no instance of cron is running; start one with `watchbell run cron`"
DRAINED = "every instance of cron is drained; `watchbell cron reload` makes them run jobs again"

# KEYS jobs, paused, fired; ARGV[1] name, ARGV[2] definition, ARGV[3] whether it is paused, ARGV[4]
# fingerprint, empty without lock, ARGV[5] channel, ARGV[6] and ARGV[7] commands to remove and add,
# ARGV[8] whether it has to be new or known, ARGV[9] SHA-1 of the definition that it has to have, or
# empty. A job that is new, or has another schedule, has missed nothing. Returns 0 where it is not
# as it has to be, and -1 where its definition is another.
_SAVE = Script("""
local definition = redis.call('HGET', KEYS[1], ARGV[1])
local is_known = definition and true or false
if ARGV[8] ~= 'either' and is_known ~= (ARGV[8] == 'known') then return 0 end
if ARGV[9] ~= '' and redis.sha1hex(definition or '') ~= ARGV[9] then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call(ARGV[3] == '1' and 'SADD' or 'SREM', KEYS[2], ARGV[1])
if ARGV[4] ~= '' then
  local last, known = string.match(redis.call('HGET', KEYS[3], ARGV[1]) or '', '^(%d+):(.*)$')
  if not is_known or known ~= ARGV[4] then
    last = math.max(tonumber(last or '0'), tonumber(redis.call('TIME')[1]))
    redis.call('HSET', KEYS[3], ARGV[1], string.format('%d:%s', last, ARGV[4]))
  end
end
if is_known then redis.call('PUBLISH', ARGV[5], ARGV[6]) end
redis.call('PUBLISH', ARGV[5], ARGV[7])
return 1
""")

# KEYS of `retirement`, then paused, backlog, omissions of the job, its triggers; ARGV[1] names of
# `retirement`, ARGV[2] name, ARGV[3] channel, ARGV[4] command. Returns 1 if there was such a job.
_REMOVE = Script(
    retirement.KEYS_AND_NAMES
    + """
local was_there = redis.call('HDEL', jobs, ARGV[2])
redis.call('SREM', KEYS[9], ARGV[2])
redis.call('HDEL', KEYS[10], ARGV[2])
retire(ARGV[2])
redis.call('UNLINK', KEYS[11], KEYS[12])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return was_there
"""
)

# KEYS[1] channel; ARGV messages. Returns how many clients received the last one.
_PUBLISH_ALL = Script("""
local receivers = 0
for _, message in ipairs(ARGV) do receivers = redis.call('PUBLISH', KEYS[1], message) end
return receivers
""")

# KEYS results of the job, results of all, rundata, details; ARGV[1] beginning of outputs. Forgets
# some of the job's runs. Returns how many.
_FORGET = Script("""
local old = redis.call('ZRANGE', KEYS[1], 0, 499)
if #old == 0 then return 0 end
redis.call('ZREM', KEYS[1], unpack(old))
redis.call('ZREM', KEYS[2], unpack(old))
redis.call('HDEL', KEYS[3], unpack(old))
redis.call('HDEL', KEYS[4], unpack(old))
for i, run in ipairs(old) do old[i] = ARGV[1] .. run end
redis.call('UNLINK', unpack(old))
return #old
""")


def version(raw: bytes) -> str:
    """Changes with every change of the definition."""
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest()


async def save(
    store: Store,
    name: str,
    definition: Mapping[str, Any],
    reading: Reading,
    mode: Mode = "either",
    *,
    replaces: str = "",
) -> Job:
    """Raises Refused, with all reasons, if the definition is not valid, and changes nothing then.

    With `replaces`, only that version of the job is replaced.
    """
    fields = _without_errors(definition)
    job = from_fields(name, fields, reading)
    if isinstance(job, Invalid):
        raise Refused(f"job {name!r}: {job.text}")
    keys, own = Cron(store.prefix), CronOwn(store.prefix)
    announced = {"job_name": name, "job_def": fields}
    done = await _SAVE(
        store,
        [keys.jobs(), keys.paused(), own.fired()],
        [
            name,
            msgspec.json.encode(fields),
            int(job.is_paused),
            last_handled.fingerprint(job, is_paused=job.is_paused) if job.lock else "",
            keys.commands(),
            commands.encoded("remove", name),
            commands.encoded("add", announced),
            mode,
            replaces,
        ],
    )
    if done < 0:
        raise Changed(f"job {name!r} was changed by somebody else meanwhile; load it again")
    if not done:
        if mode == "new":
            raise Refused(
                f"there is a job {name!r} already; edit it, or use another name", field="name"
            )
        raise NotFound(f"there is no job {name!r}")
    return job


def _without_errors(definition: Mapping[str, Any]) -> dict[str, Any]:
    state = definition.get("job_state")
    if not isinstance(state, dict) or "validation_errors" not in state:
        return dict(definition)
    kept = {key: value for key, value in state.items() if key != "validation_errors"}
    return {**definition, "job_state": kept}


async def remove(store: Store, name: str) -> None:
    """Also deletes the records of its runs. A run in progress is finished."""
    keys, own = Cron(store.prefix), CronOwn(store.prefix)
    was_there = await _REMOVE(
        store,
        [
            *retirement.keys(store),
            keys.paused(),
            own.backlog(),
            own.job_omissions(name),
            own.triggers(name),
        ],
        [
            retirement.packed_names(store, retirement.UNBOUNDED),
            name,
            keys.commands(),
            commands.encoded("remove", name),
        ],
    )
    for verdict in ("success", "fail"):
        results = [keys.job_results(name, verdict), keys.results(verdict)]
        while await _FORGET(
            store, [*results, keys.runs(), own.details()], [keys.output.literals[0]]
        ):
            pass
    if not was_there:
        raise NotFound(f"there is no job {name!r}")


async def pause(store: Store, name: str, reading: Reading) -> list[str]:
    """Pauses or resumes a job, or `all`. Returns the names of the jobs that exist."""
    return await _set_paused(store, name, reading, paused=True)


async def resume(store: Store, name: str, reading: Reading) -> list[str]:
    return await _set_paused(store, name, reading, paused=False)


async def _set_paused(store: Store, name: str, reading: Reading, *, paused: bool) -> list[str]:
    names = [] if name == EVERYBODY else [name]
    existing = await definitions.set_paused(store, names, reading, paused=paused)
    if names and not existing:
        raise NotFound(f"there is no job {name!r}")
    await _publish(store, "pause" if paused else "resume", name)
    return existing


async def set_paused(
    store: Store, names: Sequence[str], reading: Reading, *, paused: bool
) -> list[str]:
    """Pauses or resumes these jobs. Returns the names of those that exist."""
    existing = await definitions.set_paused(store, names, reading, paused=paused) if names else []
    messages = [commands.encoded("pause" if paused else "resume", name) for name in existing]
    await _publish_all(store, messages)
    return existing


async def trigger_some(
    store: Store, names: Sequence[str], reading: Reading = AS_USUAL
) -> tuple[list[Trigger], dict[str, str]]:
    """Returns the triggers, and the reason for each job that was refused; unknown jobs are in
    neither."""
    beats = await instances.alive(store)
    made: list[Trigger] = []
    refused: dict[str, str] = {}
    for pair in await definitions.some(store, names):
        job = read(*pair, reading)
        if isinstance(job, Invalid):
            refused[job.name] = "; ".join(
                f"{one.field}: {one.reason_without_value}" for one in job.errors
            )
        elif reason := refusal(job, beats):
            refused[job.name] = reason
        else:
            made.append(new_trigger(job, beats))
    if made and await instances.is_idle(store):
        raise Refused(DRAINED)
    messages = [commands.encoded_trigger(one.job, one.id) for one in made]
    if made:
        await _check_received(store, await _publish_all(store, messages))
    return made, refused


async def trigger(store: Store, name: str, reading: Reading = AS_USUAL) -> Trigger:
    """Raises Refused if the job is not valid, or no instance would run it."""
    made, refused = await trigger_some(store, [name], reading)
    if name in refused:
        raise Refused(f"{name!r} can't run: {refused[name]}")
    if not made:
        raise NotFound(f"there is no job {name!r}")
    return made[0]


async def validate(
    store: Store, names: Sequence[str], reading: Reading
) -> dict[str, Job | Invalid]:
    """Validates these jobs, or all, and writes the errors into their definitions."""
    existing = await definitions.validate(store, names, reading)
    unknown = [name for name in names if name not in existing]
    if unknown:
        raise NotFound(f"there is no job {unknown[0]!r}")
    return existing


async def terminate(store: Store, run: str) -> None:
    """SIGTERM to every process of the run, and SIGKILL to those that are left after a while."""
    await _signal(store, "terminate_run", run)


async def kill(store: Store, run: str) -> None:
    await _signal(store, "kill_run", run)


async def _signal(store: Store, action: str, run: str) -> None:
    """`run` is the id of a run, or the beginning of it."""
    seen = await history.run(store, run)
    if await store.call("ZSCORE", Cron(store.prefix).active(), seen.id) is None:
        raise NotFound(f"there is no run {run!r} in progress")
    await _command(store, action, seen.id)


async def drain(store: Store, hosts: Sequence[str]) -> None:
    """Instances on these hosts start no new runs until the next `reload`."""
    known = await instances.hosts(store)
    unknown = [host for host in hosts if host not in known]
    if known and unknown:
        raise NotFound(f"no instance of cron runs on {unknown[0]!r}")
    await _command(store, "drain_nodes", list(hosts))


async def reload(store: Store) -> None:
    """Every instance reads the jobs again, and is no longer drained."""
    await _command(store, "reload", {})


async def _command(store: Store, action: str, args: Any) -> None:
    """Raises Refused if no instance receives it."""
    await _check_received(store, await _publish(store, action, args))


async def _check_received(store: Store, receivers: int) -> None:
    """Raises Refused if no instance received a command. A cluster counts only the clients of one
    node, so there the heartbeats decide."""
    is_cluster = store.url.topology == "cluster"
    if not receivers and not (is_cluster and await instances.hosts(store)):
        raise Refused(NO_INSTANCE)


async def _publish_all(store: Store, messages: Sequence[bytes]) -> int:
    channel = Cron(store.prefix).commands()
    receivers: int = await _PUBLISH_ALL(store, [channel], messages)
    return receivers


async def _publish(store: Store, action: str, args: Any) -> int:
    channel = Cron(store.prefix).commands()
    receivers: int = await store.call("PUBLISH", channel, commands.encoded(action, args))
    return receivers
