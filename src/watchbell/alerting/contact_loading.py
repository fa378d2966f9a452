"""Reads a contact as one string, which also serves to detect changes."""

from typing import Any

from watchbell.alerting import rule_format
from watchbell.alerting.model import Contact, Medium

FAMILIES = (
    *("contact", "media", "intervals", "rollup_thresholds"),
    *("pagerduty", "timezone", "rules", "rule"),
)
LONGEST_INTERVAL, MOST = 1 << 31, 1_000_000
_USUAL_INTERVAL = Medium(address="").interval
_RULE_FIELDS = [field.encode() for field in rule_format.FIELDS]

# Uses `read`, `families` (what the keys of each of FAMILIES begin with) and `rule_fields`.
# Returns all of a contact in MessagePack, and its media and thresholds; nothing if there is none.
LUA = """
local function packed_contact(id)
  local person = read('HMGET', families.contact[1] .. id, 'first_name', 'last_name', 'email')
  if not person or not person[1] then return end
  local media = read('HGETALL', families.media[1] .. id) or {}
  local thresholds = read('HGETALL', families.rollup_thresholds[1] .. id) or {}
  local rules = read('SMEMBERS', families.rules[1] .. id) or {}
  local all = {person, media, read('HGETALL', families.intervals[1] .. id) or {}, thresholds,
    read('HGETALL', families.pagerduty[1] .. id) or {}, read('GET', families.timezone[1] .. id),
    rules}
  local rule_at = families.rule[1]
  for i, rule in ipairs(rules) do
    all[7 + i] = read('HMGET', rule_at .. rule, unpack(rule_fields)) or {}
  end
  return cmsgpack.pack(all), media, thresholds
end
"""


def parsed(contact_id: str, packed: bytes) -> Contact:
    """The contact, without its tags."""
    (person, media, intervals, thresholds, pagerduty, zone, rule_ids, *rest), _ = _unpacked(packed)
    first, last, email = (_text(value or b"") for value in person)
    every, most = _pairs(intervals), _pairs(thresholds)
    stored = (
        (rule_id, {k: v for k, v in zip(_RULE_FIELDS, values, strict=True) if v})
        for rule_id, values in sorted(dict(zip(rule_ids, rest, strict=True)).items())
        if any(values)
    )
    return Contact(
        id=contact_id,
        first_name=first,
        last_name=last,
        email=email,
        timezone=_text(zone) if zone else "",
        media={
            _text(name): Medium(
                address=_text(address),
                interval=min(_number(every.get(name)), LONGEST_INTERVAL) or _USUAL_INTERVAL,
                rollup_threshold=min(_number(most.get(name)), MOST),
            )
            for name, address in _pairs(media).items()
        },
        pagerduty={_text(name): _text(value) for name, value in _pairs(pagerduty).items()},
        rules=rule_format.owned(contact_id, stored),
    )


def _unpacked(packed: bytes, at: int = 0) -> tuple[Any, int]:
    """Decodes MessagePack of lists, bytes and false at a position; also returns where it ends."""
    kind, at = packed[at], at + 1
    if kind == 0xC2:
        return None, at
    is_list = kind < 0xA0 or kind >= 0xDC
    width = 0 if kind < 0xC0 else 2 << kind - 0xDC if is_list else 1 << kind - 0xD9
    size = (
        int.from_bytes(packed[at : at + width], "big") if width else kind & (15 if is_list else 31)
    )
    at += width
    if not is_list:
        return packed[at : at + size], at + size
    items = []
    for _ in range(size):
        item, at = _unpacked(packed, at)
        items.append(item)
    return items, at


def _pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _number(raw: bytes | None) -> int:
    return int(raw) if raw and raw.isdigit() and len(raw) < 20 else 0
