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
    """List crawls that have ended, the newest first."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise wrong_cursor()
    offset = int(cursor or 0)
    found = await history.page(
        services_of(request).store,
        offset=offset,
        limit=limit + 1,
        contains=text.strip(),
        ident=ident,
    )
    following = str(offset + limit) if len(found) > limit else None
    return Page([crawl_view.past(one) for one in found[:limit]], following)


ROUTES = Router("/", tags=["Archive"], route_handlers=[ended_crawls])
