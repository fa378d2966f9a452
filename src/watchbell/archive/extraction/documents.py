"""The links of any document, by its content type."""

import re
import zlib
from collections.abc import Callable

from watchbell.archive.extraction import css, feed, html, oddities, script, sitemap
from watchbell.archive.extraction.charsets import charset_of, decoded
from watchbell.archive.extraction.links import MOST_BYTES, Link, Links
from watchbell.archive.urls import path_of

_Reader = Callable[[str, Links], None]

_HTML = {"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml", "image/svg+xml"}
_SCRIPT = re.compile(r"(?:application|text)/(?:.*\+)?(?:x-)?(?:java|ecma|js)?(?:script|json)")
_XML = re.compile(r"(?:application|text)/(?:.+\+)?xml")
_ROOT = re.compile(rb"<(?!\?|!)(?:[\w-]+:)?([a-z]+)", re.IGNORECASE)
_FEEDS = {b"rss", b"feed", b"rdf"}
_SITEMAPS = {b"urlset", b"sitemapindex"}
_LOOKED_AT = 4_096


def extract(body: bytes, content_type: str, url: str) -> list[Link]:
    """What a document at this URL links to, in order. The body is without any content coding.

    A URL that is linked to as a page and as a requisite is there twice. At most the first 10 MiB
    are searched, for at most 50,000 links; a document that is broken gives what can be found.
    """
    body = body[:MOST_BYTES]
    kind = content_type.partition(";")[0].strip().lower()
    if body.startswith(b"\x1f\x8b") and path_of(url).lower().endswith(".xml.gz"):
        body, kind = _gunzipped(body), "application/xml"
    reader = _reader(kind, body, url)
    if reader is None:
        return []
    charset = charset_of(body, content_type)
    links = Links(url, charset)
    if reader is not html.extract:
        reader(decoded(body, charset), links)
    elif oddities.is_too_odd(body):
        html.extract_flat(decoded(body, charset), links)
    else:
        html.extract(body if charset == "utf-8" else decoded(body, charset), links)
    return links.every()


def _reader(kind: str, body: bytes, url: str) -> _Reader | None:
    if kind in _HTML or _is_html(kind, body):
        return html.extract
    if kind == "text/css":
        return css.extract
    if _SCRIPT.fullmatch(kind):
        return script.extract
    if kind == "text/plain":
        return _plain_reader(path_of(url).lower())
    if _XML.fullmatch(kind):
        root = _root(body)
        if root in _SITEMAPS:
            return sitemap.extract
        return feed.extract if root in _FEEDS else html.extract
    return None


def _plain_reader(path: str) -> _Reader | None:
    if path == "/robots.txt":
        return sitemap.extract_robots
    return sitemap.extract_lines if "sitemap" in path.rpartition("/")[2] else None


def _is_html(kind: str, body: bytes) -> bool:
    """Servers that name no type mean HTML if it looks like it."""
    return kind in {"", "application/octet-stream", "unknown/unknown"} and (
        _root(body) in {b"html", b"head", b"body"} or b"<!doctype html" in body[:_LOOKED_AT].lower()
    )


def _root(body: bytes) -> bytes:
    """The name of the first element, without its prefix."""
    found = _ROOT.search(body[:_LOOKED_AT].replace(b"\0", b""))
    return found[1].lower() if found else b""


def _gunzipped(body: bytes) -> bytes:
    """What can be read of it, at most as much as is searched."""
    try:
        return zlib.decompressobj(wbits=31).decompress(body, MOST_BYTES)
    except zlib.error:
        return b""
