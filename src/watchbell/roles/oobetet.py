"""Watches from outside whether alerts arrive, by receiving them."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from watchbell import ids, logs
from watchbell.alerting.model import Alert
from watchbell.clock import SYSTEM, Clock
from watchbell.errors import BadSettings, DeliveryFailed, Refused
from watchbell.gateways import catalogue, jabber, message_texts, oobetet
from watchbell.gateways.alert_messages import AlertRenderer
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.medium import Medium
from watchbell.gateways.message import Message
from watchbell.gateways.oobetet import Act, Alarm, Kind, Seen, Verdict
from watchbell.gateways.webhook import signature
from watchbell.roles.role import Context, Role, Several
from watchbell.settings import Oobetet, Settings

_EVERY = 10.0
_NICK = "oobetet"
_LARGEST = 1 << 20


def watching(settings: Settings) -> list[Role]:
    if not settings.oobetet.check:
        return []
    media = {one.name: one for one in catalogue.configured(settings)}
    _check(settings.oobetet, media)
    return [Role("oobetet", "checks from outside that alerts arrive", partial(run, media))]


def _check(chosen: Oobetet, media: dict[str, Configured]) -> None:
    ear = media.get(chosen.medium)
    if ":" not in chosen.check:
        raise BadSettings(f"oobetet.check is {chosen.check!r}; expected ENTITY:CHECK")
    if bool(chosen.room) == bool(chosen.port):
        raise BadSettings("oobetet: set where alerts arrive, either room or port")
    if chosen.room and (ear is None or not isinstance(ear.settings, jabber.Settings)):
        raise BadSettings(f"oobetet.medium is {chosen.medium!r}; expected one of kind jabber")
    if chosen.room and not all(chosen.room.rpartition("@")):
        raise BadSettings(f"oobetet.room is {chosen.room!r}; expected ROOM@SERVER")
    if chosen.alarm_medium not in media or not chosen.alarm_address:
        raise BadSettings(
            f"oobetet.alarm_medium is {chosen.alarm_medium!r}, oobetet.alarm_address "
            f"{chosen.alarm_address!r}; expected a medium ({', '.join(media)}) and an address"
        )


async def run(media: dict[str, Configured], context: Context, every: float = _EVERY) -> None:
    chosen = context.settings.oobetet
    one = media[chosen.alarm_medium]
    logs.hide(chosen.secret.reveal())
    for configured in media.values():
        for secret in configured.secrets():
            logs.hide(secret)
    log = logs.get(role="oobetet")
    folder = context.settings.delivery.templates
    texts = await asyncio.to_thread(
        message_texts.open_texts, one.name, one.style, folder, lambda _: "", log.warning
    )
    medium = one.open()
    renderer = AlertRenderer(texts, medium.form, is_slow=bool(folder))
    watch = Watch(chosen, medium, renderer.message, context.clock)
    try:
        async with asyncio.TaskGroup() as group:
            if chosen.room:
                group.create_task(_in_room(media[chosen.medium], chosen, watch.saw))
            else:
                group.create_task(_at_port(chosen, watch.saw))
            while True:
                context.show_status(await watch.look())
                await asyncio.sleep(every)
    finally:
        await medium.close()


class Watch:
    def __init__(
        self,
        chosen: Oobetet,
        medium: Medium,
        render: Callable[[Alert], Awaitable[Message]],
        clock: Clock = SYSTEM,
    ) -> None:
        self._chosen, self._medium, self._render, self._clock = chosen, medium, render, clock
        began = clock.monotonic()
        self.seen = Seen(problem=began, recovery=began)
        self._alarm = Alarm()
        self._log = logs.get(role="oobetet")

    def saw(self, kind: Kind) -> None:
        self._log.info("alert arrived", kind=kind)
        setattr(self.seen, kind, self._clock.monotonic())

    async def look(self) -> str:
        """Sends an alarm if one is due; returns the status."""
        now = self._clock.monotonic()
        verdict = oobetet.judge(self.seen, self._chosen.max_latency, now)
        act = oobetet.due(verdict, self._alarm, now)
        if act is Act.WAIT:
            return verdict.value
        try:
            await self._report(verdict, now)
        except DeliveryFailed as error:  # it is due again the next time
            self._log.error("the alarm can't be sent", verdict=verdict.value, reason=str(error))
            return f"{verdict.value}; the alarm can't be sent: {error}"
        except Exception as error:  # noqa: BLE001 what was seen must be kept
            self._log.exception("sending the alarm failed", verdict=verdict.value)
            return f"{verdict.value}; sending the alarm failed: {error!r}"
        self._alarm = oobetet.after(act, self._alarm, now)
        return verdict.value

    async def _report(self, verdict: Verdict, now: float) -> None:
        alert = oobetet.message(
            verdict,
            self._chosen.check,
            self.seen,
            now,
            medium=self._chosen.alarm_medium,
            address=self._chosen.alarm_address,
            name=ids.token(),
        )
        self._log.warning("sending an alarm", summary=alert.summary)
        await self._medium.send(await self._render(alert))


async def _in_room(one: Configured, chosen: Oobetet, saw: Callable[[Kind], None]) -> None:
    """Receives alerts in a chat room."""
    from watchbell.gateways.xmpp import Reconnecting  # noqa: PLC0415 slow to import
    from watchbell.gateways.xmpp_client import Received, address  # noqa: PLC0415

    assert isinstance(one.settings, jabber.Settings)
    room = address(chosen.room)

    def receive(message: Received) -> None:
        if message.is_public and message.bare == room and not message.is_late:
            kind = oobetet.in_chat(message.text, chosen.check)
            if kind is not None:
                saw(kind)

    line = Reconnecting(jabber.account(one.settings, _NICK), receive)
    try:
        await line.keep([room])
    finally:
        await line.close()


async def _at_port(chosen: Oobetet, saw: Callable[[Kind], None]) -> None:
    """Receives alerts as a webhook."""

    async def take(request: web.Request) -> web.Response:
        body = await request.read()
        signed = request.headers.get("X-Watchbell-Signature", "")
        if not is_genuine(chosen, signed, body, SYSTEM.now()):
            return web.Response(status=401, text="the signature is missing, wrong or old")
        kind = oobetet.in_webhook(body, chosen.check)
        if kind is not None:
            saw(kind)
        return web.Response(status=204)

    application = web.Application(client_max_size=_LARGEST)
    application.router.add_post("/{path:.*}", take)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, chosen.listen, chosen.port).start()
        except OSError as error:
            raise Refused(f"port {chosen.port} (oobetet.port) can't be used: {error}") from error
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def is_genuine(chosen: Oobetet, signed: str, body: bytes, now: float) -> bool:
    """Whether the signature is ours and recent; always true without a secret."""
    if not chosen.secret:
        return True
    time = signed.partition(",")[0].removeprefix("t=")
    if not (time.isascii() and time.isdigit() and len(time) < 12):
        return False
    expected = signature(chosen.secret.reveal(), int(time), body)
    fresh = abs(now - int(time)) <= chosen.max_latency
    return fresh and hmac.compare_digest(expected.encode(), signed.encode(errors="replace"))


ROLES = Several("oobetet", "checks from outside that alerts arrive", watching)
