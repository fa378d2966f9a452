"""Changes a record and its audit log in one step, unless the record has changed since."""

from collections.abc import Mapping, Sequence

from watchbell.store.client import Store
from watchbell.store.script import Script
from watchbell.web import audit
from watchbell.web.audit import Entry
from watchbell.web.keys import Web

# KEYS[1] hash, KEYS[2] audit, the others are deleted with the change; ARGV[1] field, ARGV[2] its
# value as it was read, ARGV[3] as it is to be, each empty for none; ARGV[4] entry, ARGV[5] entries
# kept; then pairs of a field and its value that must be as it was read, too. Returns 1, or 0 where
# something had changed.
_CHANGE = Script("""
local function is(field, value) return (redis.call('HGET', KEYS[1], field) or '') == value end
if not is(ARGV[1], ARGV[2]) then return 0 end
for i = 6, #ARGV, 2 do
  if not is(ARGV[i], ARGV[i + 1]) then return 0 end
end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
for i = 3, #KEYS do redis.call('DEL', KEYS[i]) end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'e', ARGV[4])
return 1
""")


async def change(
    store: Store,
    table: str,
    field: str,
    old: bytes,
    new: bytes,
    entry: Entry,
    unchanged: Mapping[str, bytes] | None = None,
    revoked: Sequence[str] = (),
) -> bool:
    """Whether it was done. `old` and `new` are empty where there is no record; `revoked` keys are
    deleted in the same step."""
    pairs = [word for pair in (unchanged or {}).items() for word in pair]
    keys = [table, Web(store.prefix).audit(), *revoked]
    arguments = [field, old, new, audit.encoded(entry), audit.MOST, *pairs]
    return bool(await _CHANGE(store, keys, arguments))
