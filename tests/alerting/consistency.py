"""Whether the documented keys agree with each other, whatever happened before."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from watchbell.alerting.indexes import COMPLETE
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import FAILING, split_id
from watchbell.alerting.record_keys import CLASSES, is_record
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys, tagged
from watchbell.store.script import Script

KINDS = {
    "problem": "problems",
    "unknown": "unknowns",
    "warning": "warnings",
    "critical": "criticals",
    "recovery": "recoveries",
    "acknowledgement": "acknowledgements",
    "test": "tests",
}
"""Kind of notification to the family that lists their times."""
ENDING = ("recovery", "acknowledgement")
LAST = (*FAILING, "acknowledgement", "recovery")
"""What can be the last notification."""

# ARGV: keys. Returns the type and the content of each.
_CONTENTS = Script("""
local read = {string = {'GET'}, hash = {'HGETALL'}, list = {'LRANGE', 0, -1}, set = {'SMEMBERS'},
  zset = {'ZRANGE', 0, -1, 'WITHSCORES'}}
local found = {}
for i, key in ipairs(ARGV) do
  local kind = redis.call('TYPE', key).ok
  local how = read[kind]
  found[i] = how and {kind, redis.call(how[1], key, unpack(how, 2))} or {kind, {}}
end
return found
""")


class Picture:
    """All keys of a store at one moment; what is absent is empty."""

    def __init__(self, prefix: str, contents: dict[str, Any], now: int | None = None) -> None:
        self.keys, self.own = Alerting(prefix), AlertingOwn(prefix)
        found = {key for key in contents if _is_record(key.removeprefix(prefix))}
        self.records = {key.removeprefix(prefix): contents[key] for key in found}
        """Flapjack's records, by keys without the prefix."""
        self._contents = {key: value for key, value in contents.items() if key not in found}
        self._now = now
        known = {*self.scores(self.keys.all_checks()), *self.scores(self.keys.failed_checks())}
        known |= {*self.members(self.own.open_problems()), *self.scores(self.own.silence())}
        known.discard(COMPLETE)
        self.checks = sorted(known | {*self.table(self.keys.hashes_by_check())})

    @classmethod
    async def of(cls, store: Store, now: int | None = None) -> "Picture":
        """In a replay `now` says which maintenance is over by then."""
        contents: dict[str, Any] = {}
        for primary in await store.primaries():
            cursor = 0
            while True:
                cursor, page = await primary.call("SCAN", cursor, "COUNT", 1000)
                found = await _CONTENTS.on(primary, page)
                for key, (kind, content) in zip(page, found, strict=True):
                    contents[_text(key)] = _readable(_text(kind), content)
                if not int(cursor):
                    break
        return cls(store.prefix, contents, now)

    def text(self, key: str) -> str | None:
        found: str | None = self._contents.get(key)
        return found

    def list(self, key: str) -> list[str]:
        found: list[str] = self._contents.get(key, [])
        return found

    def queued(self, queue: str) -> Iterator[str]:
        """What waits in a queue or is in somebody's hands."""
        taken = self.beginning(StoreKeys().taken(tagged(queue), "")).values()
        return (one for items in (self.list(queue), *taken) for one in items)

    def opened(self, item: str) -> dict[str, Any]:
        """A notification or an alert, which may be queued by its id."""
        found = item if item.startswith("{") else self.text(self.own.payload(item))
        return dict(json.loads(found or ""))

    def members(self, key: str) -> set[str]:
        found: set[str] = self._contents.get(key, set())
        return found

    def table(self, key: str) -> dict[str, str]:
        found: dict[str, str] = self._contents.get(key, {})
        return found

    def scores(self, key: str) -> dict[str, int]:
        found: dict[str, int] = self._contents.get(key, {})
        return found

    def beginning(self, begin: str) -> dict[str, Any]:
        """What stands behind `begin` in the keys that begin so, with their contents."""
        found = self._contents.items()
        return {key.removeprefix(begin): value for key, value in found if key.startswith(begin)}

    def state(self, check: str) -> str | None:
        return self.table(self.keys.current(*split_id(check))).get("state")

    def in_maintenance(self, check: str) -> bool:
        kinds = ("scheduled", "unscheduled")
        return any(self.maintained_since(check, kind) is not None for kind in kinds)

    def maintained_since(self, check: str, kind: str) -> int | None:
        """By its key, which lapses by the store's clock, and by its record where `now` is known."""
        start = self.text(getattr(self.keys, kind)(*split_id(check)))
        windows = self.scores(getattr(self.keys, f"{kind}_windows")(*split_id(check)))
        if start is None:
            return None
        is_over = self._now is not None and int(start) + windows.get(start, self._now) <= self._now
        return None if is_over else int(start)

    def ending(self) -> set[str]:
        """Checks of whose recovery or acknowledgement the notifier is about to learn."""
        waiting = [self.opened(one) for one in self.queued(self.keys.notifications())]
        return {one["event_id"] for one in waiting if one["type"] in ENDING}

    def story(self, name: str) -> dict[str, Any]:
        """All that the keys tell of a check."""
        keys, parts = self.keys, split_id(name)
        current = self.table(keys.current(*parts))
        told = {kind: self.list(getattr(keys, family)(*parts)) for kind, family in KINDS.items()}
        return {
            "state": current.get("state"),
            "changed": int(current.get("last_change", 0)),
            "updated": int(current.get("last_update", 0)),
            "summary": current.get("summary"),
            "enabled": parts[1] in self.scores(keys.current_checks(parts[0])),
            "history": [
                (
                    int(stamp),
                    self.text(keys.state(*parts, stamp)),
                    self.text(keys.summary(*parts, stamp)),
                )
                for stamp in self.list(keys.states(*parts))
            ],
            "planned": _numbered(self.scores(keys.scheduled_windows(*parts))),
            "acknowledged": _numbered(self.scores(keys.unscheduled_windows(*parts))),
            "scheduled": self.maintained_since(name, "scheduled"),
            "unscheduled": self.maintained_since(name, "unscheduled"),
            "told": {kind: [int(one) for one in times] for kind, times in told.items() if times},
            "due": self.scores(self.own.silence()).get(name),
        }


def _is_record(key: str) -> bool:
    kind, _, rest = key.partition(":")
    record, colon, name = rest.partition(":")
    if kind not in CLASSES or not colon:
        return False
    return not record or kind != "check" or is_record(record, name)


def _numbered(scores: dict[str, int]) -> dict[int, int]:
    return {int(member): score for member, score in scores.items()}


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")


def _readable(kind: str, content: Any) -> Any:
    if kind == "string":
        return _text(content)
    if kind == "hash":
        texts = [_text(one) for one in content]
        return dict(zip(texts[::2], texts[1::2], strict=True))
    if kind == "zset":
        return {
            _text(member): int(float(score))
            for member, score in zip(content[::2], content[1::2], strict=True)
        }
    return (set if kind == "set" else list)(map(_text, content))


def _states(picture: Picture) -> Iterator[str]:
    keys = picture.keys
    for check in picture.checks:
        parts = split_id(check)
        current, stamps = picture.table(keys.current(*parts)), picture.list(keys.states(*parts))
        states = [picture.text(keys.state(*parts, stamp)) for stamp in stamps]
        if stamps != sorted(set(stamps), key=int):
            yield f"{check}: states {stamps} are not in order, each once"
        if {one: int(one) for one in stamps} != picture.scores(keys.state_times(*parts)):
            yield f"{check}: sorted_state_timestamps differ from states"
        if (current.get("last_change"), current.get("state")) != (
            (stamps[-1], states[-1]) if stamps else (None, None)
        ):
            yield f"{check}: is {current}, but its newest record is {stamps[-1:]} {states[-1:]}"
        if None in states or any(a == b for a, b in pairwise(states)):
            yield f"{check}: states are not each another than the one before: {states}"
        if any(picture.text(keys.count(*parts, stamp)) is None for stamp in stamps):
            yield f"{check}: a change of state has no count"


def _failed(picture: Picture) -> Iterator[str]:
    changed = {
        check: int(picture.table(picture.keys.current(*split_id(check)))["last_change"])
        for check in picture.checks
        if picture.state(check) in FAILING
    }
    failed = picture.scores(picture.keys.failed_checks())
    if failed != changed:
        yield f"failed_checks is {failed}, but failing are {changed}"


def _known(picture: Picture) -> Iterator[str]:
    keys = picture.keys
    known = picture.scores(keys.all_checks())
    by_entity: dict[str, dict[str, int]] = {}
    for check, first in known.items():
        entity, name = split_id(check)
        by_entity.setdefault(entity, {})[name] = first
    for entity, expected in by_entity.items():
        if picture.scores(keys.entity_checks(entity)) != expected:
            yield f"{entity}: all_checks:{entity} differs from all_checks"
    current = {keys.current(*split_id(check)) for check in known}
    begin = keys.current.literals[0]
    for stray in {begin + rest for rest in picture.beginning(begin)} ^ current:
        yield f"{stray}: is among the checks or in all_checks, and not in both"


def _enabled(picture: Picture) -> Iterator[str]:
    keys = picture.keys
    for entity in {split_id(check)[0] for check in picture.checks}:
        enabled = picture.scores(keys.current_checks(entity))
        latest = picture.scores(keys.current_entities()).get(entity)
        if enabled and (latest is None or latest < max(enabled.values())):
            yield f"{entity}: current_entities says {latest}, current_checks {enabled}"
        if not enabled and latest is not None:
            yield f"{entity}: is among current_entities without a check"
        for name, when in enabled.items():
            updated = picture.table(keys.current(entity, name)).get("last_update")
            if updated != str(when):
                yield f"{entity}:{name}: current_checks says {when}, last_update {updated}"


def _maintenances(picture: Picture) -> Iterator[str]:
    for check in picture.checks:
        for kind in ("scheduled", "unscheduled"):
            windows = picture.scores(getattr(picture.keys, f"{kind}_windows")(*split_id(check)))
            times = picture.scores(getattr(picture.keys, f"{kind}_times")(*split_id(check)))
            start = picture.text(getattr(picture.keys, kind)(*split_id(check)))
            if {one: int(one) for one in windows} != times:
                yield f"{check}: {kind} windows {windows} differ from their times {times}"
            if start is not None and start not in windows:
                yield f"{check}: in {kind} maintenance since {start}, of which there is no record"
            if any(length < 0 for length in windows.values()):
                yield f"{check}: {kind} maintenance of a negative length: {windows}"


def _notifications(picture: Picture) -> Iterator[str]:
    told: dict[str, dict[str, list[str]]] = {}
    for check in picture.checks:
        times = {
            kind: picture.list(getattr(picture.keys, family)(*split_id(check)))
            for kind, family in KINDS.items()
        }
        for kind, found in times.items():
            last = picture.text(getattr(picture.keys, f"last_{kind}")(*split_id(check)))
            if last != (found[-1] if found else None):
                yield f"{check}: last {kind} notification is {last}, the newest of {found} is not"
            if found != sorted(found, key=int):
                yield f"{check}: {kind} notifications are not in order: {found}"
        by_state = Counter(one for state in FAILING for one in times[state])
        if Counter(times["problem"]) != by_state:
            yield f"{check}: problems {times['problem']} are not those of the states"
        told[check] = times
    unrecovered = {check for check, times in told.items() if _is_unrecovered(times)}
    if picture.members(picture.own.open_problems()) - {COMPLETE} != unrecovered:
        yield f"open_problems differs from what was told and not recovered: {unrecovered}"


def _is_unrecovered(times: dict[str, list[str]]) -> bool:
    newest = {kind: int(times[kind][-1]) for kind in LAST if times[kind]}
    others = [when for kind, when in newest.items() if kind != "recovery"]
    return bool(others) and max(others) > newest.get("recovery", 0)


def _alerting(picture: Picture) -> Iterator[str]:
    alerted = picture.beginning(picture.keys.alerting_checks.literals[0])
    media = picture.beginning(picture.own.alerting_media.literals[0])
    there = {(check, medium) for medium, checks in alerted.items() for check in checks}
    back = {(check, medium) for check, found in media.items() for medium in found}
    for check, medium in there ^ back:
        yield f"{check}: alerted by {medium} on one side only"
    ending = picture.ending()
    for check, medium in there:
        entity, name = split_id(check)
        if picture.state(check) not in FAILING and check not in ending:
            yield f"{check}: alerted by {medium}, but it is {picture.state(check)}"
        if picture.in_maintenance(check) and check not in ending:
            yield f"{check}: alerted by {medium}, but it is in maintenance"
        if name not in picture.scores(picture.keys.current_checks(entity)):
            yield f"{check}: alerted by {medium}, but it is disabled"


def _alerts(picture: Picture) -> Iterator[str]:
    keys = picture.keys
    for alert, when in picture.scores(keys.alerts()).items():
        record = picture.table(keys.alert(alert))
        if record.get("timestamp") != str(when):
            yield f"alert {alert}: of {when}, but its record is {record}"
            continue
        for index in (
            keys.alerts_by_contact(record["contact"]),
            keys.alerts_by_medium(record["contact"], record["media"]),
            keys.alerts_by_check(*split_id(record["check"])),
        ):
            if picture.scores(index).get(alert) != when:
                yield f"alert {alert}: is not in {index}"


def _alert_indexes(picture: Picture) -> Iterator[str]:
    keys = picture.keys
    begins = (keys.alerts_by_contact, keys.alerts_by_check, keys.alerts_by_date)
    for begin in (family.literals[0] for family in begins):
        for rest, alerts in picture.beginning(begin).items():
            for alert in alerts:
                if not picture.table(keys.alert(alert)):
                    yield f"alert {alert}: in {begin}{rest}, but there is no record of it"


def _short_ids(picture: Picture) -> Iterator[str]:
    by_hash = picture.table(picture.keys.checks_by_hash())
    by_check = picture.table(picture.keys.hashes_by_check())
    if by_hash != {short: check for check, short in by_check.items()}:
        yield "checks_by_hash and check_hashes_by_id are not each other's inverse"
    for check in set(picture.scores(picture.keys.failed_checks())) - set(by_check):
        yield f"{check}: fails and has no short id"


def _entities(picture: Picture) -> Iterator[str]:
    keys = picture.keys
    by_name = picture.table(keys.entity_ids())
    if picture.table(keys.entity_names()) != {one: name for name, one in by_name.items()}:
        yield "all_entity_names_by_id is not the inverse of all_entity_ids_by_name"
    if picture.beginning(keys.entity_id.literals[0]) != by_name:
        yield "entity_id:ENTITY differs from all_entity_ids_by_name"
    for name, one in by_name.items():
        if picture.table(keys.entity(one)).get("name") != name:
            yield f"{name}: entity:{one} does not have this name"
    for check in picture.scores(keys.all_checks()):
        if split_id(check)[0] not in by_name:
            yield f"{check}: its entity has no id"


def _counters(picture: Picture) -> Iterator[str]:
    instances = picture.beginning(picture.keys.instance_counters.literals[0])
    together: Counter[str] = Counter()
    for counts in (picture.table(picture.keys.counters()), *instances.values()):
        found = {name: int(number) for name, number in counts.items()}
        total = found.pop("all", 0)
        if total != sum(found.values()):
            yield f"counters do not add up to {total}: {found}"
    for counts in instances.values():
        together.update({name: int(number) for name, number in counts.items()})
    for name, number in together.items():
        if number > int(picture.table(picture.keys.counters()).get(name, 0)):
            yield f"processors counted {number} {name}, more than there were"


LAWS: list[Callable[[Picture], Iterator[str]]] = [
    _states,
    _failed,
    _known,
    _enabled,
    _maintenances,
    _notifications,
    _alerting,
    _alerts,
    _alert_indexes,
    _short_ids,
    _entities,
    _counters,
]


def found_in(picture: Picture) -> list[str]:
    return [words for law in LAWS for words in law(picture)]


async def contradictions(store: Store, now: int | None = None) -> list[str]:
    """In words, what does not agree; as of `now` in a replay, else by the store's clock."""
    return found_in(await Picture.of(store, now))
