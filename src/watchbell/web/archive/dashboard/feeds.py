"""Crawls that began, as feeds for readers of news."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import sha1
from xml.sax.saxutils import escape

Notice = tuple[str, float]
"""A text, and when it was posted."""

_TITLE = "Watchbell archive"
_ABOUT = "Sites that are being archived."
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(notices: Sequence[Notice]) -> list[tuple[str, str, str]]:
    return [(_time(at).isoformat(), text, _id(text, at)) for text, at in notices]


def rss(notices: Sequence[Notice], link: str) -> str:
    items = "".join(
        f"<item><title>{_xml(text)}</title><pubDate>{format_datetime(_time(at))}</pubDate>"
        f'<guid isPermaLink="false">{_urn(text, at)}</guid></item>\n'
        for text, at in notices
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>\n'
        f"<title>{_TITLE}</title><description>{_ABOUT}</description><link>{_xml(link)}</link>\n"
        f"{items}</channel></rss>\n"
    )


def atom(notices: Sequence[Notice], link: str, now: float) -> str:
    newest = max((at for _, at in notices), default=now)
    entries = "".join(
        f"<entry><title>{_xml(text)}</title><content>{_xml(text)}</content>"
        f"<updated>{_time(at).isoformat()}</updated><id>{_urn(text, at)}</id></entry>\n"
        for text, at in notices
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{_TITLE}</title><subtitle>{_ABOUT}</subtitle>"
        f'<link href="{_xml(link)}"/><author><name>Watchbell</name></author>\n'
        f"<id>{_xml(link)}</id><updated>{_time(newest).isoformat()}</updated>\n{entries}</feed>\n"
    )


def _time(at: float) -> datetime:
    """Other programs write these times, too."""
    return datetime.fromtimestamp(min(max(at, 0), 253_402_300_799), UTC)


def _id(text: str, at: float) -> str:
    return sha1(f"{at}-{text}".encode(errors="replace"), usedforsecurity=False).hexdigest()


def _urn(text: str, at: float) -> str:
    return f"urn:X-SHA1:{_id(text, at)}"


def _xml(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text), {'"': "&quot;"})
