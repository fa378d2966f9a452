"""Lua that writes lines of output into the store, for scripts to include."""

from typing import Any

from watchbell.runs.output_lines import SECOND, Lines
from watchbell.store.effects import verbatim

# Needs RAISE_NOT_NOW, own.as_list and own.kept: the milliseconds for which output is kept after its
# last line. What the store refuses, because another program left a key of a wrong type, is added to
# `refused` and stops nothing else. `write_lines` bears being repeated.
WRITE_LINES = """
local refused = {}

local function try(...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  raise_not_now(answer)
  refused[#refused + 1] = table.concat({...}, ' ', 1, 2) .. ': ' .. answer.err
  return nil
end

local function each_slice(words, step, act)
  for first = 1, #words, step do
    act(unpack(words, first, math.min(first + step - 1, #words)))
  end
end

local function write_lines(key, index, scores, members, after, before)
  if own.as_list then
    -- Lines that are there already were written by a call whose answer was lost.
    local new = {}
    for i = math.max((try('LLEN', key) or 0) - index, 0) + 1, #members do
      new[#new + 1] = members[i]
    end
    each_slice(new, 1000, function(...) try('RPUSH', key, ...) end)
  else
    local pairs_ = {}
    for i, member in ipairs(members) do
      pairs_[#pairs_ + 1] = scores[i]
      pairs_[#pairs_ + 1] = member
    end
    each_slice(pairs_, 1000, function(...) try('ZADD', key, ...) end)
    if after ~= '' then try('ZREMRANGEBYSCORE', key, '(' .. after, '(' .. before) end
  end
  try('PEXPIRE', key, own.kept)
end
"""


def packed(lines: Lines) -> list[Any]:
    """The arguments of `write_lines` after the key."""
    after, before = map(_seconds, lines.drop) if lines.drop else ("", "")
    scores = [_seconds(score) for score, _ in lines.scored]
    members = [verbatim(text) for _, text in lines.scored]
    return [lines.before, scores, members, after, before]


def _seconds(score: int) -> str:
    return f"{score // SECOND}.{score % SECOND:06}"
