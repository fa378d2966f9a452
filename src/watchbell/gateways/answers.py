"""The page behind a link: it shows what the link is about, and acknowledges when that is asked.

Opening a link changes nothing, since mail servers open links to look at them.
"""

import base64
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, select_autoescape
from msgspec import Struct

from watchbell.alerting import contacts, event, history
from watchbell.alerting.history import Status
from watchbell.alerting.intake import submit
from watchbell.alerting.model import FAILING, split_id
from watchbell.clock import Clock
from watchbell.errors import Refused, StoreUnavailable
from watchbell.gateways import links
from watchbell.gateways.links import Offer, Signer
from watchbell.schedule import spoken
from watchbell.store.client import Store

LENGTHS = ("30 minutes", "1 hour", "2 hours", "4 hours", "8 hours", "1 day", "1 week")
BODY_MOST = 8 << 10

_FOLDER = Path(__file__).with_name("pages")
_pages = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=select_autoescape(["html"]),
)


def _style_digest() -> str:
    """What a browser compares the page's own style with, so that no other one is taken."""
    text = (_FOLDER / "ack.html").read_text(encoding="utf-8")
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    return base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()


HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_style_digest()}'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Page(Struct, frozen=True):
    status: int
    html: str


@asynccontextmanager
async def serving(store: Store, clock: Clock, port: int) -> AsyncIterator[int]:
    """The page alone on a loopback port; the one it got, where `port` is 0."""
    answers = Answers(store, await links.signer(store), clock)

    async def ask(request: web.Request) -> web.Response:
        return _sent(await answers.ask(request.match_info["token"]))

    async def acknowledge(request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        return _sent(await answers.acknowledge(request.match_info["token"], form))

    application = web.Application(client_max_size=BODY_MOST)
    application.router.add_get("/ack/{token}", ask)
    application.router.add_post("/ack/{token}", acknowledge)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        try:
            await site.start()
        except OSError as error:
            raise Refused(f"port {port} (delivery.link_port) can't be used: {error}") from error
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _sent(page: Page) -> web.Response:
    return web.Response(
        status=page.status, text=page.html, content_type="text/html", headers=HEADERS
    )


class Answers:
    def __init__(self, store: Store, signer: Signer, clock: Clock) -> None:
        self._store, self._signer, self._clock = store, signer, clock

    async def ask(self, token: str) -> Page:
        try:
            return await self._question(self._offer(token))
        except (Refused, StoreUnavailable) as error:
            return _told(error)

    async def acknowledge(self, token: str, form: Mapping[str, str]) -> Page:
        try:
            return await self._acknowledged(self._offer(token), form)
        except (Refused, StoreUnavailable) as error:
            return _told(error)

    def _offer(self, token: str) -> Offer:
        return self._signer.offer(token, self._clock.now())

    async def _status(self, offer: Offer) -> Status | None:
        now = int(self._clock.now())
        return next(iter(await history.check_states(self._store, [offer.event_id], now)), None)

    async def _question(self, offer: Offer) -> Page:
        status = await self._status(offer)
        if status is None or _why_idle(status):
            return _idle(offer, status)
        entity, check = split_id(offer.event_id)
        lines = [f"It is {status.state}."]
        if status.summary:
            lines.append(status.summary)
        if status.unscheduled is not None:
            lines.append("Somebody has acknowledged it already; you can do so again.")
        return _page(
            200,
            title="Acknowledge",
            entity=entity,
            check=check,
            lines=lines,
            asks=True,
            lengths=LENGTHS,
        )

    async def _acknowledged(self, offer: Offer, form: Mapping[str, str]) -> Page:
        words, summary = form.get("for", ""), form.get("summary", "").strip()
        if words not in LENGTHS:
            raise Refused(f"{words[:50]!r} is not one of the lengths offered")
        status = await self._status(offer)
        if _why_idle(status):
            return _idle(offer, status)
        entity, check = split_id(offer.event_id)
        known = await contacts.load(self._store, [offer.contact_id])
        who = known.get(offer.contact_id)
        name = f"{who.first_name} {who.last_name}".strip() if who else offer.contact_id
        told = f"{name}: {summary}" if summary else f"Acknowledged by {name}"
        await submit(
            self._store,
            event.acknowledge(
                entity,
                check,
                summary=told,
                duration=spoken.duration(words),
                time=int(self._clock.now()),
            ),
        )
        return _page(
            200,
            title="Acknowledged",
            entity=entity,
            check=check,
            lines=[f"Nobody is told of it again for {words}, unless it recovers before."],
        )


def _why_idle(status: Status | None) -> str:
    """Why an acknowledgement would change nothing; empty where it would."""
    if status is None or status.state not in FAILING:
        return "It is not failing at present."
    if status.scheduled is not None:
        return "It is in scheduled maintenance, in which nobody is told anyway."
    return ""


def _idle(offer: Offer, status: Status | None) -> Page:
    entity, check = split_id(offer.event_id)
    why = _why_idle(status)
    return _page(200, title="Nothing to acknowledge", entity=entity, check=check, lines=[why])


def _told(error: Refused | StoreUnavailable) -> Page:
    if isinstance(error, Refused):
        return _page(410, title="This link can't be used", lines=[str(error)])
    return _page(503, title="Try again in a moment", lines=["The store is away just now."])


def _page(status: int, **content: Any) -> Page:
    return Page(status, _pages.get_template("ack.html").render(content))
