"""How the archive's commands are written: a line becomes a command, or a hint at the right form."""

import re
from collections.abc import Callable
from typing import NamedTuple

from watchbell.archive import idents, ignores, options
from watchbell.archive.commands import (
    Abort,
    AddIgnoreSets,
    Archive,
    Cheer,
    Command,
    Expire,
    Explain,
    FindUrl,
    Help,
    Hint,
    Hurry,
    Ignore,
    ListPipelines,
    Locate,
    Pause,
    ReportIgnores,
    Resume,
    SetConcurrency,
    SetDelay,
    SetNote,
    ShowCounts,
    ShowCrawl,
    ShowPending,
    Unignore,
)
from watchbell.archive.model import Depth
from watchbell.errors import Refused

_LONGEST = 4_000
_LONGEST_NOTE = 500


class Form(NamedTuple):
    """How a command is written, and what it becomes."""

    usage: str
    does: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    made: Callable[[re.Match[str]], Command]


def parse(text: str) -> Command | None:
    """The command; None for a line that is none of ours, so that talk and the commands of other
    bots get no answer."""
    word, *tail = text[:_LONGEST].split(maxsplit=1) or [""]
    forms = _BY_WORD.get(word.lower())
    if forms is None:
        return None
    rest = tail[0].strip() if tail else ""
    for form in forms:
        if found := form.pattern.fullmatch(rest):
            try:
                return form.made(found)
            except Refused as error:
                return Hint(f"{error}. The command is: {form.usage}")
    usages = dict.fromkeys(form.usage for form in forms)
    return Hint(f"Expected: {' or '.join(usages)}")


def _archive(depth: Depth, *, is_list: bool) -> Callable[[re.Match[str]], Command]:
    def made(found: re.Match[str]) -> Command:
        return Archive(found[1], (found[2] or "").strip(), depth, is_list)

    return made


def _of_crawl(kind: Callable[[str], Command]) -> Callable[[re.Match[str]], Command]:
    return lambda found: kind(_ident(found[1]))


def _ident(text: str) -> str:
    if not idents.is_ident(text.lower()):
        raise Refused(f"{text!r} is no ident; those have up to 25 letters and digits")
    return text.lower()


def _ignore(found: re.Match[str]) -> Command:
    ident = _ident(found[1])
    ignores.check(found[2])
    return Ignore(ident, found[2])


def _ignore_sets(found: re.Match[str]) -> Command:
    names = tuple(name for name in re.split(r"[,\s]+", found[2]) if name)
    return AddIgnoreSets(_ident(found[1]), names)


def _reports(found: re.Match[str]) -> Command:
    return ReportIgnores(_ident(found[1]), found[2].lower() == "on")


def _delay(found: re.Match[str]) -> Command:
    ident = _ident(found[1])
    low, high = options.delay(found[2]), options.delay(found[3])
    if low > high:
        raise Refused(f"the first delay, {low}, is longer than the second, {high}")
    return SetDelay(ident, low, high)


def _concurrency(found: re.Match[str]) -> Command:
    return SetConcurrency(_ident(found[1]), options.concurrency(found[2]))


def _note(found: re.Match[str]) -> Command:
    return SetNote(_ident(found[1]), " ".join(found[2].split())[:_LONGEST_NOTE])


def _form(
    usage: str,
    does: str,
    pattern: str,
    made: Callable[[re.Match[str]], Command],
    *aliases: str,
) -> Form:
    words = (usage.split(maxsplit=1)[0], *aliases)
    spaced = pattern.replace(" ", r"\s+")
    return Form(usage, does, words, re.compile(spaced, re.IGNORECASE | re.DOTALL), made)


_URL = r"([^\s<]\S*)(?:\s(.*))?"
_LIST = r"<\s*([^\s<]\S*)(?:\s(.*))?"
_ONE = r"(\S+)"
_TWO = r"(\S+) (\S+)"
FORMS = [
    _form(
        "!archive < URL [OPTIONS]",
        "crawl the sites of all URLs of a list",
        _LIST,
        _archive("inf", is_list=True),
        "!a",
    ),
    _form(
        "!archive URL [OPTIONS]",
        "crawl a site",
        _URL,
        _archive("inf", is_list=False),
        "!a",
    ),
    _form(
        "!archiveonly < URL [OPTIONS]",
        "archive all pages of a list, with what they need",
        _LIST,
        _archive("shallow", is_list=True),
        "!ao",
    ),
    _form(
        "!archiveonly URL [OPTIONS]",
        "archive one page, with what it needs",
        _URL,
        _archive("shallow", is_list=False),
        "!ao",
    ),
    _form("!status", "count crawls", "", lambda _: ShowCounts()),
    _form(
        "!status URL",
        "show the crawl of a URL",
        r"([a-z][a-z0-9+.-]*://\S+)",
        lambda found: FindUrl(found[1]),
    ),
    _form("!status IDENT", "show a crawl", _ONE, _of_crawl(ShowCrawl)),
    _form("!pending", "list crawls that wait", "", lambda _: ShowPending()),
    _form("!whereis IDENT", "find a crawl's pipeline", _ONE, _of_crawl(Locate), "!w"),
    _form("!ignore IDENT REGEX", "skip URLs", _TWO, _ignore, "!ig"),
    _form(
        "!unignore IDENT REGEX",
        "remove an ignore pattern",
        _TWO,
        lambda found: Unignore(_ident(found[1]), found[2]),
        "!unig",
        "!ug",
    ),
    _form(
        "!ignoreset IDENT SET[,SET]",
        "add the patterns of ignore sets",
        r"(\S+) ([\w.,:\s-]*[\w.:-][\w.,:\s-]*)",
        _ignore_sets,
        "!igset",
    ),
    _form(
        "!igon IDENT",
        "log ignored URLs",
        _ONE,
        lambda found: ReportIgnores(_ident(found[1]), is_on=True),
    ),
    _form(
        "!igoff IDENT",
        "log ignored URLs no more",
        _ONE,
        lambda found: ReportIgnores(_ident(found[1]), is_on=False),
    ),
    _form(
        "!ignorereports IDENT on|off",
        "log ignored URLs, or not",
        r"(\S+) (on|off)",
        _reports,
        "!igrep",
    ),
    _form(
        "!delay IDENT MIN MAX",
        "set the milliseconds between requests",
        r"(\S+) (\S+) (\S+)",
        _delay,
        "!d",
    ),
    _form(
        "!concurrency IDENT NUMBER",
        "set the number of downloaders",
        _TWO,
        _concurrency,
        "!concurrent",
        "!con",
    ),
    _form("!yahoo IDENT", "crawl as fast as is decent", _ONE, _of_crawl(Hurry)),
    _form(
        "!explain IDENT TEXT",
        "note why the crawl was started",
        r"(\S+) (\S.*)",
        _note,
        "!reason",
        "!ex",
    ),
    _form(
        "!explain IDENT",
        "say why the crawl is in its state",
        _ONE,
        _of_crawl(Explain),
        "!reason",
        "!ex",
    ),
    _form("!abort IDENT", "end a crawl", _ONE, _of_crawl(Abort)),
    _form("!pause IDENT", "pause a crawl", _ONE, _of_crawl(Pause)),
    _form("!resume IDENT", "continue a paused crawl", _ONE, _of_crawl(Resume)),
    _form(
        "!expire IDENT",
        "forget an ended crawl, so that it can be archived again",
        _ONE,
        _of_crawl(Expire),
    ),
    _form("!pipelines", "list pipelines", "", lambda _: ListPipelines()),
    _form("!stanbush NICK", "cheer", r"(\S+)", lambda found: Cheer(found[1])),
    _form("!help", "show this help", r".*", lambda _: Help()),
]
_BY_WORD: dict[str, list[Form]] = {}
for _each in FORMS:
    for _word in _each.words:
        _BY_WORD.setdefault(_word, []).append(_each)
