"""The roles of the gateways: one for each medium of the settings, and the page behind links."""

import asyncio
from contextlib import suppress
from functools import partial

from watchbell import logs
from watchbell.archive import chat
from watchbell.archive.announcer import Announcer
from watchbell.archive.chat import Person
from watchbell.archive.keys import Crawls
from watchbell.errors import LockLost, Refused
from watchbell.gateways import ack_page, catalogue, links, message_texts
from watchbell.gateways.alert_messages import AlertRenderer
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.jabber import Jabber, RoomReply, RoomSpeaker
from watchbell.roles.role import Context, Role, Several
from watchbell.settings import Settings
from watchbell.store.client import patiently
from watchbell.store.enduring import enduring
from watchbell.store.lock import locked
from watchbell.web.alerting.ack_links import LinkUses
from watchbell.web.server_url import server_url

_LEASE = 15.0
_LOOK_AGAIN = 2.0


def media(settings: Settings) -> list[Role]:
    return [
        Role(f"gateway {one.name}", f"sends alerts by {one.name}", partial(_deliver, one))
        for one in catalogue.configured(settings)
    ]


async def _deliver(one: Configured, context: Context) -> None:
    for secret in one.secrets():
        logs.hide(secret)
    delivery = context.settings.delivery
    log = logs.get(role=f"gateway {one.name}")
    link = await links.open_links(context.store, link_address(context.settings), context.clock)
    texts = await asyncio.to_thread(
        message_texts.open_texts, one.name, one.style, delivery.templates, link, log.warning
    )
    medium = one.open()
    if isinstance(medium, Jabber):
        medium.room_commands = partial(_archive, context)
    render = AlertRenderer(texts, medium.form, is_slow=bool(delivery.templates)).message
    sending = Delivery(
        context.store, one.name, medium, render, delivery, context.clock, context.show_status
    )
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(sending.run())
            if isinstance(medium, Jabber) and medium.places():
                group.create_task(_announce(context, medium))
    finally:
        await medium.close()


async def _announce(context: Context, medium: Jabber) -> None:
    """Crawls that were started in a room and have ended. Any number of processes may serve the
    medium; one of them announces."""
    key = Crawls(context.store.prefix).announcer(medium.name)

    async def attempt() -> None:
        announcer = Announcer(context.store, medium, context.clock, with_pipelines=False)
        with suppress(Refused, LockLost):
            async with locked(context.store, key, _LEASE):
                await announcer.run()

    while True:
        await enduring(partial(patiently, attempt), f"gateway {medium.name}", "announce crawls")
        await asyncio.sleep(_LOOK_AGAIN)


async def _archive(context: Context, text: str, speaker: RoomSpeaker) -> RoomReply | None:
    """Commands for the archive: moderators of a room are operators, its members have voice."""
    person = Person(
        name=speaker.name,
        place=speaker.room,
        is_op=speaker.is_moderator,
        is_voiced=speaker.is_member,
    )
    settings, now = context.settings.archive, context.clock.now()
    lines = await chat.answer(context.store, settings, text, person, now)
    return RoomReply("\n".join(lines), chat.is_private(text)) if lines else None


def link_address(settings: Settings) -> str:
    """The base URL of links in messages; empty where nothing serves their page."""
    if settings.delivery.link_url or not settings.web.port:
        return settings.delivery.link_url
    return server_url(settings)


def answering(settings: Settings) -> list[Role]:
    if not settings.delivery.link_port:
        return []
    return [Role("answers", "serves the page behind acknowledgement links", _answer)]


async def _answer(context: Context) -> None:
    port = context.settings.delivery.link_port
    async with ack_page.serving(context.store, context.clock, port, LinkUses(context.store)):
        context.show_status(f"http://127.0.0.1:{port}")
        await asyncio.Event().wait()


ROLES = Several("gateways", "send alerts by the media of the settings", media)
ANSWERS = Several("answers", "the page on which a link is confirmed", answering)
