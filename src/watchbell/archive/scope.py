"""What belongs to a crawl: for each link, whether it is fetched, and why or why not."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from watchbell.archive.extraction.links import Kind
from watchbell.archive.model import Depth
from watchbell.archive.urls import FETCHED, netloc_of, normalised, path_of, scheme_of

MOST_REQUISITE_LEVELS = 5
"""Requisites of requisites: a frame has a style sheet, which imports another, which has fonts."""
MOST_REDIRECTS = 8
_MOST_REPEATED = 5


class Place(Struct, frozen=True):
    """Where a URL stands in a crawl. It is stored with the URL."""

    level: int = 0
    """Page links since the start; 0 for a start URL."""
    offsite: int = 0
    """Page links since the site was left; 0 on the site."""
    requisite: int = 0
    """Requisite links since the last page; 0 for a page, and more for what is a part of one."""
    redirects: int = 0
    """Redirects that led here, one after the other."""
    root: str = ""
    """The start URL that it was reached from: with a list, each entry is a site of its own."""


class Policy(Struct, frozen=True, kw_only=True):
    """What one crawl follows."""

    depth: Depth = "inf"
    no_offsite_links: bool = False
    offsite_depth: int = 1
    host_urls: int = 1_000_000
    """URLs of one host."""
    most_urls: int = 0
    """URLs of the crawl. 0: no limit."""


class Counted(NamedTuple):
    """What the crawl has queued or fetched so far."""

    urls: int = 0
    of_host: int = 0
    """Of the host of the URL in question."""


class Reason(StrEnum):
    START = "It is where the crawl starts."
    ON_SITE = "It is a page of the site."
    OFFSITE = "A page of the site links to it."
    REQUISITE = "A page needs it to be shown."
    REDIRECT = "A URL of the crawl redirects to it."
    SCHEME = "Only http, https and ftp are fetched."
    SHALLOW = "The crawl archives single pages, and this is a link to another page."
    FROM_REQUISITE = "It is on another site, and a mere part of a page links to it."
    LOOP = "Its path repeats a folder again and again, as in an endless loop."
    PARENT = "It is above the folder where the crawl starts."
    NO_OFFSITE = "It is on another site, and the crawl follows no links to other sites."
    TOO_FAR = "It is too many links away from the site."
    TOO_NESTED = "It is a part of a part of a part, and so on, of a page."
    TOO_MANY_REDIRECTS = "Too many redirects led to it."
    HOST_BUDGET = "The crawl has as many URLs of this host as it may have."
    BUDGET = "The crawl has as many URLs as it may have."


class Verdict(NamedTuple):
    place: Place | None
    """Where the URL stands in the crawl; None if it is left out."""
    reason: Reason


def start(url: str) -> Verdict:
    """Of the URL of a crawl, or of an entry of its list."""
    if scheme_of(url) not in FETCHED:
        return Verdict(None, Reason.SCHEME)
    return Verdict(Place(root=url), Reason.START)


def judge(url: str, kind: Kind, source: Place, policy: Policy, counted: Counted) -> Verdict:
    """Of a link to a normalised `url` that was found at `source`."""
    if scheme_of(url) not in FETCHED:
        return Verdict(None, Reason.SCHEME)
    verdict = _requisite(source) if kind == "requisite" else _page(url, source, policy)
    return _within_budget(verdict, policy, counted)


def judge_redirect(url: str, source: Place, policy: Policy, counted: Counted) -> Verdict:
    """A redirect keeps the level of its source: who links to a URL means where it leads."""
    if scheme_of(url) not in FETCHED:
        return Verdict(None, Reason.SCHEME)
    if source.redirects >= MOST_REDIRECTS:
        return Verdict(None, Reason.TOO_MANY_REDIRECTS)
    place = replace(source, redirects=source.redirects + 1)
    if not source.requisite and not is_on_site(url, source.root):
        if source.level == 0:
            place = replace(place, root=_moved(source.root, url))
        elif not source.offsite:
            if not _offsite_depth(policy):
                return Verdict(None, Reason.NO_OFFSITE)
            place = replace(place, offsite=1)
    return _within_budget(Verdict(place, Reason.REDIRECT), policy, counted)


def is_on_site(url: str, root: str) -> bool:
    """Whether both have the same host, with `www.` or without, and the same port."""
    return netloc_of(url).removeprefix("www.") == netloc_of(root).removeprefix("www.")


def _requisite(source: Place) -> Verdict:
    if source.requisite >= MOST_REQUISITE_LEVELS:
        return Verdict(None, Reason.TOO_NESTED)
    place = replace(source, requisite=source.requisite + 1, redirects=0)
    return Verdict(place, Reason.REQUISITE)


def _page(url: str, source: Place, policy: Policy) -> Verdict:
    if policy.depth == "shallow":
        return Verdict(None, Reason.SHALLOW)
    path = path_of(url)
    if _repeats(path):
        return Verdict(None, Reason.LOOP)
    level = source.level + 1
    if is_on_site(url, source.root):
        if not path.startswith(_folder(source.root)):
            return Verdict(None, Reason.PARENT)
        return Verdict(Place(level=level, root=source.root), Reason.ON_SITE)
    if source.requisite:
        return Verdict(None, Reason.FROM_REQUISITE)
    if not _offsite_depth(policy):
        return Verdict(None, Reason.NO_OFFSITE)
    if source.offsite >= _offsite_depth(policy):
        return Verdict(None, Reason.TOO_FAR)
    place = Place(level=level, offsite=source.offsite + 1, root=source.root)
    return Verdict(place, Reason.OFFSITE)


def _within_budget(verdict: Verdict, policy: Policy, counted: Counted) -> Verdict:
    if verdict.place is None:
        return verdict
    if policy.most_urls and counted.urls >= policy.most_urls:
        return Verdict(None, Reason.BUDGET)
    if counted.of_host >= policy.host_urls:
        return Verdict(None, Reason.HOST_BUDGET)
    return verdict


def _offsite_depth(policy: Policy) -> int:
    return 0 if policy.no_offsite_links else policy.offsite_depth


def _folder(url: str) -> str:
    return path_of(url).rpartition("/")[0] + "/"


def _moved(root: str, url: str) -> str:
    """The root of a site that is elsewhere now: the whole of it, if the whole was asked for."""
    return normalised("/", url) or url if path_of(root) == "/" else url


def _repeats(path: str) -> bool:
    """Whether a folder occurs in it over and over, as where links lack a slash at their start."""
    if path.count("/") <= _MOST_REPEATED:
        return False
    folders = [part for part in path.split("/")[:-1] if part]
    return any(folders.count(part) > _MOST_REPEATED for part in set(folders))
