"""Finds the crawl that somebody names, by its ident or its URL."""

from typing import Any

import click
from msgspec import Struct

from watchbell.archive import crawls, history, idents, pipelines
from watchbell.archive.crawl_records import state_of
from watchbell.archive.model import Crawl, CrawlState, FinishedFile
from watchbell.archive.urls import normalised
from watchbell.cli.arguments import storable
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store

named = click.argument("name", metavar="IDENT|URL", type=storable)
_SHOWN = 200


class FoundCrawl(Struct, frozen=True):
    crawl: Crawl
    state: CrawlState
    nickname: str = ""
    """Of the pipeline that runs it, or ran it."""
    files: tuple[FinishedFile, ...] = ()


def spellings(name: str) -> list[str]:
    """The idents that a name may mean."""
    if idents.is_ident(name.lower()):
        return list(idents.spellings(name.lower()))
    if normalised(name) is None:
        example = "such as 43z7a11vo6of3a7i173441dtc or https://example.com/"
        raise Refused(
            f"expected an ident or a URL, {example}, not {name[:_SHOWN]!r}", field="IDENT"
        )
    return list(idents.spellings(idents.ident_of(name)))


async def crawl_named(store: Store, name: str) -> Crawl:
    """A crawl that has a record: one that waits, runs or has just ended."""
    for found in await crawls.find(store, spellings(name), with_ignores=False):
        if found is not None:
            return found
    raise _none(name)


async def any_crawl(store: Store, name: str) -> FoundCrawl:
    """The crawl as its record has it, or else the latest of the past; with its files if it has
    ended."""
    found = await crawls.find(store, spellings(name))
    crawl = next((one for one in found if one is not None), None)
    if crawl is not None and crawl.finished_at is None:
        names = {one.record.id: one.name for one in await pipelines.every(store)}
        return FoundCrawl(crawl, state_of(crawl), names.get(crawl.pipeline_id, ""))
    for ident in spellings(name):
        for past in await history.of_ident(store, ident):
            return FoundCrawl(crawl or past.crawl, past.state, past.nickname, past.files)
    if crawl is None:
        raise _none(name)
    return FoundCrawl(crawl, state_of(crawl))


def _none(name: str) -> NotFound:
    return NotFound(f"there is no crawl {name[:_SHOWN]!r}; `watchbell archive list` shows all")


def as_json(found: FoundCrawl) -> dict[str, Any]:
    return {"state": found.state, "crawl": found.crawl, "files": found.files}
