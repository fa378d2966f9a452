"""Lua that the scripts of jobs share: their keys, and the values of a job's hash."""

from watchbell.fleet.keys import Fleet
from watchbell.jobs.keys import Jobs
from watchbell.store.families import Keyspace


def _table(name: str, space: type[Keyspace]) -> str:
    # All families but those with several parts, whose keys no script makes.
    keys = [
        f"{family.name} = base .. '{family.literals[0]}'"
        for family in space.families()
        if len(family.parts) < 2
    ]
    return f"local {name} = {{{', '.join(keys)}}}\n"


# KEYS[1] is the key of `ready` in every script of jobs: it leads to the slot in which all keys
# are, and what it begins with is the prefix of this store. `jobs.ready` is a key;
# `jobs.occupied .. event` is the key of that event.
LAYOUT = (
    f"local base = string.sub(KEYS[1], 1, -1 - #'{Jobs.ready.pattern}')\n"
    + _table("jobs", Jobs)
    + _table("fleet", Fleet)
    + """
-- The value of a field of a job's hash; nil where there is none, or it is not JSON.
local function value_of(text)
  if not text then return nil end
  local is_json, value = pcall(cjson.decode, text)
  if is_json and value ~= cjson.null then return value end
end

local function text_of(text)
  local value = value_of(text)
  if type(value) == 'string' and value ~= '' then return value end
end

local function list_of(text)
  local value = value_of(text)
  return type(value) == 'table' and value or {}
end
"""
)
