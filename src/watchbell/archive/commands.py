"""The commands that people give the archive in chat, and who may give them."""

from enum import IntEnum
from typing import ClassVar

from msgspec import Struct

from watchbell.archive.model import Depth


class Rank(IntEnum):
    """What a person may do in a channel."""

    ALL = 0
    VOICE = 1
    OP = 2


class Archive(Struct, frozen=True):
    """A new crawl. Its URL and options are judged in `admission`, in order."""

    url: str
    options: str = ""
    depth: Depth = "inf"
    is_list: bool = False


class ShowCounts(Struct, frozen=True):
    pass


class ShowCrawl(Struct, frozen=True):
    ident: str


class FindUrl(Struct, frozen=True):
    """Whether there is a crawl of this URL."""

    url: str


class ShowPending(Struct, frozen=True):
    pass


class Locate(Struct, frozen=True):
    """Which pipeline runs a crawl, or in which queue it waits."""

    ident: str


class Ignore(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str
    pattern: str


class Unignore(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str
    pattern: str


class AddIgnoreSets(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str
    names: tuple[str, ...]


class ReportIgnores(Struct, frozen=True):
    ident: str
    is_on: bool


class SetDelay(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str
    delay_min: int
    delay_max: int


class SetConcurrency(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str
    concurrency: int


class Hurry(Struct, frozen=True):
    """No delay, four downloaders."""

    who: ClassVar[Rank] = Rank.VOICE
    ident: str


class SetNote(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str
    note: str


class Explain(Struct, frozen=True):
    """Why a crawl is in its state."""

    ident: str


class Abort(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str


class Pause(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str


class Resume(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.VOICE
    ident: str


class Expire(Struct, frozen=True):
    who: ClassVar[Rank] = Rank.OP
    ident: str


class ListPipelines(Struct, frozen=True):
    pass


class Cheer(Struct, frozen=True):
    nick: str


class Help(Struct, frozen=True):
    pass


class Hint(Struct, frozen=True):
    """The answer to a command that is written wrongly."""

    text: str


Command = (
    Archive
    | ShowCounts
    | ShowCrawl
    | FindUrl
    | ShowPending
    | Locate
    | Ignore
    | Unignore
    | AddIgnoreSets
    | ReportIgnores
    | SetDelay
    | SetConcurrency
    | Hurry
    | SetNote
    | Explain
    | Abort
    | Pause
    | Resume
    | Expire
    | ListPipelines
    | Cheer
    | Help
    | Hint
)


def who_may(command: Command) -> Rank:
    """The lowest rank that may give the command."""
    if isinstance(command, Archive):
        if command.depth == "shallow":
            return Rank.ALL
        return Rank.OP if command.is_list else Rank.VOICE
    return getattr(command, "who", Rank.ALL)
