"""Commands that people run on a server now: asked for by any process, passed on by the one to which
the agent is connected."""

import asyncio
import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell import ids
from watchbell.clock import Clock
from watchbell.errors import Refused
from watchbell.fleet import command_values
from watchbell.fleet.keys import Fleet
from watchbell.fleet.messages import RanOnce
from watchbell.fleet.model import Command, CommandOutcome
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

EXPIRES = 120
"""Seconds for which a request and its answer are kept."""
MOST_WAITING = 20
_PATIENCE = 10.0
"""Seconds that an answer may take longer than its command."""
_EVERY = 0.1
_REQUEST = re.compile("[0-9a-f]{32}")
_LONGEST_ERROR = 1_000

# KEYS requests; ARGV[1] the request, ARGV[2] how many may wait, ARGV[3] seconds for which they are
# kept, ARGV[4] channel, ARGV[5] server. Returns 0 where too many wait.
_ASK = Script("""
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('PUBLISH', ARGV[4], ARGV[5])
return 1
""")

# KEYS requests of servers. Returns those of each, and removes them.
_TAKE = Script(
    READ
    + """
local found = {}
for i, key in ipairs(KEYS) do
  found[i] = read('LRANGE', key, 0, -1) or {}
  redis.call('DEL', key)
end
return found
"""
)


class Request(Struct, frozen=True):
    id: str
    """Only the agent that gets it knows it, so that no other one can answer."""
    command: Command


async def run(store: Store, server: str, command: Command, clock: Clock) -> CommandOutcome:
    """Runs a command on a server whose agent is connected. Raises Refused where no answer comes."""
    request = Request(ids.token(), command)
    keys = Fleet(store.prefix)
    asked = await _ASK(
        store,
        [keys.command_requests(server)],
        [
            *(msgspec.msgpack.encode(request), MOST_WAITING, EXPIRES),
            *(keys.command_channel(), server),
        ],
    )
    if not asked:
        raise Refused("too many commands wait for this server; try again later")
    ends = clock.monotonic() + command.timeout + _PATIENCE
    while clock.monotonic() < ends:
        raw = await store.call("GET", keys.command_answer(request.id))
        if raw is not None:
            return msgspec.msgpack.decode(raw, type=CommandOutcome)
        await asyncio.sleep(_EVERY)
    raise Refused("the server did not answer in time; its agent may be busy or out of reach")


async def take(store: Store, servers: Sequence[str]) -> dict[str, list[Request]]:
    """What waits for these servers."""
    keys = Fleet(store.prefix)
    found = await _TAKE(store, [keys.command_requests(one) for one in servers])
    return {
        server: [request for raw in each if (request := _request(raw)) is not None]
        for server, each in zip(servers, found, strict=True)
    }


async def answer(store: Store, ran: RanOnce) -> None:
    """Stores an answer for who has asked. What no process has asked for is left out."""
    if not _REQUEST.fullmatch(ran.request):
        return
    key = Fleet(store.prefix).command_answer(ran.request)
    packed = msgspec.msgpack.encode(_checked(ran.outcome))
    await store.call("SET", key, packed, "EX", EXPIRES)


def _checked(outcome: CommandOutcome) -> CommandOutcome:
    outcome = replace(
        outcome,
        error=outcome.error[:_LONGEST_ERROR],
        text=outcome.text[: command_values.MOST_BYTES],
    )
    try:
        command_values.check(outcome.output)
    except Refused as refused:
        return replace(outcome, output=None, error=str(refused))
    return outcome


def _request(raw: bytes) -> Request | None:
    try:
        return msgspec.msgpack.decode(raw, type=Request)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
