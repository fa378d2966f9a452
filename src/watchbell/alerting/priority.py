"""What overtakes a backlog: events and notifications of failures that were not alerted yet."""

from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import FAILING
from watchbell.store.urgent import Urgency, spellings

_OTHERS = tuple(state for state in FAILING if state != "critical")

# given: what stands around entity and check in the keys of the check, of both kinds of maintenance,
# and of the last notification of each state. A report is urgent that brings a state of which no
# notification was made since it began, unless maintenance holds it back.
_EVENT = """
local state = type(object.state) == 'string' and string.lower(object.state)
local place = ({critical = 10, warning = 13, unknown = 16})[state]
if not place or type(object.type) ~= 'string' or string.lower(object.type) ~= 'service'
    or type(object.entity) ~= 'string' or type(object.check) ~= 'string' then
  return 0
end
local entity, check = string.lower(object.entity), object.check
local function key(at) return given[at] .. entity .. given[at + 1] .. check .. given[at + 2] end
if redis.call('EXISTS', key(4), key(7)) > 0 then return 0 end
local stored = redis.pcall('HMGET', key(1), 'state', 'last_change')
if stored[1] == state then
  local notified = redis.pcall('GET', key(place))
  local at = type(notified) == 'string' and tonumber(notified)
  if at and at >= (tonumber(stored[2]) or 0) then return 0 end
end
return state == 'critical' and 2 or 1
"""

_NOTIFICATION = """
if object.type ~= 'problem' then return 0 end
return object.state == 'critical' and 2 or 1
"""


def events(prefix: str, front: int) -> Urgency:
    keys = Alerting(prefix)
    families = (
        *(keys.current, keys.scheduled, keys.unscheduled),
        *(keys.last_critical, keys.last_warning, keys.last_unknown),
    )
    return Urgency(
        _EVENT,
        first=spellings("critical"),
        soon=spellings(*_OTHERS),
        order_by=("entity", "check"),
        quiet='"ok"',
        front=front,
        args=[literal for family in families for literal in family.literals],
    )


def notifications(prefix: str) -> Urgency:
    return Urgency(
        _NOTIFICATION,
        first=["critical"],
        soon=_OTHERS,
        order_by=("event_id",),
        payloads=AlertingOwn(prefix).payload(""),
    )
