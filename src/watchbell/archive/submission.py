"""Queues a new crawl on behalf of a person, if it passes the checks."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from watchbell.archive import admission, crawls, idents
from watchbell.archive.admission import Admission, Denial, Facts
from watchbell.archive.commands import Archive, Rank
from watchbell.archive.crawls import Added, NewCrawl
from watchbell.archive.fetching.user_agents import ALIASES
from watchbell.archive.keys import Archive as Keys
from watchbell.archive.model import CrawlSettings
from watchbell.archive.options import Options
from watchbell.archive.queues import PENDING, PENDING_AO, PENDING_LARGE
from watchbell.archive.urls import scheme_of
from watchbell.store.client import Store

GLOBAL = "global"
"""The ignore set that every crawl has."""
_FIRST_AGE = 4


class Starter(Struct, frozen=True):
    name: str
    place: str = ""
    """The channel where it was asked for, or another word for where."""
    rank: Rank = Rank.OP


class Submitted(Struct, frozen=True):
    added: Added
    notices: tuple[str, ...]
    """Parts of the request that were left out, in words."""


async def submit(
    store: Store,
    command: Archive,
    by: Starter,
    ignore_sets: Mapping[str, Iterable[str]],
    *,
    now: float,
    token: str,
    list_name: str = "",
) -> Submitted | Denial:
    """`ignore_sets` has the patterns of each known set. `list_name` is the object in `files` with
    the list of URLs, where somebody uploaded one."""
    verdict = admission.judge(command, by.rank, await _facts(store, command, ignore_sets))
    if isinstance(verdict, Denial):
        return verdict
    added = await crawls.add(store, new_crawl(verdict, by, ignore_sets, list_name), now, token)
    return Submitted(added, verdict.notices)


async def _facts(store: Store, command: Archive, ignore_sets: Mapping[str, Iterable[str]]) -> Facts:
    ident = admission.ident_for(command)
    known = await crawls.find(store, idents.spellings(ident)) if ident else []
    return Facts(
        pending=await store.call("LLEN", Keys(store.prefix).pending()),
        exists=any(one is not None for one in known),
        user_agents=ALIASES,
        ignore_sets=ignore_sets,
    )


def new_crawl(
    admitted: Admission,
    by: Starter,
    ignore_sets: Mapping[str, Iterable[str]],
    list_name: str = "",
) -> NewCrawl:
    wanted = admitted.options
    return NewCrawl(
        ident=admitted.ident,
        url=admitted.url,
        slug=admitted.slug,
        queue=_queue(admitted),
        fetch_depth=admitted.depth,
        url_file=admitted.url if admitted.is_list and not list_name else "",
        note=wanted.note,
        started_by=by.name,
        started_in=by.place,
        user_agent=ALIASES[wanted.user_agent.lower()] if wanted.user_agent else "",
        no_offsite_links=wanted.no_offsite_links,
        grabber=wanted.grabber,
        phantomjs_wait=wanted.phantomjs_wait,
        phantomjs_scroll=wanted.phantomjs_scroll,
        no_phantomjs_smart_scroll=wanted.no_phantomjs_smart_scroll,
        settings=_settings(admitted.url, wanted, ignore_sets),
        options=replace(wanted.crawl, list_name=list_name),
    )


def _queue(admitted: Admission) -> str:
    wanted = admitted.options
    if wanted.is_large:
        return PENDING_LARGE
    if wanted.pipeline:
        return f"{PENDING}:{wanted.pipeline}"
    return PENDING_AO if admitted.depth == "shallow" else PENDING


def _settings(url: str, wanted: Options, ignore_sets: Mapping[str, Iterable[str]]) -> CrawlSettings:
    """Upstream's bot changes the settings once for each of these options."""
    usual = CrawlSettings()
    workers = 1 if scheme_of(url) == "ftp" else usual.concurrency
    patterns = [ignore_sets.get(name, ()) for name in (GLOBAL, *wanted.ignore_sets)]
    changes = (wanted.delay is not None, wanted.concurrency is not None, bool(wanted.ignore_sets))
    return CrawlSettings(
        age=_FIRST_AGE + sum(changes),
        delay_min=usual.delay_min if wanted.delay is None else wanted.delay,
        delay_max=usual.delay_max if wanted.delay is None else wanted.delay,
        concurrency=wanted.concurrency or workers,
        ignores=frozenset[str]().union(*patterns),
    )
