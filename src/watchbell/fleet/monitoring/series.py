"""Reads series: of one server, or of several."""

from collections.abc import Collection, Sequence

import msgspec

from watchbell.fleet.keys import Fleet
from watchbell.fleet.monitoring import buckets
from watchbell.fleet.monitoring.buckets import RINGS, Points, Resolution
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

MOST = 500
"""Series of one call."""

# KEYS[1] monitoring; ARGV[1] what the keys of series begin with, ARGV[2] msgpack: pairs of server
# and monitor, ARGV[3] and ARGV[4] the first and last byte. Returns the bytes of each.
_READ = Script(
    READ
    + """
local found = {}
for i, one in ipairs(cmsgpack.unpack(ARGV[2])) do
  found[i] = read('GETRANGE', ARGV[1] .. one[1] .. ':' .. one[2], ARGV[3], ARGV[4]) or ''
end
return found
"""
)


async def read(
    store: Store,
    wanted: Sequence[tuple[str, str]],
    resolution: Resolution,
    *,
    since: float,
    until: float,
) -> list[Points]:
    """Of each pair of server and monitor; all have the same start and length. In one call."""
    window = buckets.window(resolution, since, until)
    keys, ring = Fleet(store.prefix), RINGS[resolution]
    args = [keys.series.literals[0], msgspec.msgpack.encode(wanted[:MOST])]
    ends = [ring.place, ring.place + ring.size - 1]
    raws = await _READ(store, [keys.monitoring()], [*args, *ends])
    return [buckets.points(raw, window) for raw in raws]


async def delete(store: Store, servers: Collection[str], monitors: Collection[str]) -> None:
    """The series of each of these monitors on each of these servers. Those that are left, because a
    sample came at the same time, expire."""
    keys = Fleet(store.prefix)
    names = [keys.series(server, monitor) for server in servers for monitor in monitors]
    for first in range(0, len(names), MOST):
        await store.call("UNLINK", *names[first : first + MOST])
