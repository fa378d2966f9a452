"""A medium tried out: a real test message, and what it would say of sample alerts."""

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
    """The file of people's template; empty for the built-in one."""
    wrong: str
    """Why that file is not used."""


def configured(settings: Settings, medium: str) -> Configured:
    media = {one.name: one for one in catalogue.configured(settings)}
    if medium not in media:
        names = ", ".join(media) or "none"
        raise NotFound(f"the settings have no medium {medium[:60]!r}; they have {names}")
    return media[medium]


async def send_test(
    settings: Settings, one: Configured, address: str, tell: Callable[[str], None]
) -> str:
    """What the server answered to a test message; DeliveryFailed where it did not take it."""
    for secret in one.secrets():
        logs.hide(secret)
    alert = sample("test", id=ids.token(), media=one.name, address=address)
    texts = open_texts(one.name, one.style, settings.delivery.templates, _no_link, tell)
    medium = one.open()
    try:
        return await medium.send(AlertRenderer(texts, medium.form)(alert))
    finally:
        await medium.close()


def _no_link(alert: Alert) -> str:  # noqa: ARG001
    return ""


def rendered(settings: Settings, medium: str, kind: str, parts: Iterable[str]) -> list[Part]:
    """What a medium of the settings, or of a kind that they may get, says of a sample alert."""
    words = _words(settings, medium)
    alert = sample(kind, media=medium)
    found = []
    for part in parts:
        one = words.rendered(part, alert)
        wrong = "" if one.wrong is None else str(one.wrong)
        found.append(Part(part, one.text, str(one.file or ""), wrong))
    return found


def style(settings: Settings, medium: str) -> str:
    """Of a medium of the settings, or of a kind that they may get."""
    styles = {one.name: one.style for one in catalogue.configured(settings)}
    if medium in styles:
        return styles[medium]
    if medium in catalogue.KINDS:
        return catalogue.module(medium).STYLE
    known = ", ".join(sorted({*styles, *catalogue.KINDS}))
    raise NotFound(f"there is no medium {medium[:60]!r}; expected one of {known}")


def _words(settings: Settings, medium: str) -> Texts:
    base = settings.delivery.link_url or settings.web.url or "https://watchbell.example.com"

    def link(alert: Alert) -> str:
        is_problem = alert.notification_type == "problem" and not alert.rollup
        return f"{base.rstrip('/')}/ack/SAMPLE" if is_problem else ""

    def tell(words: str) -> None:
        """What is wrong is shown with the part that it is about."""

    folder = settings.delivery.templates
    if folder and not Path(folder).is_dir():
        raise NotFound(f"the folder of templates {folder!r} is not there")
    return open_texts(medium, style(settings, medium), folder, link, tell)
