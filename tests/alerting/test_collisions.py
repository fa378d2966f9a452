"""No key has two meanings: whatever names are legal, it is of one family."""

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbell.alerting import entities
from watchbell.alerting.event import from_fields, parse
from watchbell.alerting.keys import RESERVED_ENTITIES, RESERVED_MEDIA, Alerting
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.alerting.record_keys import CHECK_KEYS, CLASSES, Records, escaped, is_record
from watchbell.alerting.validation import medium_name
from watchbell.cli.keys import KEYSPACES
from watchbell.errors import Refused
from watchbell.ids import process_name
from watchbell.store.families import Channel, Family, Named

FAMILIES = [
    family
    for space in KEYSPACES
    for family in space.families()
    if not isinstance(family, Channel)  # a channel and a key never meet
]

# Words by which names could be taken for something else: what stands between parts of keys.
WORDS = sorted({word for f in FAMILIES for one in f.literals for word in one.split(":") if word})
STATES = ["ok", "warning", "critical", "unknown", "acknowledgement", "test_notifications"]
NAME = (
    st.sampled_from(WORDS)
    | st.sampled_from(STATES)
    | st.from_regex(r"[a-z0-9{}_. ]{1,6}", fullmatch=True)
)
COLONS = (
    st.lists(NAME | st.just("") | st.just("7"), min_size=1, max_size=6)
    .map(":".join)
    .filter(str.strip)
)
QUEUE = NAME.map(lambda name: "{" + re.sub("[{}]", "-", name) + "}")
HEX = "0123456789abcdef"


def is_entity(name: str) -> bool:
    fields = {"type": "service", "state": "ok", "entity": name, "check": "x"}
    return isinstance(from_fields(fields, 0), CheckEvent)


def is_medium(name: str) -> bool:
    try:
        return bool(medium_name("media", name))
    except Refused:
        return False


# How each part may look, and values of it; all else that people name has no colon in it.
LEGAL: dict[str, tuple[str, st.SearchStrategy[str]]] = {
    "ENTITY": (
        rf"(?!{{|(?:{'|'.join(RESERVED_ENTITIES)}):)[^:]+",
        NAME.map(str.lower).filter(is_entity),
    ),
    "CHECK": (".+", COLONS),
    "TAG": (".+", COLONS),
    "MEDIA": ("[a-z0-9_]+", NAME.filter(is_medium)),
    "TIMESTAMP": ("[0-9]+", st.integers(0, 99).map(str)),
    "YYYYMMDDHH": ("[0-9]{10}", st.from_regex("[0-9]{10}", fullmatch=True)),
    "DATE": ("[0-9]{8}", st.from_regex("[0-9]{8}", fullmatch=True)),
    "STATE": (f"(?:{'|'.join(STATES)})", st.sampled_from(STATES)),
    "PID": ("[0-9]+", st.integers(1, 99).map(str)),
    "KIND": ("(?:entity|check)_tag", st.sampled_from(["entity_tag", "check_tag"])),
    "IDENT": ("[a-z0-9]{20,}", st.text(HEX, min_size=20, max_size=25)),
    "PIPELINE_ID": ("[0-9a-f]+", st.text(HEX, min_size=1)),
    "QUEUE": (r"\{[^{}]+\}", QUEUE),
    "LANE": ("[0-9a-f]+", st.text(HEX, min_size=16, max_size=16)),
    "LANE_CHECK": ("[0-9a-f]+-[0-9a-f]+", st.just("0123456789abcdef-fedcba9876543210")),
    "MESSAGE": ("[0-9a-f]+", st.text(HEX, min_size=16, max_size=16)),
    "LOCK": (r"\{[^{}]+\}(?::locks:.+)?", st.just("{purging}") | st.just("{cronken}:locks:a")),
    "RECORD_ID": ("[0-9a-f]{32}", st.text(HEX, min_size=32, max_size=32)),
    "INDEXED": ("[^: ]+", COLONS.map(escaped)),
    "BOOLEAN": ("(?:true|false)", st.sampled_from(["true", "false"])),
    "CLASS": (f"(?:{'|'.join(CLASSES)})", st.sampled_from(CLASSES)),
    "TAKER": (r"[^:]+\.[0-9]+\.[0-9a-f]{8}", st.just(process_name())),
    "<run_id>": ("[0-9a-f]{32}", st.text(HEX, min_size=32, max_size=32)),
    "<job_name>": (".+", COLONS),
    "<success/fail>": ("(?:success|fail)", st.sampled_from(["success", "fail"])),
    "<sha1_of_lock_name>": ("[0-9a-f]{40}", st.text(HEX, min_size=40, max_size=40)),
}
PLAIN = ("[^:]+", NAME)

# Queues of media that have families of their own, and what holds alerts back: of the check `a` in
# the state `critical`, or, where an operator wrote it, of a check called `a:critical`.
TOGETHER: list[set[Family]] = [
    {Alerting.queue, Alerting.jabber_queue, Alerting.pagerduty_queue},
    {Alerting.check_drop, Alerting.state_drop},
]


def expression(family: Family) -> str:
    """What all keys of the family look like that are made of legal names."""
    return re.escape(family.literals[0]) + "".join(
        f"(?:{LEGAL.get(part, PLAIN)[0]}){re.escape(literal)}"
        for part, literal in zip(family.parts, family.literals[1:], strict=True)
    )


EXPRESSIONS = {family: re.compile(expression(family), re.DOTALL) for family in FAMILIES}
EXPRESSIONS[Alerting.queue] = re.compile(
    rf"(?!(?:{'|'.join(RESERVED_MEDIA)})_notifications\Z){expression(Alerting.queue)}"
)

EXPRESSIONS[Alerting.current] = re.compile(
    rf"(?!check:[0-9a-f]{{32}}:(?:{'|'.join(CHECK_KEYS)})\Z){expression(Alerting.current)}",
    re.DOTALL,
)


@settings(max_examples=40, deadline=None)
@given(st.data())
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.pattern)
def test_a_key_of_legal_names_is_of_one_family(family: Family, data: st.DataObject) -> None:
    parts = data.draw(st.tuples(*(LEGAL.get(part, PLAIN)[1] for part in family.parts)))
    key = Named(family, "")(*parts)
    assert EXPRESSIONS[family].fullmatch(key)
    also = {other for other in FAMILIES if EXPRESSIONS[other].fullmatch(key)}
    alike = {other for other in also if other.pattern != family.pattern}  # one or the other is used
    assert not alike or any(alike | {family} <= together for together in TOGETHER)


@pytest.mark.parametrize("word", ["{cronken}", "{}", "{", *sorted(RESERVED_ENTITIES)])
def test_an_entity_is_not_called_as_keys_begin(word: str) -> None:
    fields = {"type": "service", "state": "ok", "entity": word.title(), "check": "a"}
    rejection = from_fields(fields, 0)
    assert isinstance(rejection, Rejection)
    assert rejection.reason.startswith(f"entity is {word.title()!r}; expected a name that no other")
    with pytest.raises(Refused, match=f"^name: {word!r} is not allowed; expected a name that no"):
        entities.named(word.upper())


@pytest.mark.parametrize(
    "name",
    ["checks", "events", "pipeline", "tweets", "all", "gateway", "check-1", "}", "x{cronken}"],
)
def test_what_only_looks_like_it_is_a_name_of_an_entity(name: str) -> None:
    assert is_entity(name)
    assert entities.named(name) == name


def test_without_the_reserved_names_keys_would_have_two_meanings() -> None:
    keys = Alerting()
    assert keys.states("check", "friend:http") == keys.current("friend", "http:states")
    assert keys.states("check_tag", "eu") == keys.check_tag("eu:states")
    assert keys.tests("drop_alerts_for_contact", "7:sms:web:http") == keys.state_drop(
        "7", "sms", "web", "http", "test_notifications"
    )


def test_every_reserved_name_begins_the_keys_of_a_family() -> None:
    begins = {family.literals[0].partition(":")[0] for family in FAMILIES}
    assert begins > RESERVED_ENTITIES
    assert {"check", "contact", "decisions", "alerting_media", "all_checks"} <= RESERVED_ENTITIES


@pytest.mark.parametrize("name", sorted(RESERVED_MEDIA))
def test_a_medium_is_not_called_so_that_its_queue_is_another_list(name: str) -> None:
    assert Alerting().queue(name) in {family.pattern for family in FAMILIES}
    with pytest.raises(Refused, match=f"^media: '{name}' is not allowed; expected a medium whose"):
        medium_name("media", name)


@pytest.mark.parametrize("check", sorted(CHECK_KEYS))
def test_a_check_is_not_called_so_that_its_key_is_a_record(check: str) -> None:
    entity = "0af1" * 8
    fields = {"type": "service", "state": "ok", "entity": entity.upper(), "check": check}
    rejection = from_fields(fields, 0)
    assert isinstance(rejection, Rejection)
    assert rejection.reason == f"check is {check!r}; expected a name that no record has"
    assert parse(msgspec.json.encode(fields), 0) == rejection
    assert Alerting().current(entity, check).startswith(Records().check(entity)[: -len("attrs")])


@pytest.mark.parametrize(
    ("entity", "check"), [("0af1" * 8, "attr"), ("0af1" * 7, "attrs"), ("web-" * 8, "attrs")]
)
def test_what_only_looks_like_a_record_is_a_check(entity: str, check: str) -> None:
    fields = {"type": "service", "state": "ok", "entity": entity, "check": check}
    assert isinstance(from_fields(fields, 0), CheckEvent)
    assert isinstance(parse(msgspec.json.encode(fields), 0), CheckEvent)
    assert not is_record(entity, check)
