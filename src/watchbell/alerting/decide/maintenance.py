"""Whether a check is in maintenance, in which nobody is notified of its failures."""

from enum import Enum

from watchbell.alerting.model import FAILING


class Maintenance(Enum):
    """The kind of maintenance a check is in; the values are what people read."""

    SCHEDULED = "the check is in scheduled maintenance"
    UNSCHEDULED = "the check is acknowledged, in unscheduled maintenance"


def maintenance(scheduled: object | None, unscheduled: object | None) -> Maintenance | None:
    """Of the window of each kind that is open, or its end; None where none is.

    Scheduled maintenance comes first: a failure in it can't be acknowledged.
    """
    if scheduled is not None:
        return Maintenance.SCHEDULED
    return Maintenance.UNSCHEDULED if unscheduled is not None else None


def is_acknowledged(state: str | None, unscheduled: object | None) -> bool:
    """Whether the check fails and is acknowledged."""
    return unscheduled is not None and state in FAILING


# The scripts below decide the same where the store has to: `present` is the key of the window that
# is open, `windows` the set of all windows of its kind, by start, with their length as score.

IS_OPEN = """
-- Whether the window that `present` names is open: until its recorded end, so that a replay sees it
-- end, or as long as the key is there where another program recorded no window.
local function is_open(present, windows, now)
  local start = redis.pcall('GET', present)
  if type(start) ~= 'string' then return false end
  local length = redis.pcall('ZSCORE', windows, start)
  local last = type(length) == 'string' and tonumber(start) and tonumber(start) + tonumber(length)
  return not last or last > now
end
"""

OPEN_WINDOW = """
-- Start and end of the window that is open, or nothing. A planned window counts by its record, from
-- its start on. An unscheduled one counts only while its key names it: whoever deletes the key ends
-- it. A window that another program opened without a record counts until its key expires, or for a
-- minute where it never does.
local function open_window(present, windows, now, is_planned)
  if redis.call('EXISTS', present, windows) == 0 then return nil end
  local named, start, last, is_recorded = redis.call('GET', present), nil, nil, false
  local recorded = redis.call('ZRANGE', windows, 0, -1, 'WITHSCORES')
  for i = 1, #recorded, 2 do
    local from, length = tonumber(recorded[i]), tonumber(recorded[i + 1])
    if from and from <= now and now < from + length and (not last or from + length >= last)
      and (is_planned or recorded[i] == named) then
      start, last = recorded[i], from + length
    end
    is_recorded = is_recorded or recorded[i] == named
  end
  if not start and tonumber(named) and not is_recorded then
    local left = redis.call('PTTL', present)
    start, last = named, now + (left > 0 and math.ceil(left / 1000) or 60)
  end
  return start, last
end
"""
