"""Audit log entries for changes made on the command line, by operating system account."""

import os
import pwd
import socket

from watchbell import settings
from watchbell.actors import on_command_line
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.audit import Stamp

_LONGEST = 1_000
"""Characters of a subject or details, at most."""


def operator() -> Stamp:
    """The account of the operating system that runs this command."""
    host, how = socket.gethostname(), "command line"
    person = settings.environment().get("SUDO_USER", "") if os.geteuid() == 0 else ""
    if person:
        how += f", sudo by {person}"
    return Stamp(on_command_line(f"{_account()}@{host}", how), int(SYSTEM.now()))


def _account() -> str:
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # as in a container
        return f"uid {number}"


async def record_change(store: Store, action: str, subject: str = "", details: str = "") -> None:
    """Record a change that a command has just made; the actions are those of the pages."""
    entry = operator().entry(action, subject[:_LONGEST], details[:_LONGEST])
    await audit.record(store, entry)


def subject_of(names: list[str], noun: str) -> str:
    """The name if there is one, else the number."""
    return names[0] if len(names) == 1 else f"{len(names):,} {noun}s"
