"""Writes posted events to the store: each id once, and not too many from one sender."""

from collections.abc import Sequence

from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent
from watchbell.clock import Clock
from watchbell.probes import probe
from watchbell.settings import Web as Settings
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script
from watchbell.web.alerting.intake import states
from watchbell.web.alerting.intake.items import Item
from watchbell.web.alerting.intake.sns_trust import SnsTrust
from watchbell.web.alerting.intake.states import States
from watchbell.web.keys import Web
from watchbell.web.secrets import digest

WINDOW = 10
"""Seconds over which a sender's events are counted."""
_AT_ONCE = 1_000
_KEPT = 2 * 86_400

# KEYS[1] events, KEYS[2] counter of the sender, KEYS[3] states that are held; ARGV[1] how many
# events its request has, ARGV[2] the most it may send in ARGV[3] seconds, 0 for no limit; ARGV[4]
# what the keys of ids begin with, ARGV[5] seconds for which those are kept; ARGV[6] the check whose
# state the first event holds, empty for none, ARGV[7] what is kept of that; then pairs of an id,
# empty for none, and an event. Ids of today and of yesterday are known. Returns for each event 1,
# or 0 where its id was; or the seconds to wait, as one number below 0.
_PUSH = Script("""
local most = tonumber(ARGV[2])
if most > 0 and ARGV[1] ~= '0' then
  local sent = redis.call('INCRBY', KEYS[2], ARGV[1])
  if redis.call('TTL', KEYS[2]) < 0 then redis.call('EXPIRE', KEYS[2], ARGV[3]) end
  if sent > most and sent > tonumber(ARGV[1]) then
    redis.call('DECRBY', KEYS[2], ARGV[1])
    return {-math.max(redis.call('TTL', KEYS[2]), 1)}
  end
end
local day = math.floor(redis.call('TIME')[1] / 86400)
local today, yesterday = ARGV[4] .. day, ARGV[4] .. (day - 1)
local answers, events, named = {}, {}, false
for i = 8, #ARGV, 2 do
  local id, fresh = ARGV[i], 1
  if id ~= '' then
    named = true
    if redis.call('SISMEMBER', yesterday, id) == 1 or redis.call('SADD', today, id) == 0 then
      fresh = 0
    end
  end
  if fresh == 1 then events[#events + 1] = ARGV[i + 1] end
  answers[#answers + 1] = fresh
end
if named and redis.call('TTL', today) < 0 then redis.call('EXPIRE', today, ARGV[5]) end
if #events > 0 then redis.call('LPUSH', KEYS[1], unpack(events)) end
if ARGV[6] ~= '' and answers[1] == 1 then redis.call('HSET', KEYS[3], ARGV[6], ARGV[7]) end
return answers
""")


class TooMany(Exception):
    """The sender has to wait so many seconds; nothing was written."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many events; wait {seconds} s")
        self.seconds = seconds


class Intake:
    """Writes posted events, in their order."""

    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._keys = Web(store.prefix)
        self._events = Alerting(store.prefix).events()
        self._most = settings.intake_rate * WINDOW
        self._ids = self._keys.intake_ids.literals[0]
        self.sns, self.states = SnsTrust(settings, clock), States(store)

    async def hold(self, sender: str, item: Item, event: CheckEvent, now: int) -> bool:
        """Writes the event of an item and holds its state. Returns whether it was new."""
        held = event.id, states.encoded(event, now)
        return (await self._pushed(sender, [item], 1, held))[0]

    async def write(self, sender: str, items: Sequence[Item]) -> list[bool]:
        """Returns for each whether it was new. What was written is durable."""
        fresh: list[bool] = []
        for first in range(0, len(items), _AT_ONCE):
            # All are counted before the first is written, so that none is where they are too many.
            cost = 0 if first else len(items)
            fresh += await self._pushed(sender, items[first : first + _AT_ONCE], cost)
        return fresh

    async def _pushed(
        self,
        sender: str,
        items: Sequence[Item],
        cost: int,
        held: tuple[str, bytes] = ("", b""),
    ) -> list[bool]:
        keys = [self._events, self._keys.tries(digest(f"intake {sender}")), self._keys.states()]
        arguments: list[Argument] = [cost, self._most, WINDOW, self._ids, _KEPT, *held]
        for item in items:
            arguments += (item.id, item.event)
        probe("intake.before_write")
        answers = await _PUSH(self._store, keys, arguments)
        probe("intake.after_write")
        if answers and answers[0] < 0:
            raise TooMany(-answers[0])
        return [answer == 1 for answer in answers]
