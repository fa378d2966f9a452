"""URLs: how they are written when they are fetched, and by which key they are found again."""

import re

from ada_url import join_url, normalize_url

LONGEST = 8_192
"""Characters of a URL. Longer ones are not fetched."""
FETCHED = ("http", "https", "ftp")
"""Schemes that a crawl can fetch."""

_PARTS = re.compile(
    r"([a-z][a-z0-9+.-]*)://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^/?#:]+)(?::(\d+))?([^?#]*)"
)
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
    found = _PARTS.match(url)
    return found[2] if found else ""


def netloc_of(url: str) -> str:
    """The host with its port, where that is not the usual one of the scheme."""
    found = _PARTS.match(url)
    if not found:
        return ""
    return f"{found[2]}:{found[3]}" if found[3] else found[2]


def path_of(url: str) -> str:
    found = _PARTS.match(url)
    return (found[4] if found else "") or "/"
