"""Trying a medium: a real test message, and previews of sample alerts."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from watchbell import ids, logs
from watchbell.alerting.model import Alert
from watchbell.errors import NotFound
from watchbell.gateways import catalogue
from watchbell.gateways.alert_messages import AlertRenderer
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.message_texts import Texts, open_texts
from watchbell.gateways.samples import sample
from watchbell.settings import Settings


class Part(Struct):
    part: str
    text: str
    file: str
    """The file of the person's own template; empty for a built-in one."""
    wrong: str
    """Why that file was not used."""


def configured(settings: Settings, medium: str) -> Configured:
    media = {one.name: one for one in catalogue.configured(settings)}
    if medium not in media:
        names = ", ".join(media) or "none"
        raise NotFound(f"the settings have no medium {medium[:60]!r}; they have {names}")
    return media[medium]


async def send_test(
    settings: Settings, one: Configured, address: str, report: Callable[[str], None]
) -> str:
    """Sends a test message; returns the server's answer or raises DeliveryFailed."""
    for secret in one.secrets():
        logs.hide(secret)
    alert = sample("test", id=ids.token(), media=one.name, address=address)
    folder = settings.delivery.templates
    texts = await asyncio.to_thread(open_texts, one.name, one.style, folder, _no_link, report)
    medium = one.open()
    render = AlertRenderer(texts, medium.form, is_slow=bool(folder)).message
    try:
        return await medium.send(await render(alert))
    finally:
        await medium.close()


def _no_link(alert: Alert) -> str:  # noqa: ARG001
    return ""


def rendered(settings: Settings, medium: str, kind: str, parts: Iterable[str]) -> list[Part]:
    """The texts of a sample alert for a configured medium, or for any kind of medium."""
    texts = _texts(settings, medium)
    alert = sample(kind, media=medium)
    found = []
    for part in parts:
        one = texts.rendered(part, alert)
        wrong = "" if one.wrong is None else str(one.wrong)
        found.append(Part(part, one.text, str(one.file or ""), wrong))
    return found


def style(settings: Settings, medium: str) -> str:
    """The template style of a configured medium, or of any kind of medium."""
    styles = {one.name: one.style for one in catalogue.configured(settings)}
    if medium in styles:
        return styles[medium]
    if medium in catalogue.KINDS:
        return catalogue.module(medium).STYLE
    known = ", ".join(sorted({*styles, *catalogue.KINDS}))
    raise NotFound(f"there is no medium {medium[:60]!r}; expected one of {known}")


def _texts(settings: Settings, medium: str) -> Texts:
    base = settings.delivery.link_url or settings.web.url or "https://watchbell.example.com"

    def link(alert: Alert) -> str:
        is_problem = alert.notification_type == "problem" and not alert.rollup
        return f"{base.rstrip('/')}/ack/SAMPLE" if is_problem else ""

    def ignore(_: str) -> None:
        """Errors are shown with the part that they are about."""

    folder = settings.delivery.templates
    if folder and not Path(folder).is_dir():
        raise NotFound(f"the template folder {folder!r} does not exist")
    return open_texts(medium, style(settings, medium), folder, link, ignore)
