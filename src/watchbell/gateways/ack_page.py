"""The page behind a link: it shows what the link is about, and acknowledges when that is asked.

Opening a link changes nothing, since mail servers open links to look at them.
"""

import base64
import enum
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, select_autoescape
from msgspec import Struct
from msgspec.structs import replace

from watchbell.actors import Actor, by_link
from watchbell.alerting import contacts, event, history, reports
from watchbell.alerting.decide import acknowledgement
from watchbell.alerting.decide.acknowledgement import Refusal
from watchbell.alerting.history import Status
from watchbell.alerting.intake import submit
from watchbell.alerting.model import Contact, split_id
from watchbell.alerting.reports import Change
from watchbell.clock import Clock
from watchbell.errors import Refused, StoreUnavailable
from watchbell.gateways import links
from watchbell.gateways.links import Offer, Signer
from watchbell.schedule import spoken
from watchbell.store.client import Store

LENGTHS = ("30 minutes", "1 hour", "2 hours", "4 hours", "8 hours", "1 day", "1 week")
BODY_MOST = 8 << 10
_HISTORY = 1_000
"""Changes of state among which the beginning of an outage is looked for."""

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


class Use(Struct, frozen=True):
    """What became of one press of the button, for the audit log."""

    time: int
    actor: Actor
    check: str
    refusal: str = ""
    """Why nothing was done; empty where the check was acknowledged."""
    details: str = ""


class Uses(Protocol):
    """The floor above keeps the audit log."""

    async def wait(self, address: str) -> int:
        """Seconds that this address has to wait; 0 where it may go on."""

    async def record(self, use: Use) -> None: ...


def _sentence(refusal: Refusal) -> str:
    return f"{refusal.value[0].upper()}{refusal.value[1:]}."


class Idle(enum.Enum):
    """Why a link acknowledges nothing; the values are what people read."""

    REMOVED = (
        "The contact that this link was sent to has been removed, so the link no longer works."
    )
    NOT_FAILING = _sentence(Refusal.NOT_FAILING)
    SCHEDULED = _sentence(Refusal.SCHEDULED)
    EARLIER = (
        "This link is from an earlier outage, which is over. The check has failed again since; "
        "use the link of a newer message."
    )


_GONE = (Idle.REMOVED, Idle.EARLIER)


@asynccontextmanager
async def serving(store: Store, clock: Clock, port: int, uses: Uses) -> AsyncIterator[int]:
    """The page alone on a loopback port; the one it got, where `port` is 0."""
    answers = AckPage(store, await links.signer(store), clock, uses)

    async def ask(request: web.Request) -> web.Response:
        return _sent(await answers.ask(request.match_info["token"]))

    async def acknowledge(request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        token, address = request.match_info["token"], request.remote or ""
        return _sent(await answers.acknowledge(token, form, address))

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


class AckPage:
    def __init__(self, store: Store, signer: Signer, clock: Clock, uses: Uses) -> None:
        self._store, self._signer, self._clock, self._uses = store, signer, clock, uses

    async def ask(self, token: str) -> Page:
        try:
            return await self._question(self._offer(token))
        except (Refused, StoreUnavailable) as error:
            return _told(error)

    async def acknowledge(self, token: str, form: Mapping[str, str], address: str) -> Page:
        """Every try is recorded, whatever becomes of it."""
        try:
            if wait := await self._uses.wait(address):
                lines = [f"Too many links were used from your address; wait {wait} s."]
                return _page(429, title="Try again in a moment", lines=lines)
            try:
                offer = self._offer(token)
                page, use = await self._acknowledged(offer, form, address)
            except Refused as error:
                page = _told(error)
                use = replace(self._use(by_link("", address), ""), refusal=str(error))
            await self._uses.record(use)
        except StoreUnavailable as error:
            return _told(error)
        return page

    def _use(self, actor: Actor, check: str) -> Use:
        return Use(int(self._clock.now()), actor, check)

    def _offer(self, token: str) -> Offer:
        return self._signer.offer(token, self._clock.now())

    async def _found(self, offer: Offer) -> tuple[Contact | None, Status | None, Idle | None]:
        """Whom a link was sent to, the check as it is, and why it can't be acknowledged."""
        known = await contacts.load(self._store, [offer.contact_id])
        who = known.get(offer.contact_id)
        now = int(self._clock.now())
        status = next(iter(await history.check_states(self._store, [offer.event_id], now)), None)
        changes = await history.state_changes(self._store, offer.event_id, None, None, _HISTORY)
        return who, status, _why_idle(offer, who, status, reports.outage_began(changes))

    async def _question(self, offer: Offer) -> Page:
        _, status, idle = await self._found(offer)
        if idle is not None or status is None:
            return _idle(offer, idle or Idle.NOT_FAILING)
        entity, check = split_id(offer.event_id)
        lines = [f"It is {status.state}."]
        if status.summary:
            lines.append(status.summary)
        if status.is_acknowledged:
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

    async def _acknowledged(
        self, offer: Offer, form: Mapping[str, str], address: str
    ) -> tuple[Page, Use]:
        words, summary = form.get("for", ""), form.get("summary", "").strip()
        who, _, idle = await self._found(offer)
        name = f"{who.first_name} {who.last_name}".strip() if who else offer.contact_id
        actor = by_link(name, address)
        use = self._use(actor, offer.event_id)
        if idle is not None:
            return _idle(offer, idle), replace(use, refusal=idle.value)
        if words not in LENGTHS:
            error = Refused(f"{words[:50]!r} is not one of the lengths offered")
            return _told(error), replace(use, refusal=str(error))
        entity, check = split_id(offer.event_id)
        sent = event.acknowledge(
            entity,
            check,
            summary=acknowledgement.summary(actor, summary),
            duration=spoken.duration(words),
            time=use.time,
        )
        await submit(self._store, sent)
        lines = [f"Nobody is notified of it again for {words}, unless it recovers first."]
        page = _page(200, title="Acknowledged", entity=entity, check=check, lines=lines)
        return page, replace(use, details=f"{words}: {summary}" if summary else words)


def _why_idle(
    offer: Offer, who: Contact | None, status: Status | None, began: Change | None
) -> Idle | None:
    """Why an acknowledgement would be refused, or change nothing."""
    if who is None:
        return Idle.REMOVED
    refusal = acknowledgement.refusal(
        status.state if status else None,
        status.maintenance if status else None,
    )
    if refusal is not None:
        return Idle[refusal.name]
    if began is not None and offer.is_from_before(began):
        return Idle.EARLIER
    return None


def _idle(offer: Offer, why: Idle) -> Page:
    entity, check = split_id(offer.event_id)
    gone = why in _GONE
    title = "This link no longer works" if gone else "Nothing to acknowledge"
    return _page(410 if gone else 200, title=title, entity=entity, check=check, lines=[why.value])


def _told(error: Refused | StoreUnavailable) -> Page:
    if isinstance(error, Refused):
        return _page(410, title="This link can't be used", lines=[str(error)])
    return _page(503, title="Try again in a moment", lines=["The store is away just now."])


def _page(status: int, **content: Any) -> Page:
    return Page(status, _pages.get_template("ack.html").render(content))
