"""The page behind a link: it shows what the link is about, and acknowledges when that is asked.

Opening a link changes nothing, since mail servers open links to look at them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler
from jinja2 import Environment, FileSystemLoader, select_autoescape

from watchbell.alerting import contacts, event, history
from watchbell.alerting.intake import submit
from watchbell.alerting.model import FAILING, split_id
from watchbell.clock import Clock
from watchbell.errors import Refused, StoreUnavailable
from watchbell.gateways import links
from watchbell.gateways.links import Offer, Signer
from watchbell.schedule import spoken
from watchbell.store.client import Store

LENGTHS = ("30 minutes", "1 hour", "2 hours", "4 hours", "8 hours", "1 day", "1 week")
_BODY_MOST = 8 << 10
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_pages = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("pages")),
    autoescape=select_autoescape(["html"]),
)


@asynccontextmanager
async def serving(store: Store, clock: Clock, port: int) -> AsyncIterator[int]:
    """The page on a loopback port; the one it got, where `port` is 0."""
    answers = Answers(store, await links.signer(store), clock)
    application = web.Application(client_max_size=_BODY_MOST, middlewares=[_told])
    application.router.add_get("/ack/{token}", answers.ask)
    application.router.add_post("/ack/{token}", answers.acknowledge)
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


@web.middleware
async def _told(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refused as error:
        return _page(410, title="This link can't be used", lines=[str(error)])
    except StoreUnavailable:
        return _page(503, title="Try again in a moment", lines=["The store is away just now."])


class Answers:
    def __init__(self, store: Store, signer: Signer, clock: Clock) -> None:
        self._store, self._signer, self._clock = store, signer, clock

    async def ask(self, request: web.Request) -> web.Response:
        return await self._question(self._offer(request))

    async def acknowledge(self, request: web.Request) -> web.Response:
        offer, form = self._offer(request), await request.post()
        words = str(form.get("for", ""))
        if words not in LENGTHS:
            raise Refused(f"{words[:50]!r} is not one of the lengths offered")
        return await self._acknowledged(offer, words, str(form.get("summary", "")).strip())

    def _offer(self, request: web.Request) -> Offer:
        return self._signer.offer(request.match_info["token"], self._clock.now())

    async def _question(self, offer: Offer) -> web.Response:
        entity, check = split_id(offer.event_id)
        now = int(self._clock.now())
        status = next(iter(await history.check_states(self._store, [offer.event_id], now)), None)
        if status is None or status.state not in FAILING:
            return _page(
                200,
                title="Nothing to acknowledge",
                entity=entity,
                check=check,
                lines=["It is not failing at present."],
            )
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

    async def _acknowledged(self, offer: Offer, words: str, summary: str) -> web.Response:
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


def _page(status: int, **content: Any) -> web.Response:
    body = _pages.get_template("ack.html").render(content)
    return web.Response(status=status, text=body, content_type="text/html", headers=_HEADERS)
