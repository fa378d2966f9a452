"""The options that follow the URL of a new crawl, as chat and the command line give them."""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from watchbell import units
from watchbell.archive.model import CrawlOptions, Grabber
from watchbell.errors import Refused

LONGEST_DELAY = 9_999_999
MOST_CONCURRENCY = 99
_LONGEST_TEXT = 2_000
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


class Options(Struct, frozen=True, kw_only=True):
    ignore_sets: tuple[str, ...] = ()
    """Beside `global`, which every crawl has."""
    no_offsite_links: bool = False
    user_agent: str = ""
    """The alias of a user agent."""
    pipeline: str = ""
    """The tag of the pipelines that may run it."""
    note: str = ""
    delay: int | None = None
    """Milliseconds between two requests of one downloader."""
    concurrency: int | None = None
    is_large: bool = False
    wants_video: bool = False
    """Asked for youtube-dl, which is refused."""
    grabber: Grabber = ""
    phantomjs_wait: float | None = None
    phantomjs_scroll: int | None = None
    no_phantomjs_smart_scroll: bool = False
    crawl: CrawlOptions = CrawlOptions()


class Option(Struct, frozen=True):
    field: str
    usage: str
    spellings: tuple[str, ...]
    read: Callable[[str], Any] | None
    """Reads the value; None for a switch."""
    value: Any = True
    """What a switch sets."""

    @property
    def name(self) -> str:
        return self.usage.partition("=")[0]


def split(text: str) -> list[str]:
    """Words as a shell splits them."""
    if len(text) > _LONGEST_TEXT:
        raise Refused(f"the options are longer than {_LONGEST_TEXT} characters")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Refused("a quotation mark is not closed in the options") from error


def parse(words: Sequence[str]) -> Options:
    """Both `--name=value` and `--name value`. Raises Refused for anything unknown."""
    options = Options()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, mark, value = word.partition("=")
        option = _BY_NAME.get(name)
        if option is None:
            raise Refused(f"{word!r} is no option; the options are: {', '.join(sorted(_USAGES))}")
        if option.read is None:
            if mark:
                raise Refused("takes no value", field=name)
            options = _set(options, option.field, option.value)
            continue
        if not mark:
            if not rest:
                raise Refused(f"the value is missing; the option is {option.usage}", field=name)
            value = rest.pop(0)
        try:
            options = _set(options, option.field, option.read(value))
        except Refused as error:
            raise Refused(error.reason, field=name) from error
    return options


def _set(options: Options, field: str, value: object) -> Options:
    if field.startswith("crawl."):
        part = replace(options.crawl, **{field.removeprefix("crawl."): value})
        return replace(options, crawl=part)
    return replace(options, **{field: value})


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    for name in names or ("",):
        _word(name)
    return names


def _word(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise Refused(f"expected a name of letters, digits and _.:-, not {text!r}")
    return text


def _text(text: str) -> str:
    return " ".join(text.split())


def _number(lowest: int, highest: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and lowest <= int(text[:18]) <= highest):
            raise Refused(f"expected a number from {lowest} to {highest}, not {text!r}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= 3_600:
        raise Refused(f"expected seconds from 0 to 3600, not {text!r}")
    return seconds


delay = _number(0, LONGEST_DELAY)
concurrency = _number(1, MOST_CONCURRENCY)
_urls = _number(1, 1_000_000_000)
_depth = _number(0, 100)
_times = _number(0, 10_000)

OPTIONS = [
    Option(
        "ignore_sets",
        "--ignore-sets=SET[,SET]",
        (
            "--ignoresets",
            "--ignore_sets",
            "--ignoreset",
            "--ignore-set",
            "--ignore_set",
            "--ig-set",
            "--igset",
        ),
        _names,
    ),
    Option(
        "no_offsite_links",
        "--no-offsite-links",
        ("--nooffsitelinks", "--no-offsite", "--nooffsite"),
        None,
    ),
    Option(
        "user_agent",
        "--user-agent-alias=ALIAS",
        ("--useragentalias", "--user-agent", "--useragent"),
        _word,
    ),
    Option("pipeline", "--pipeline=TAG", (), _word),
    Option("note", "--explain=TEXT", ("--reason",), _text),
    Option("delay", "--delay=MILLISECONDS", (), delay),
    Option("concurrency", "--concurrency=NUMBER", ("--concurrent",), concurrency),
    Option("is_large", "--large", (), None),
    Option("wants_video", "--youtube-dl", (), None),
    Option("grabber", "--browser", ("--phantomjs",), None, "phantomjs"),
    Option("phantomjs_wait", "--browser-wait=SECONDS", ("--phantomjs-wait",), _seconds),
    Option("phantomjs_scroll", "--browser-scroll=TIMES", ("--phantomjs-scroll",), _times),
    Option(
        "no_phantomjs_smart_scroll",
        "--no-smart-scroll",
        ("--no-phantomjs-smart-scroll",),
        None,
    ),
    Option("crawl.obeys_robots", "--robots", ("--obey-robots",), None),
    Option("crawl.dedups_before", "--dedup", (), None),
    Option("crawl.makes_wacz", "--wacz", (), None),
    Option("crawl.has_cookies", "--no-cookies", (), None, value=False),
    Option("crawl.most_bytes", "--max-size=SIZE", (), units.size),
    Option("crawl.most_urls", "--max-urls=NUMBER", (), _urls),
    Option("crawl.offsite_depth", "--offsite-depth=NUMBER", (), _depth),
]
_USAGES = [option.usage for option in OPTIONS if option.field != "wants_video"]
_BY_NAME = {name: option for option in OPTIONS for name in (option.name, *option.spellings)}
