"""Who may look at archived pages without a cookie: views that somebody has opened.

An archived page is shown with an origin of its own, so the browser sends no cookies for it and for
its images. A secret in the path stands for the session that opened the view. It allows to read the
captures of one crawl, for an hour and as long as that session lasts, and nothing else.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.store.client import Store
from watchbell.web.keys import Web
from watchbell.web.secrets import digest, secret

LASTS = 3_600
"""Seconds for which a view can be used."""


class OpenedView(Struct, frozen=True, kw_only=True):
    ident: str
    session: str
    url: str
    timestamp: str
    """The page that is shown now."""


class Opened(Struct, frozen=True):
    token: str
    id: str
    """Names the view to whoever opened it; can't be used to read."""


async def open_view(store: Store, view: OpenedView) -> Opened:
    token = secret()
    name = digest(token)
    await store.call("SET", Web(store.prefix).view(name), msgspec.json.encode(view), "EX", LASTS)
    return Opened(token, name)


async def find(store: Store, token: str) -> OpenedView | None:
    """None if it was never opened, or has expired. Whether its session lasts is left to ask."""
    return await get(store, digest(token))


async def get(store: Store, view_id: str) -> OpenedView | None:
    found = await store.call("GET", Web(store.prefix).view(view_id))
    return msgspec.json.decode(found, type=OpenedView) if found else None


async def move(store: Store, token: str, view: OpenedView, url: str, timestamp: str) -> None:
    """Remembers which page is shown, once its reader has followed a link."""
    if (view.url, view.timestamp) == (url, timestamp):
        return
    moved = msgspec.json.encode(replace(view, url=url, timestamp=timestamp))
    await store.call("SET", Web(store.prefix).view(digest(token)), moved, "XX", "KEEPTTL")
