"""Entries of the audit log as the app API shows them."""

from typing import Any

from watchbell.web.audit import Logged


def activity_row(logged: Logged) -> dict[str, Any]:
    entry = logged.entry
    return {
        "id": logged.id,
        "epoch": entry.time,
        "action": entry.action,
        "username": entry.who,
        "subject": entry.subject,
        "description": entry.details,
        "ip": entry.address,
    }
