"""Whether a new crawl is queued: the checks that it has to pass, in their order."""

from collections.abc import Container
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from watchbell.archive import idents, options, phrases
from watchbell.archive.commands import Archive, Rank, who_may
from watchbell.archive.model import Depth
from watchbell.archive.options import Options
from watchbell.archive.slugs import slug_of
from watchbell.archive.urls import FETCHED, normalised, scheme_of
from watchbell.errors import Refused

MOST_PENDING = 5
"""Crawls in `pending` from which on only operators may add a site."""


class Facts(NamedTuple):
    """What the store and the settings know."""

    pending: int
    """Crawls in `pending`."""
    exists: bool
    """Whether there is a crawl with the ident of this URL, ended or not."""
    user_agents: Container[str]
    """Known aliases, in lower case."""
    ignore_sets: Container[str]
    """Known names."""


class Admission(Struct, frozen=True, kw_only=True):
    """A crawl that may be queued."""

    ident: str
    url: str
    depth: Depth
    is_list: bool
    slug: str
    options: Options
    notices: tuple[str, ...] = ()
    """Parts of the request that are left out, in words."""


class Denial(Struct, frozen=True):
    """Why it is not. `code` is for programs."""

    code: str
    reason: str


def ident_for(command: Archive) -> str:
    """What `Facts.exists` is about; empty if the URL is none."""
    return idents.ident_of(command.url) if _is_url(command.url) else ""


def judge(command: Archive, rank: Rank, facts: Facts) -> Admission | Denial:
    if rank < who_may(command):
        return Denial("rank", phrases.not_allowed(who_may(command)))
    if command.depth == "inf" and facts.pending >= MOST_PENDING and rank < Rank.OP:
        return Denial("busy", phrases.too_many_pending(facts.pending))
    if not _is_url(command.url):
        return Denial("url", phrases.no_url(command.url))
    if facts.exists:
        return Denial("exists", phrases.exists(command.url, ident_for(command)))
    try:
        wanted = options.parse(options.split(command.options))
    except Refused as error:
        return Denial("options", str(error))
    return _refusal(command, wanted, facts) or _admitted(command, wanted, rank, facts)


def _is_url(text: str) -> bool:
    return normalised(text) is not None


def _refusal(command: Archive, wanted: Options, facts: Facts) -> Denial | None:
    if wanted.wants_video:
        return Denial("youtube-dl", "--youtube-dl is not supported.")
    if wanted.is_large and wanted.pipeline:
        return Denial("large", "--large and --pipeline exclude each other: both name a queue.")
    if wanted.is_large and command.depth == "shallow":
        return Denial("large", "--large is for sites, not for single pages.")
    scheme = scheme_of(idents.canonical(command.url))
    if scheme not in FETCHED:
        return Denial("scheme", phrases.not_fetched(scheme))
    if wanted.user_agent and wanted.user_agent.lower() not in facts.user_agents:
        return Denial("user-agent", phrases.unknown_user_agent(wanted.user_agent))
    return None


def _admitted(command: Archive, wanted: Options, rank: Rank, facts: Facts) -> Admission:
    notices = []
    if rank < Rank.VOICE and (wanted.delay, wanted.concurrency) != (None, None):
        notices.append(phrases.pace_left_out())
        wanted = replace(wanted, delay=None, concurrency=None)
    unknown = [name for name in wanted.ignore_sets if name not in facts.ignore_sets]
    if unknown:
        notices.append(phrases.unknown_ignore_sets(unknown))
        known = tuple(name for name in wanted.ignore_sets if name in facts.ignore_sets)
        wanted = replace(wanted, ignore_sets=known)
    url = idents.canonical(command.url)
    return Admission(
        ident=idents.ident_of(url),
        url=url,
        depth=command.depth,
        is_list=command.is_list,
        slug=slug_of(url, command.depth, is_list=command.is_list),
        options=wanted,
        notices=tuple(notices),
    )
