"""The templates of a medium: people's own, rendered in a sandbox, before the built-in ones."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from jinja2 import Environment, FunctionLoader, Template

from watchbell.alerting.model import Alert
from watchbell.clock import Clock
from watchbell.gateways.message_texts import KINDS, PARTS, filters, kind_of, names
from watchbell.gateways.sandbox import Job, Result, Sandbox

BUILT_IN = Path(__file__).parent / "templates"
STYLES = ("mail", "short", "chat", "note", "plain")
_COMMON = "plain"
"""The style that has a template for everything, for what another one leaves out."""
ENVIRONMENT: dict[str, Any] = {
    "autoescape": lambda name: bool(name) and name.endswith(".html.j2"),
    "trim_blocks": True,
    "lstrip_blocks": True,
    "auto_reload": False,
}
Found = tuple[str, str, Callable[[], bool]]
"""A template's source, its file, and whether the source is up to date, as Jinja's loaders return
them."""


class Wrong(NamedTuple):
    """What is wrong with a template."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line else ""
        return f"template {self.file}{line}: {self.reason}"


class Rendered(NamedTuple):
    text: str
    file: Path | None
    """The file of the template, where it is none of the built-in ones."""
    wrong: Wrong | None = None
    """Why it was not used."""


class Templates:
    def __init__(self, medium: str, style: str, folder: str, clock: Clock) -> None:
        assert style in STYLES, style
        self._clock = clock
        self._built_in = _built_in(style, clock)
        self._folder = Path(folder) / medium
        self._sandbox = Sandbox(medium, style, folder)
        self._own: set[tuple[str, str]] = set()
        self._set_aside: dict[tuple[str, str], Wrong] = {}
        for kind in KINDS if folder else ():
            for part in PARTS:
                if self._file(kind, part) is not None:
                    self._compile(kind, part)

    @property
    def wrong(self) -> list[Wrong]:
        """The templates that are not used, and why."""
        return list(self._set_aside.values())

    def render(self, part: str, alert: Alert, ack_url: str) -> Rendered:
        """A template that fails is replaced by the built-in one."""
        kind = kind_of(alert)
        file, wrong = self._file(kind, part), self._set_aside.get((kind, part))
        if (kind, part) in self._own:
            result = self._sandbox.run(Job(kind, part, alert, ack_url, self._clock.now()))
            if not result.reason and not result.text.strip() and part != "html":
                result = Result(reason="it writes nothing")
            if not result.reason:
                return Rendered(result.text, file)
            wrong = self._wrong(result, kind, part)
            if result.is_costly:  # to find that out again would cost as much again
                self._own.discard((kind, part))
                self._set_aside[kind, part] = wrong
        template = self._built_in(f"{kind}.{part}.j2")
        text = "" if template is None else template.render(names(alert, ack_url))
        return Rendered(text, file, wrong)

    def _compile(self, kind: str, part: str) -> None:
        result = self._sandbox.run(Job(kind, part))
        if result.reason:
            self._set_aside[kind, part] = self._wrong(result, kind, part)
        else:
            self._own.add((kind, part))

    def _file(self, kind: str, part: str) -> Path | None:
        """People's file for this, or their layout around the built-in text."""
        files = f"{kind}.{part}.j2", f"layout.{part}.j2"
        return next((self._folder / name for name in files if name in self._present), None)

    @functools.cached_property
    def _present(self) -> set[str]:
        try:
            return {path.name for path in self._folder.iterdir() if path.is_file()}
        except (OSError, ValueError):  # there is no such folder
            return set()

    def _wrong(self, result: Result, kind: str, part: str) -> Wrong:
        path = Path(result.file) if result.file else self._file(kind, part)
        assert path is not None
        return Wrong(f"{path.parent.name}/{path.name}", result.line, result.reason)


@functools.cache
def _built_in(style: str, clock: Clock) -> Callable[[str], Template | None]:
    def read(name: str) -> Found | None:
        for path in built_in_places(style, name):
            if path.is_file():
                return path.read_text(encoding="utf-8"), str(path), lambda: True
        return None

    environment = Environment(  # noqa: S701  (what is HTML is escaped)
        loader=FunctionLoader(read), undefined=jinja2.StrictUndefined, **ENVIRONMENT
    )
    environment.filters.update(filters(clock))

    @functools.cache
    def get(name: str) -> Template | None:
        return environment.get_template(name) if read(name) is not None else None

    return get


def built_in_files(style: str) -> dict[str, Path]:
    """The built-in templates of a style, by name, with those that it takes from the common one."""
    return {
        path.name: path
        for place in (_COMMON, style)
        for path in sorted((BUILT_IN / place).glob("*.j2"))
    }


def built_in_places(style: str, name: str) -> list[Path]:
    return [BUILT_IN / style / name, BUILT_IN / _COMMON / name]
