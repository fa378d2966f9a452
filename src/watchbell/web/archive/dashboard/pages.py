"""The dashboard's few pages. They have no scripts, and their style is in them."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from litestar import Response

from watchbell.web.page_templates import page

HOME = "Dashboard for existing viewers"
_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;margin:2rem;max-width:80rem}"
    "table{border-collapse:collapse}"
    "th,td{text-align:left;padding:.25rem .75rem;border-bottom:1px solid #8886}"
    "td{overflow-wrap:anywhere}"
)
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
    "; img-src data:; frame-ancestors 'none'; base-uri 'none'"
)
PATHS = (
    ("/stream", "WebSocket: log entries of all crawls, as they come"),
    ("/logs/recent", "the newest entries of running crawls; ?count=1..10 of each"),
    ("/ignores/IDENT,IDENT", "ignore patterns of crawls; of one, with ?compact=true, by set"),
    ("/pipelines", "pipelines, as page or JSON"),
    ("/pending", "crawls that wait, by queue"),
    ("/status", "counts, as JSON"),
    ("/finished", "crawls that ended in the last two days, as page or JSON"),
    ("/feed", "crawls that began, as Atom, RSS or JSON"),
    ("/feed/archivebot.rss", "the same as RSS"),
    ("/feed/archivebot.atom", "the same as Atom"),
)
_NO_PAGES = ("/stream", "/ignores/IDENT,IDENT")


def table(
    title: str, link: str, columns: Sequence[str], rows: Sequence[Sequence[str]], empty: str = ""
) -> Response[bytes]:
    """`link` leads to Watchbell's own page."""
    linked = {path for path, _ in PATHS if path not in _NO_PAGES}
    body = page(
        "dashboard.html",
        title=title,
        home=HOME,
        link=link,
        style=_STYLE,
        columns=columns,
        rows=rows,
        linked=linked,
        empty=empty,
    )
    headers = {"Content-Security-Policy": _POLICY}
    return Response(body, media_type="text/html", headers=headers)
