"""The commands of the chat: a line becomes a command, or a hint at the right one."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct

from watchbell.alerting.model import split_id
from watchbell.errors import Refused
from watchbell.schedule import spoken

ACKNOWLEDGED = 4 * 3600
"""Seconds that one acknowledgement lasts."""
IN_BULK = 3600
"""Seconds of acknowledgements and maintenance of many checks at once."""
_LONGEST = 4_000
_LONGEST_COMMENT = 500


class Which(Struct, frozen=True):
    """Checks, by names with * and ? or by /expressions/."""

    entity: str
    check: str = "*"

    @property
    def pattern(self) -> str:
        """As `alerting.patterns` reads it."""
        return f"{self.entity}:{self.check}"


class Acknowledge(Struct, frozen=True):
    short_id: str
    comment: str
    duration: int = ACKNOWLEDGED


class AcknowledgeMany(Struct, frozen=True):
    which: Which
    comment: str = ""
    duration: int = IN_BULK


class Maintain(Struct, frozen=True):
    which: Which
    start: int
    comment: str = ""
    duration: int = IN_BULK


class ShowStatus(Struct, frozen=True):
    which: Which


class FindEntities(Struct, frozen=True):
    entity: str


class FindChecks(Struct, frozen=True):
    which: Which


class TryNotifications(Struct, frozen=True):
    entity: str
    check: str


class TellAbout(Struct, frozen=True):
    entity: str
    check: str = ""


class Identify(Struct, frozen=True):
    pass


class Help(Struct, frozen=True):
    pass


class Hint(Struct, frozen=True):
    """The answer to a line that is no command."""

    text: str


Command = (
    Acknowledge
    | AcknowledgeMany
    | Maintain
    | ShowStatus
    | FindEntities
    | FindChecks
    | TryNotifications
    | TellAbout
    | Identify
    | Help
    | Hint
)


class Remarks(NamedTuple):
    """What follows a command: a comment, the start and the duration."""

    comment: str
    start: int
    duration: int | None


class Form(NamedTuple):
    """How a command is written."""

    usage: str
    does: str
    pattern: re.Pattern[str]
    made: Callable[[re.Match[str], int, ZoneInfo], Command]


_EXPRESSION = r"/(?:\\.|[^/\\])+/"
_ENTITY = rf"({_EXPRESSION}|[^\s/:][^\s:]*)"
_CHECK = rf"({_EXPRESSION}|[^\s/]\S*)"
_NAME = r"([^\s:/][^:]*?(?::.*)?)"
_OPTION = re.compile(r"(?:^|(?<=\s))(duration|start[ -]?in|start[ -]?at)\s*:", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)|/", re.DOTALL)


def parse(text: str, now: int, zone: ZoneInfo) -> Command:
    line = " ".join(text[:_LONGEST].splitlines()).strip()
    for form in FORMS:
        if found := form.pattern.fullmatch(line):
            try:
                return form.made(found, now, zone)
            except Refused as error:
                return Hint(f"{error}. The command is: {form.usage}")
    return _hint(line)


def addressed(text: str, names: Iterable[str]) -> str | None:
    """The text after one of the names, as in `name: …`, `name, …` or `@name …`; None where it is
    addressed to somebody else or to nobody."""
    text = text.strip()
    at = text.startswith("@")
    for name in names:
        head, rest = text[at : at + len(name)], text[at + len(name) :].lstrip()
        ends_there = at and text[at + len(name) : at + len(name) + 1].strip() == ""
        if name and head.casefold() == name.casefold() and (rest[:1] in set(":,") or ends_there):
            return rest.lstrip(":,").strip()
    return None


def _remarks(text: str, now: int, zone: ZoneInfo) -> Remarks:
    comment, *parts = _OPTION.split(text)
    given: dict[str, str] = {}
    for option, value in zip(parts[::2], parts[1::2], strict=True):
        name = option.lower().replace(" ", "").replace("-", "")
        if name in given:
            raise Refused("given twice", field=option)
        given[name] = value.strip().rstrip(",;")
    if "startin" in given and "startat" in given:
        raise Refused("start-in and start-at exclude each other")
    start = now
    if "startin" in given:
        start = now + spoken.duration(given["startin"])
    elif "startat" in given:
        start = spoken.moment(given["startat"], now, zone)
    duration = spoken.duration(given["duration"]) if "duration" in given else None
    if duration == 0:
        raise Refused("expected at least one second", field="duration")
    plain = " ".join(comment.strip(" ,;:-").split())
    return Remarks(plain[:_LONGEST_COMMENT], start, duration)


def _acknowledge(found: re.Match[str], now: int, zone: ZoneInfo) -> Command:
    remarks = _remarks(found[2] or "", now, zone)
    if not remarks.comment:
        raise Refused("the comment is missing; others read it to learn what you know")
    return Acknowledge(found[1].lower(), remarks.comment, remarks.duration or ACKNOWLEDGED)


def _acknowledge_many(found: re.Match[str], now: int, zone: ZoneInfo) -> Command:
    *names, rest = found.groups("")
    remarks = _remarks(rest, now, zone)
    if remarks.start != now:
        raise Refused("an acknowledgement starts at once; only maintenance can be scheduled")
    return AcknowledgeMany(_which(names), remarks.comment, remarks.duration or IN_BULK)


def _maintain(found: re.Match[str], now: int, zone: ZoneInfo) -> Command:
    *names, rest = found.groups("")
    remarks = _remarks(rest, now, zone)
    return Maintain(_which(names), remarks.start, remarks.comment, remarks.duration or IN_BULK)


def _status(found: re.Match[str], _: int, __: ZoneInfo) -> Command:
    return ShowStatus(_which(found.groups("")))


def _find_entities(found: re.Match[str], _: int, __: ZoneInfo) -> Command:
    return FindEntities(_sealed(found[1]))


def _find_checks(found: re.Match[str], _: int, __: ZoneInfo) -> Command:
    return FindChecks(_which([found[1] or "*", found[2]]))


def _try_notifications(found: re.Match[str], _: int, __: ZoneInfo) -> Command:
    entity, check = split_id(found[1])
    return TryNotifications(entity.strip().lower(), check.strip() or "test")


def _tell_about(found: re.Match[str], _: int, __: ZoneInfo) -> Command:
    entity, check = split_id(found[1].rstrip("?"))
    return TellAbout(entity.strip().lower(), check.strip())


def _which(names: Sequence[str]) -> Which:
    """Of an entity, or of a check and its entity."""
    *check, entity = map(_sealed, names)
    return Which(entity, *check)


def _sealed(name: str) -> str:
    """An expression with the slashes inside it escaped, so that it is not read as two."""
    if not re.fullmatch(_EXPRESSION, name):
        return name

    def plain(found: re.Match[str]) -> str:
        return r"\x2f" if found[0] in ("/", r"\/") else found[0]

    return f"/{_ESCAPED.sub(plain, name[1:-1])}/"


def _form(
    usage: str, does: str, pattern: str, made: Callable[[re.Match[str], int, ZoneInfo], Command]
) -> Form:
    spaced = pattern.replace(" ", r"\s+")
    return Form(usage, does, re.compile(spaced, re.IGNORECASE | re.DOTALL), made)


_REST = r"(?:\s(.*))?"
FORMS = [
    _form(
        "ACKID <id> <comment> [duration: <length>]",
        "acknowledge the failure with this id, for 4 hours by default",
        rf"ack(?:id)? ([0-9a-f]{{4,40}})[,:]?{_REST}",
        _acknowledge,
    ),
    _form(
        "ack entities /<expression>/ [<comment>] [duration: <length>]",
        "acknowledge all failures of these entities, for 1 hour",
        rf"ack entities (?:matching )?{_ENTITY}{_REST}",
        _acknowledge_many,
    ),
    _form(
        "ack checks /<expression>/ on /<expression>/ [<comment>] [duration: <length>]",
        "acknowledge the failures of these checks of these entities, for 1 hour",
        rf"ack checks (?:matching )?{_CHECK} on {_ENTITY}{_REST}",
        _acknowledge_many,
    ),
    _form(
        "maint entities /<expression>/ [<comment>] [start-in: <length>|start-at: <time>] "
        "[duration: <length>]",
        "schedule maintenance of these entities, from now on for 1 hour by default",
        rf"maint(?:enance)? entities (?:matching )?{_ENTITY}{_REST}",
        _maintain,
    ),
    _form(
        "maint checks /<expression>/ on /<expression>/ [<comment>] "
        "[start-in: <length>|start-at: <time>] [duration: <length>]",
        "schedule maintenance of these checks of these entities",
        rf"maint(?:enance)? checks (?:matching )?{_CHECK} on {_ENTITY}{_REST}",
        _maintain,
    ),
    _form(
        "status entities /<expression>/",
        "show the state of all checks of these entities",
        rf"status entities (?:matching )?{_ENTITY}",
        _status,
    ),
    _form(
        "status checks /<expression>/ on /<expression>/",
        "show the state of these checks of these entities",
        rf"status checks (?:matching )?{_CHECK} on {_ENTITY}",
        _status,
    ),
    _form(
        "find entities matching /<expression>/",
        "list entities by their names",
        rf"find entities (?:matching )?{_ENTITY}",
        _find_entities,
    ),
    _form(
        "find checks [matching /<expression>/] on <entity>|entities matching /<expression>/",
        "list checks by their names",
        rf"find checks (?:matching {_CHECK} )?on (?:entities matching )?{_ENTITY}",
        _find_checks,
    ),
    _form(
        "test notifications for <entity>[:<check>]",
        "send a test alert to everybody who would be notified",
        rf"test notifications for {_NAME}",
        _try_notifications,
    ),
    _form(
        "tell me about <entity>[:<check>]",
        "show everything about it",
        rf"tell me about {_NAME}",
        _tell_about,
    ),
    _form("identify", "show my name and version", r"identify\W*", lambda *_: Identify()),
    _form("help", "show this help", r"help\W*|\?", lambda *_: Help()),
]


def _hint(line: str) -> Hint:
    """Suggests the most similar command by its first words."""
    if not line:
        return Hint('Yes? Say "help" to see what I understand.')

    def likeness(form: Form) -> float:
        words = re.split(r"[/<\[]", form.usage)[0].lower().split()
        begin = " ".join(line.lower().split()[: len(words)])
        return SequenceMatcher(None, " ".join(words), begin[:60]).ratio()

    near = max(FORMS, key=likeness)
    suggestion = f"Did you mean: {near.usage} ? " if likeness(near) > 0.6 else ""
    return Hint(f'I don\'t understand that. {suggestion}Say "help" to see what I understand.')
