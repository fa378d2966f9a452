"""The mails and web hooks about alerts of servers. Pure."""

from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.fleet.model import AlertRecord
from watchbell.jobs.model import Action
from watchbell.units import in_words, utc_time


class AlertFacts(Struct, frozen=True, kw_only=True):
    """What a message says beyond the record."""

    link: str = ""
    """The server's page."""
    notes: str = ""
    """Of the definition."""


def subject(alert: AlertRecord, action: Action) -> str:
    """`High CPU load on db-1`, or `Cleared: High CPU load on db-1`."""
    words = f"{alert.title} on {alert.hostname}"
    return f"Cleared: {words}" if is_over(action) else words


def is_over(action: Action) -> bool:
    return action.trigger == "alert_cleared"


def text(alert: AlertRecord, action: Action, facts: AlertFacts) -> str:
    fields = list(_fields(alert, action, facts))
    width = max(len(name) for name, _ in fields) + 2
    parts = [
        action.text.strip(),
        _headline(alert, action),
        "\n".join(f"{name + ':':<{width}}{value}" for name, value in fields),
        f"Notes\n-----\n{facts.notes.strip()}" if facts.notes.strip() else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def html(alert: AlertRecord, action: Action, facts: AlertFacts) -> str:
    rows = "".join(
        f'<tr><td style="padding-right:1em;color:#666">{escape(name)}</td>'
        f"<td>{_linked(value, facts.link)}</td></tr>"
        for name, value in _fields(alert, action, facts)
    )
    return "".join(
        [
            _paragraph(action.text),
            f"<p><strong>{escape(_headline(alert, action))}</strong></p>",
            f"<table>{rows}</table>",
            f"<h3>Notes</h3>{_paragraph(facts.notes)}" if facts.notes.strip() else "",
        ]
    )


def payload(alert: AlertRecord, action: Action, facts: AlertFacts) -> str:
    """The JSON of a web hook: the fields of the alert, and a text for chats that show one."""
    fields: dict[str, Any] = msgspec.to_builtins(alert)
    fields.pop("actions", None)
    parts = (action.text.strip(), _headline(alert, action), facts.link)
    fields |= {
        "action": action.trigger,
        "links": {"server_url": facts.link},
        "text": "\n".join(part for part in parts if part),
    }
    return msgspec.json.encode(fields).decode()


def _headline(alert: AlertRecord, action: Action) -> str:
    why = alert.clear_reason if is_over(action) else alert.message
    return subject(alert, action) + (f": {why}" if why else "")


def _fields(alert: AlertRecord, action: Action, facts: AlertFacts) -> Iterator[tuple[str, str]]:
    yield "Server", alert.hostname
    yield "Alert", f"{alert.title} ({alert.alert})"
    yield "Active since", utc_time(int(alert.date))
    if is_over(action) and alert.cleared:
        yield "Cleared", utc_time(int(alert.cleared))
        yield "Duration", in_words(max(int(alert.cleared - alert.date), 0))
    if alert.reason:
        yield "Reason", alert.reason
    if facts.link:
        yield "Details", facts.link


def _paragraph(content: str) -> str:
    lines = escape(content.strip()).replace("\n", "<br>")
    return f"<p>{lines}</p>" if lines else ""


def _linked(value: str, link: str) -> str:
    shown = escape(value)
    return f'<a href="{shown}">{shown}</a>' if value == link else shown
