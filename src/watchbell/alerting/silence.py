"""Reports checks as unknown that did not report within their ttl."""

import msgspec

from watchbell.alerting.event import encode
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import CheckEvent, split_id
from watchbell.schedule import spoken
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.replies import number, text
from watchbell.store.script import Script

_MOST = 500

# KEYS[1] silence, KEYS[2] events; ARGV[1] now, ARGV[2] msgpack: {check, its event} for those found
# silent. Each check that is still silent is reported once. Returns how many were.
_REPORT = Script("""
local reported = 0
for _, pair in ipairs(cmsgpack.unpack(ARGV[2])) do
  local due = redis.call('ZSCORE', KEYS[1], pair[1])
  if due and tonumber(due) <= tonumber(ARGV[1]) then
    redis.call('ZREM', KEYS[1], pair[1])
    redis.call('LPUSH', KEYS[2], pair[2])
    reported = reported + 1
  end
end
return reported
""")


class Silence:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._silence = AlertingOwn(store.prefix).silence()
        self._events = Alerting(store.prefix).events()

    async def unread(self) -> int:
        """The number of queued events: a check may only seem silent while its report waits."""
        return int(await self._store.call("LLEN", self._events))

    async def report(self, now: int) -> int:
        """Pushes an event for every check that is overdue as of `now`; returns their number."""
        reported = 0
        while True:
            due = await self._store.call(
                "ZRANGEBYSCORE", self._silence, "-inf", now, "WITHSCORES", "LIMIT", 0, _MOST
            )
            pairs = [
                (
                    verbatim(name),
                    verbatim(encode(_unknown(text(name), number(since) or 0, now))),
                )
                for name, since in _scored(due)
            ]
            if not pairs:
                return reported
            packed = msgspec.msgpack.encode(pairs)
            reported += await _REPORT(self._store, [self._silence, self._events], [now, packed])


def _scored(answer: list[object]) -> list[tuple[bytes, float]]:
    """Members with their scores, whether the client paired them or not."""
    if answer and isinstance(answer[0], tuple | list):
        return [(pair[0], float(pair[1])) for pair in answer]  # type: ignore[index]
    return [
        (name, float(score))  # type: ignore[arg-type, misc]
        for name, score in zip(answer[::2], answer[1::2], strict=True)
    ]


def _unknown(event_id: str, since: int, now: int) -> CheckEvent:
    entity, check = split_id(event_id)
    late = spoken.in_words(now - since) if now > since else "a moment"
    summary = f"no report came; one was due {late} ago"
    return CheckEvent(
        type="service",
        state="unknown",
        entity=entity,
        check=check,
        time=now,
        summary=summary,
        initial_failure_delay=0,  # it was silent for long enough, and nothing more will come
    )
