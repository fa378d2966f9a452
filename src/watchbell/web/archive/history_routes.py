"""Endpoints for crawls that have ended, and their files."""

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from watchbell.archive import history
from watchbell.web.access import needs
from watchbell.web.archive import crawl_view
from watchbell.web.archive.crawl_shapes import PastCrawl
from watchbell.web.listing import Cursor, Page
from watchbell.web.problems import wrong_cursor
from watchbell.web.services import Asked, services_of

Words = Annotated[
    str,
    QueryParameter(
        max_length=500, description="A part of the URL, the note, the ident or the starter."
    ),
]
OnlyIdent = Annotated[
    str,
    QueryParameter(max_length=25, pattern="^[0-9a-z]*$", description="Only crawls of this ident."),
]
Limit = Annotated[int, QueryParameter(ge=1, le=200, description="The most items to return.")]


@get("/archive/history", opt=needs("read"))
async def ended_crawls(
    request: Asked, text: Words = "", ident: OnlyIdent = "", cursor: Cursor = "", limit: Limit = 50
) -> Page[PastCrawl]:
    """List crawls that have ended, the newest first. A page may be short and still have a next
    one."""
    if cursor and ":" not in cursor:
        raise wrong_cursor()
    store, words = services_of(request).store, text.strip()
    found = await history.page(store, after=cursor, limit=limit, contains=words, ident=ident)
    return Page([crawl_view.past(one) for one in found.items], found.next or None)


ROUTES = Router("/", tags=["Archive"], route_handlers=[ended_crawls])
