"""Notification rules: how they are read, checked, told in words, and stored."""

import difflib
import re
import zoneinfo
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import expressions
from watchbell.alerting.keys import RESERVED_MEDIA, Alerting
from watchbell.alerting.model import KNOWN_MEDIA, Contact, Rule
from watchbell.errors import Changed, NotFound, Refused
from watchbell.schedule import recurrence
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

SEVERITIES = ("critical", "warning", "unknown")
FIELDS = (
    *("entities", "regex_entities", "tags", "entity_tags", "regex_tags", "time_restrictions"),
    *("unknown_media", "warning_media", "critical_media"),
    *("unknown_blackhole", "warning_blackhole", "critical_blackhole"),
)
"""What a rule's hash says beside who it is."""

LONGEST_REGEX = 1_000

_LISTS = ("entities", "regex_entities", "regex_tags", *(f"{s}_media" for s in SEVERITIES))
_MEDIUM = re.compile(r"[a-z0-9_]{1,64}")
# Control characters, line breaks, and halves of characters, which no store and no mail takes.
_UNPRINTABLE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff]")
_texts = msgspec.json.Decoder(tuple[str, ...] | None)
_objects = msgspec.json.Decoder(tuple[dict[str, Any], ...] | None)

_NEVER_FORM = re.compile(r"\(\?!\)\(\?#(\w+)\)")


def parse(fields: Mapping[bytes, bytes]) -> Rule:
    """The rule of a stored hash. One with a list that can't be read matches nothing, so that what
    it was to narrow or to silence goes the contact's other ways; `unreadable` tells which."""
    found: dict[str, Any] = {name: _read(_texts, fields.get(name.encode())) for name in _LISTS}
    tags = fields.get(b"tags")
    given = fields.get(b"entity_tags") if tags in (None, b"", b"null") else tags
    found["tags"] = _read(_texts, given)
    found["time_restrictions"] = _read(_objects, fields.get(b"time_restrictions"))
    bad = [name for name, value in found.items() if value is None]
    found.update(dict.fromkeys(bad, ()))
    found["regex_entities"] += tuple(map(never, bad))
    return Rule(
        id=fields.get(b"id", b"").decode(errors="replace"),
        contact_id=fields.get(b"contact_id", b"").decode(errors="replace"),
        unknown_blackhole=fields.get(b"unknown_blackhole") == b"true",
        warning_blackhole=fields.get(b"warning_blackhole") == b"true",
        critical_blackhole=fields.get(b"critical_blackhole") == b"true",
        **found,
    )


def _read(decoder: msgspec.json.Decoder[Any], text: bytes | None) -> tuple[Any, ...] | None:
    if not text:
        return ()
    try:
        return decoder.decode(text) or ()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def never(field: str) -> str:
    """An expression that matches nothing, and says which field could not be read."""
    return f"(?!)(?#{field})"


def unreadable(rule: Rule) -> tuple[str, ...]:
    """The fields that were stored in a form that can't be read."""
    found = (_NEVER_FORM.fullmatch(text) for text in rule.regex_entities)
    return tuple(match[1] for match in found if match)


def without_unreadable(rule: Rule, fields: Iterable[str]) -> Rule:
    """The rule once these of its fields were given anew."""
    mended = set(map(never, fields))
    return replace(
        rule, regex_entities=tuple(text for text in rule.regex_entities if text not in mended)
    )


def fields(rule: Rule) -> dict[str, str]:
    """The hash that is stored."""
    lists = {name: _written(getattr(rule, name)) for name in (*_LISTS, "time_restrictions")}
    holes = {f"{s}_blackhole": getattr(rule, f"{s}_blackhole") for s in SEVERITIES}
    tags = _written(rule.tags)
    return {
        "id": rule.id,
        "contact_id": rule.contact_id,
        "tags": tags,
        "entity_tags": tags,
        **lists,
        **{name: "true" if hole else "false" for name, hole in holes.items()},
    }


def _written(values: tuple[Any, ...]) -> str:
    return msgspec.json.encode(values or None).decode()


def plain(field: str, text: str, expected: str = "text without control characters") -> str:
    """The text, once it is known to be one that can be stored, sent and shown."""
    if not text.strip() or _UNPRINTABLE.search(text):
        raise Refused(f"{_quoted(text)} is not allowed; expected {expected}", field=field)
    return text


def identifier(field: str, text: str, what: str = "an id") -> str:
    expected = f"{what}: text without colons and control characters"
    if ":" in text:
        raise Refused(f"{_quoted(text)} is not allowed; expected {expected}", field=field)
    return plain(field, text, expected)


def medium_name(field: str, text: str) -> str:
    if not _MEDIUM.fullmatch(text):
        raise Refused(
            f"{_quoted(text)} is no name of a medium; expected lower-case letters, "
            "digits and _, as in email or sms_twilio",
            field=field,
        )
    if text in RESERVED_MEDIA:
        raise Refused(
            f"{_quoted(text)} is not allowed; expected a medium whose queue has a name of its own",
            field=field,
        )
    return text


def zone_name(field: str, text: str) -> str:
    zones = zoneinfo.available_timezones()
    if text in zones:
        return text
    cities = {zone.rpartition("/")[2].lower(): zone for zone in sorted(zones)}
    wanted = text.rpartition("/")[2].replace(" ", "_").lower()
    near = difflib.get_close_matches(wanted, cities, n=1)
    hint = f"did you mean {cities[near[0]]}?" if near else "expected a name as Europe/Rome"
    raise Refused(f"there is no time zone {_quoted(text)}; {hint}", field=field)


def _quoted(text: str) -> str:
    return repr(_UNPRINTABLE.sub("?", text if len(text) <= 60 else text[:60] + "…"))


def checked(rule: Rule) -> Rule:
    """The rule as it may be stored; raises Refused, naming the field, where it may not."""
    identifier("id", rule.id)
    identifier("contact_id", rule.contact_id)
    if bad := unreadable(rule):
        raise Refused("what is stored can't be read; enter it again", field=bad[0])
    for name in rule.entities:
        identifier("entities", name, "a name")
    for tag in rule.tags:
        plain("tags", tag)
    for field in ("regex_entities", "regex_tags"):
        for text in getattr(rule, field):
            _check_regex(field, text)
    for field in (f"{severity}_media" for severity in SEVERITIES):
        for name in getattr(rule, field):
            medium_name(field, name)
    _check_times(rule.time_restrictions)
    return replace(rule, entities=tuple(name.lower() for name in rule.entities))


def problems(rule: Rule) -> list[Refused]:
    """What keeps a rule from being stored, one for each of its fields that is not right."""
    found = []
    for field in (*_LISTS, "tags", "time_restrictions"):
        try:
            checked(Rule(id="r", contact_id="c", **{field: getattr(rule, field)}))
        except Refused as error:
            found.append(error)
    return found


def _check_times(restrictions: Iterable[dict[str, object]]) -> None:
    for restriction in restrictions:
        try:
            recurrence.parse(restriction)
        except Refused as error:
            raise Refused(str(error), field="time_restrictions") from error


def _check_regex(field: str, text: str) -> None:
    if len(text) > LONGEST_REGEX:
        raise Refused(
            f"an expression has {len(text)} characters; expected {LONGEST_REGEX} at most",
            field=field,
        )
    plain(field, text, "a regular expression")
    try:
        expressions.compiled(text)
    except Refused as error:
        reason = f"{_quoted(text)} is no regular expression: {error}"
        raise Refused(reason, field=field) from error


def describe(rule: Rule) -> str:
    """What the rule does, in one sentence."""
    bad = unreadable(rule)
    if bad:
        return f"Matches nothing, since its {_listed(bad, 'and')} can't be read."
    conditions = [
        *([f"the entity is {_listed(rule.entities, 'or')}"] if rule.entities else []),
        *(f"its name {_matching(text)}" for text in rule.regex_entities),
        *([f"the event is tagged {_listed(rule.tags, 'and')}"] if rule.tags else []),
        *(f"one of its tags {_matching(text)}" for text in rule.regex_tags),
    ]
    times = [_when(restriction) for restriction in rule.time_restrictions]
    which = _listed(conditions, "and") if conditions else "no specific rule matches"
    when = _listed(times, "or") if times else "at any time"
    outcome = ", ".join(_outcome(rule, severity) for severity in SEVERITIES)
    return f"If {which}, {when}: {outcome}."


def _matching(text: str) -> str:
    try:
        expressions.compiled(text)
    except Refused:
        return f"matches /{text}/, which is no expression and matches nothing"
    return f"matches /{text}/"


def _when(restriction: dict[str, object]) -> str:
    try:
        return recurrence.parse(restriction).describe()
    except Refused:
        return "at a time that can't be read, which is never"


def _outcome(rule: Rule, severity: str) -> str:
    if getattr(rule, f"{severity}_blackhole"):
        return f"{severity} is kept from the contact altogether"
    media = getattr(rule, f"{severity}_media")
    if set(KNOWN_MEDIA) <= set(media):
        return f"{severity} by every medium"
    return f"{severity} by {_listed(media, 'and')}" if media else f"{severity} is not told"


def _listed(words: Iterable[str], last: str) -> str:
    *most, final = words
    return f"{', '.join(most)} {last} {final}" if most else final


def general(contact_id: str, media: Iterable[str], rule_id: str) -> Rule:
    """What holds where no specific rule matches: all media, for what is critical or a warning."""
    every = tuple(dict.fromkeys([*KNOWN_MEDIA, *media]))
    return Rule(id=rule_id, contact_id=contact_id, warning_media=every, critical_media=every)


# KEYS[1] rule, KEYS[2] the contact's rules, KEYS[3] contact; ARGV[1] the rule's id, ARGV[2] the
# contact's, ARGV[3] how many words of fields and values follow that the rule has to have, -1 for
# whatever there is, then those, then fields and values as they are to be. Returns '' once stored,
# -1 where the rule is another, else the contact it belongs to, or 'no contact'.
_SAVE = Script("""
if redis.call('HEXISTS', KEYS[3], 'first_name') == 0 then return 'no contact' end
local owner = redis.call('HGET', KEYS[1], 'contact_id')
if owner and owner ~= '' and owner ~= ARGV[2] then return owner end
local count = tonumber(ARGV[3])
if count >= 0 and redis.call('HLEN', KEYS[1]) * 2 ~= count then return -1 end
for i = 4, 3 + count, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return -1 end
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 4 + math.max(count, 0)))
redis.call('SADD', KEYS[2], ARGV[1])
return ''
""")

# KEYS[1] rule; ARGV[1] its id, ARGV[2] what the keys of contacts' rules begin with.
# Returns whether there was one.
_REMOVE = Script("""
local owner = redis.call('HGET', KEYS[1], 'contact_id')
if owner then redis.call('SREM', ARGV[2] .. owner, ARGV[1]) end
return redis.call('DEL', KEYS[1])
""")

# KEYS[1] the contact's rules, KEYS[2] contact, KEYS[3] the new rule; ARGV[1] what keys of rules
# begin with, ARGV[2] the new rule's id, ARGV[3] how many rules were seen, ARGV[4…] their ids, then
# fields and values. Stores the new rule if the rules are still those that were seen, or else
# returns them, each an id and its hash. Where somebody left a key of a wrong type the new rule is
# not kept, and holds for once: nobody else is to wait for that.
_ENSURE = Script(
    READ
    + """
local rules, contact, new = unpack(KEYS)
local begin, count, seen = ARGV[1], tonumber(ARGV[3]), {}
for i = 1, count do seen[ARGV[3 + i]] = true end
local found, as_seen = {}, true
for _, id in ipairs(read('SMEMBERS', rules) or {}) do
  local hash = read('HGETALL', begin .. id) or {}
  if #hash > 0 then
    found[#found + 1] = {id, hash}
    as_seen = as_seen and seen[id]
  end
end
if not as_seen or #found ~= count then return found end
if read('HEXISTS', contact, 'first_name') == 1 and read('SADD', rules, ARGV[2]) then
  redis.call('HSET', new, unpack(ARGV, 4 + count))
end
return false
"""
)


async def find(store: Store, rule_id: str) -> Rule:
    return (await stamped(store, rule_id))[0]


Stamp = Mapping[bytes, bytes]


async def stamped(store: Store, rule_id: str) -> tuple[Rule, Stamp]:
    """A rule, and by what it is known again as long as nobody changes it."""
    raw = await store.call("HGETALL", Alerting(store.prefix).rule(rule_id))
    if not raw:
        raise NotFound(f"there is no rule {rule_id}")
    return replace(parse(raw), id=rule_id), raw


async def save(store: Store, rule: Rule, replaces: Stamp | None = None) -> None:
    """Stores a new rule, or one in place of its former self; Changed where that is not the one
    that it `replaces`."""
    rule, keys = checked(rule), Alerting(store.prefix)
    before = [word for pair in (replaces or {}).items() for word in pair]
    words: list[Argument] = [rule.id, rule.contact_id, -1 if replaces is None else len(before)]
    words += (*before, *_flat(rule))
    owner = await _SAVE(
        store,
        [keys.rule(rule.id), keys.rules(rule.contact_id), keys.contact(rule.contact_id)],
        words,
    )
    if owner == -1:
        raise Changed(f"rule {rule.id} was changed by somebody else meanwhile")
    if owner == b"no contact":
        raise NotFound(f"there is no contact {rule.contact_id}")
    if owner:
        belongs = f"the rule {rule.id} belongs to {owner.decode(errors='replace')}"
        raise Refused(belongs, field="contact_id")


async def remove(store: Store, rule_id: str) -> None:
    keys = Alerting(store.prefix)
    if not await _REMOVE(store, [keys.rule(rule_id)], [rule_id, keys.rules("")]):
        raise NotFound(f"there is no rule {rule_id}")


async def ensure_general(store: Store, contact: Contact) -> Contact:
    """The contact with a general rule, which is stored now where all its rules are specific.

    However many ask at once, one is stored.
    """
    keys = Alerting(store.prefix)
    seen = [rule.id.encode() for rule in contact.rules]
    while all(rule.is_specific for rule in contact.rules):
        new = general(contact.id, contact.media, ids.token())
        others = await _ENSURE(
            store,
            [keys.rules(contact.id), keys.contact(contact.id), keys.rule(new.id)],
            [keys.rule(""), new.id, len(seen), *seen, *_flat(new)],
        )
        if others is None:
            return replace(contact, rules=(*contact.rules, new))
        others.sort()
        seen = [rule_id for rule_id, _ in others]
        hashes = ((one, dict(zip(flat[::2], flat[1::2], strict=True))) for one, flat in others)
        contact = replace(contact, rules=owned(contact.id, hashes))
    return contact


def owned(
    contact_id: str, stored: Iterable[tuple[bytes, Mapping[bytes, bytes]]]
) -> tuple[Rule, ...]:
    """A contact's rules, by id and hash; an id that is no text is nobody's."""
    rules = []
    for raw, found in stored:
        with suppress(UnicodeDecodeError):
            rules.append(replace(parse(found), id=raw.decode(), contact_id=contact_id))
    return tuple(rules)


def _flat(rule: Rule) -> list[str]:
    return [text for pair in fields(rule).items() for text in pair]
