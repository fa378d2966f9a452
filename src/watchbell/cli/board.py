"""The board of `watchbell up`: the roles, their states, and where to find the pages."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from watchbell import __version__, logs
from watchbell.settings import Settings
from watchbell.store.processes import RoleState

if TYPE_CHECKING:
    from watchbell.roles.supervisor import Status

_SIGNS: dict[RoleState, tuple[str, str]] = {
    "starting": ("·", "dim"),
    "running": ("●", "green"),
    "waiting": ("◌", "yellow"),
    "failed": ("✗", "red"),
    "stopped": ("○", "dim"),
}


class Board:
    """Redrawn when something changes; without a terminal, printed once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._console = Console(highlight=False)
        if not self._console.is_terminal:
            self._console = Console(highlight=False, width=10_000)  # nothing is folded there
        self._live: Live | None = None
        self._printed = False
        self.facts: list[tuple[str, str]] = []
        self.warnings: list[str] = []
        self.statuses: Sequence[Status] = ()
        self.note = "Press Ctrl-C to stop."

    @contextmanager
    def shown(self) -> Iterator[None]:
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False, transient=False) as self._live:
            self._log_above()
            try:
                yield
            finally:
                self.draw()
        self._live = None

    def draw(self) -> None:
        if self._live is not None:
            self._live.update(self._drawn(), refresh=True)
        elif not self._printed and all(status.state != "starting" for status in self.statuses):
            self._printed = True
            with self._console.capture() as capture:
                self._console.print(self._drawn(), soft_wrap=True)
            with suppress(BrokenPipeError):  # nobody reads it, and the roles run on
                click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))

    def _log_above(self) -> None:
        log = self._settings.log
        logs.configure(log.level, "text" if log.format == "auto" else log.format, sys.stderr)

    def _drawn(self) -> RenderableType:
        store = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for name, value in self.facts:
            store.add_row(Text(name, "dim"), Text(value, overflow="fold"))
        roles = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for status in self.statuses:
            sign, style = _SIGNS[status.state]
            since = datetime.fromtimestamp(status.since, UTC).astimezone()
            words = status.words or status.role.summary
            roles.add_row(
                Text(f"{sign} {status.role.name}", style),
                Text(f"{status.state} since {since:%H:%M:%S}" if status.since else status.state),
                Text(words, overflow="fold"),
            )
        warnings = [Text(f"! {warning}", "yellow") for warning in self.warnings]
        title = Text(f"Watchbell {__version__}", "bold")
        gap = Text("")
        note = [gap, Text(self.note, "dim")] if self.note else []
        return Group(title, gap, store, gap, roles, *([gap, *warnings] if warnings else []), *note)
