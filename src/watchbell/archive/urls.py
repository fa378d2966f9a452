"""URLs: how they are written when they are fetched, and by which key they are found again."""

import re
from functools import lru_cache
from typing import NamedTuple

from ada_url import join_url, normalize_url

LONGEST = 8_192
"""Characters of a URL. Longer ones are not fetched."""
FETCHED = ("http", "https", "ftp")
"""Schemes that a crawl can fetch."""

_PARTS = re.compile(
    r"([a-z][a-z0-9+.-]*)://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^/?#:]+)(?::(\d+))?([^?#]*)"
)
_USERINFO = re.compile(r"\s*([a-z][a-z0-9+.-]*://)([^/?#]*@)", re.IGNORECASE)
_PLAIN = re.compile(r"/(?!/)[\w~!$&()*+,;=:@/.-]*(?:\?[\w~!$&()*+,;=:@/.?%-]*)?", re.ASCII)
"""A path with a query that stays as it is, unless it has dot segments."""
_SESSION_IN_PATH = re.compile(
    r";(?:jsessionid|sid|phpsessid)=[\w.!-]{10,}|(?<=/)\((?:[A-Z]\([0-9a-z]{16,}\))+\)/",
    re.IGNORECASE,
)
_SESSION_IN_QUERY = re.compile(
    r"(?<=[?&;])(?:(?:jsessionid|phpsessid|oscsid|zenid|xtcsid|sessionid|session_id|sessid)"
    r"=[\w.,!-]{10,}"
    r"|(?:s|sid)=[0-9a-f]{32}"
    r"|aspsessionid[a-z]{8}=[a-z]{24}"
    r"|cfid=[\w-]+[&;]cftoken=[\w-]+)(?:&amp;|[&;]|$)",
    re.IGNORECASE,
)


def normalised(text: str, base: str = "") -> str | None:
    """The URL as browsers would request it, without its fragment; None if it can't be one, has no
    host or is too long. The query stays as it is."""
    text = text.partition("#")[0]
    if len(text) > LONGEST:
        return None
    try:
        url: str = join_url(base, text) if base else normalize_url(text)
    except ValueError:
        return None
    url = url.partition("#")[0]  # of the base
    if len(url) > LONGEST or not _PARTS.match(url):
        return None
    return url


class Resolver:
    """Makes URLs of the links of one document. Plain paths, which most links are, take a short
    way."""

    def __init__(self, base: str) -> None:
        self._base = base
        found = _PARTS.match(base)
        self._origin = base[: found.start(4)] if found and found[1] in FETCHED else ""

    def __call__(self, link: str) -> str | None:
        if self._origin and _PLAIN.fullmatch(link) and "/." not in link:
            url = self._origin + link
            return url if len(url) <= LONGEST else None
        return normalised(link, self._base)


def dedup_key(url: str) -> str:
    """What two spellings of a normalised URL share if they differ in their session id only."""
    path, mark, query = url.partition("?")
    if ";" in path or "(" in path:
        path = _SESSION_IN_PATH.sub("", path)
    if mark and "=" in query:
        rest = _SESSION_IN_QUERY.sub("", mark + query)
        if rest != mark + query:
            return path + rest.rstrip("?&;")
    return path + mark + query


def scheme_of(url: str) -> str:
    return url.partition(":")[0]


def host_of(url: str) -> str:
    """The host name, without a port; an IPv6 address keeps its brackets."""
    return _parts(url).host


def netloc_of(url: str) -> str:
    """The host with its port, where that is not the usual one of the scheme."""
    return _parts(url).netloc


def path_of(url: str) -> str:
    return _parts(url).path


def userinfo_of(url: str) -> str:
    """`USER:PASSWORD@`, or nothing."""
    found = _USERINFO.match(url)
    return found[2] if found else ""


def without_userinfo(url: str) -> str:
    """For logs and files: the user name and the password are secrets."""
    return _USERINFO.sub(r"\1", url, count=1) if "@" in url else url


def shown(url: str) -> str:
    """For people, who see that there are a user name and a password, but not which."""
    return _USERINFO.sub(r"\1***@", url, count=1) if "@" in url else url


def with_userinfo_of(root: str, url: str) -> str:
    """As the server of `root` wants it, if it has the URL and the URL has none of its own."""
    userinfo = userinfo_of(root)
    if not userinfo or userinfo_of(url):
        return url
    scheme, _, rest = url.partition("://")
    is_there = scheme == scheme_of(root) and netloc_of(url) == netloc_of(root)
    return f"{scheme}://{userinfo}{rest}" if is_there else url


class _Parts(NamedTuple):
    host: str = ""
    netloc: str = ""
    path: str = "/"


@lru_cache(256)  # a crawl asks several times about a link, and for each link about its start URL
def _parts(url: str) -> _Parts:
    found = _PARTS.match(url)
    if not found:
        return _Parts()
    host, port, path = found[2], found[3], found[4]
    return _Parts(host, f"{host}:{port}" if port else host, path or "/")
