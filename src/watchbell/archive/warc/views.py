"""One archived document, made fit to be shown inside a page of ours."""

import re
from collections.abc import Callable

from msgspec import Struct

from watchbell.archive.fetching.decoding import MOST, decode
from watchbell.archive.warc.rewriting import Rewriter
from watchbell.archive.warc.stored_responses import Headers, StoredResponse
from watchbell.errors import Refused

# No script runs, no form is sent, and the document has an origin of its own: whatever was archived
# can't act for the person who looks at it, nor fetch anything from elsewhere.
VIEW_POLICY = (
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self';"
    " style-src 'self' 'unsafe-inline'; font-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
VIEW_HEADERS = {
    "Content-Security-Policy": VIEW_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = (
    *("application/json", "application/javascript", "application/x-javascript", "application/xml"),
    *("text/javascript", "text/xml", "application/rss+xml", "application/atom+xml"),
)
"""What a browser should show as it is, and not act on."""
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)


Rewrite = Callable[[bytes, StoredResponse], bytes]
"""Rewrites the links of a page. May raise Refused."""


class View(Struct, frozen=True, kw_only=True):
    url: str
    timestamp: str
    status: int
    reason: str
    headers: Headers
    """As they were sent."""
    content_type: str
    """Of the body as it is here."""
    body: bytes
    is_whole: bool
    problem: str = ""
    """Why the body is not whole, or not shown as what it is."""


def view(
    stored: StoredResponse,
    place: Callable[[str], str],
    most: int = MOST,
    rewrite_html: Rewrite | None = None,
) -> View:
    """Decoded, at most this many bytes; `place` gives the address at which a URL is shown. What
    `rewrite_html` refuses is shown as text.

    Send it with `VIEW_HEADERS`.
    """
    decoded = decode(stored.headers, stored.payload.pieces(), most)
    body, content_type = decoded.body, stored.media_type
    if not _MEDIA_TYPE.fullmatch(content_type):
        content_type = "application/octet-stream"
    problem = decoded.problem
    if content_type in _HTML and rewrite_html:
        try:
            body, content_type = rewrite_html(body, stored), "text/html; charset=utf-8"
        except Refused as error:
            content_type, problem = "text/plain", str(error)
    elif content_type in _HTML or content_type == "text/css":
        body = rewritten(body, stored, place)
        content_type = f"{'text/css' if content_type == 'text/css' else 'text/html'}; charset=utf-8"
    if content_type in _TEXTS:
        content_type = "text/plain"
    if content_type.startswith("text/") and ";" not in content_type:
        body = text_of(body, stored.header("content-type")).encode()
        content_type = f"{content_type}; charset=utf-8"
    return View(
        url=stored.url,
        timestamp=stored.timestamp,
        status=stored.status,
        reason=stored.reason,
        headers=stored.headers,
        content_type=content_type,
        body=body,
        is_whole=decoded.is_whole,
        problem=problem,
    )


def is_rewritten(stored: StoredResponse) -> bool:
    return stored.media_type in (*_HTML, "text/css")


def rewritten(body: bytes, stored: StoredResponse, place: Callable[[str], str]) -> bytes:
    rewriter = Rewriter(stored.url, place)
    text = text_of(body, stored.header("content-type"))
    is_css = stored.media_type == "text/css"
    return (rewriter.css(text) if is_css else rewriter.html(text)).encode("utf-8", "replace")


def text_of(body: bytes, content_type: str) -> str:
    """By the charset of the header, else of the document; UTF-8 if neither is one."""
    named = _CHARSET.search(content_type.encode("latin-1", "replace")) or _CHARSET.search(
        body[:1024]
    )
    try:
        return body.decode(named[1].decode("ascii") if named else "utf-8", "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")
