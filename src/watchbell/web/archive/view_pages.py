"""Archived pages as browsers show them, below the secret of a view."""

import asyncio
from html import escape
from typing import Annotated
from urllib.parse import urljoin

from litestar import Response, Router, get
from litestar.params import PathParameter

from watchbell.actors import may
from watchbell.archive.fetching.decoding import MOST
from watchbell.archive.urls import FETCHED, normalised, scheme_of
from watchbell.archive.warc import limited_rewriting
from watchbell.archive.warc.limited_rewriting import name_of, url_of
from watchbell.archive.warc.stored_responses import StoredResponse
from watchbell.archive.warc.views import VIEW_HEADERS, View, view
from watchbell.errors import NotFound
from watchbell.web.access import PUBLIC
from watchbell.web.archive import opened_views
from watchbell.web.archive.capture_routes import VIEWS, captures_of, stored_of
from watchbell.web.services import Asked, Services, services_of

Token = Annotated[str, PathParameter(max_length=100)]
Timestamp = Annotated[str, PathParameter(pattern="^[0-9]{4,14}$")]
Name = Annotated[str, PathParameter(max_length=16_384)]

# The document has an opaque origin, to which its own images and fonts are another one's.
_HEADERS = VIEW_HEADERS | {
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Frame-Options": "SAMEORIGIN",
    "X-DNS-Prefetch-Control": "off",
}
_FONT_HEADERS = {"Access-Control-Allow-Origin": "null"}
_SHOWN = ("text/", "image/", "audio/", "video/", "font/", "application/font", "application/x-font")
_REDIRECTS = (301, 302, 303, 307, 308)


@get(f"{VIEWS}/{{token:str}}/{{timestamp:str}}/{{name:str}}", opt=PUBLIC, include_in_schema=False)
async def archived(
    request: Asked, token: Token, timestamp: Timestamp, name: Name
) -> Response[bytes]:
    """A page, or what belongs to it. The secret is all that it asks for."""
    services = services_of(request)
    opened = await opened_views.find(services.store, token)
    if opened is None or not await _may_read(services, opened.session):
        return _note(410, "This view has expired.", "Reload the page around it to open a new one.")
    try:
        url = url_of(name)
    except ValueError:
        return _note(404, "Not archived.", "This is no address of an archived page.")
    async with services.view_turns, captures_of(request, opened.ident) as known:
        try:
            stored = await stored_of(known, url, timestamp)
        except NotFound:
            return _note(404, "Not archived.", url)
        prefix = f"{VIEWS}/{token}/{timestamp}/"
        if target := _target(stored):
            return _answer(b"", "text/plain", 302, {"Location": prefix + name_of(target)})
        shown = await asyncio.to_thread(_view, stored, prefix)
    if _is_document(request, shown):
        await opened_views.move(services.store, token, opened, stored.url, stored.timestamp)
    if not shown.content_type.startswith(_SHOWN):
        words = f"{stored.url} is of the type {shown.content_type}. Download it to see it."
        return _note(200, "This can't be shown here.", words)
    is_font = "font" in shown.content_type
    return _answer(shown.body, shown.content_type, 200, _FONT_HEADERS if is_font else {})


async def _may_read(services: Services, session: str) -> bool:
    found = await services.sessions.find_by_id(session, services.now())
    return found is not None and bool(may(found.user.actor(found.roles, ""), "read"))


def _view(stored: StoredResponse, prefix: str) -> View:
    return view(
        stored,
        lambda url: prefix + name_of(url),
        MOST,
        lambda body, page: limited_rewriting.rewritten(body, page, prefix),
    )


def _target(stored: StoredResponse) -> str | None:
    """Where an archived redirect leads."""
    location = stored.header("location")
    if stored.status not in _REDIRECTS or not location:
        return None
    url = normalised(urljoin(stored.url, location))
    return url if url and scheme_of(url) in FETCHED and url != stored.url else None


def _is_document(request: Asked, shown: View) -> bool:
    """Frames inside of a view are not loaded: what is no image or style is the page itself."""
    purpose = request.headers.get("sec-fetch-dest")
    return purpose in ("iframe", "document") or shown.content_type.startswith("text/html")


def _answer(body: bytes, content_type: str, status: int, more: dict[str, str]) -> Response[bytes]:
    kind = content_type.partition(";")[0]  # the framework adds the charset of texts
    return Response(body, status_code=status, media_type=kind, headers={**_HEADERS, **more})


def _note(status: int, title: str, words: str) -> Response[bytes]:
    style = "color-scheme:light dark;font:15px system-ui,sans-serif;padding:2rem"
    body = (
        f"<!doctype html><html lang=en><title>{escape(title)}</title>"
        f'<body style="{style};overflow-wrap:anywhere"><h1>{escape(title)}</h1><p>{escape(words)}'
    )
    return _answer(body.encode(), "text/html; charset=utf-8", status, {})


ROUTES = Router("/", route_handlers=[archived])
