"""The templates of a medium: people's own, in their sandbox, in front of the built-in ones."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from jinja2 import Environment, FunctionLoader, Template, TemplateSyntaxError

from watchbell.gateways.message_texts import KINDS, PARTS, one_line
from watchbell.gateways.meter import TooMuch
from watchbell.gateways.sandbox import SOURCE, Sandbox

BUILT_IN = Path(__file__).parent / "templates"
STYLES = ("mail", "short", "chat", "note", "plain")
_REST = "plain"
"""The style that has a word for everything, for what another leaves out."""
_LONGEST_REASON = 300
_ALIKE: dict[str, Any] = {
    "autoescape": lambda name: bool(name) and name.endswith(".html.j2"),
    "trim_blocks": True,
    "lstrip_blocks": True,
    "auto_reload": False,
}


class Wrong(NamedTuple):
    """What is wrong with a template, in words."""

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
    def __init__(
        self, medium: str, style: str, folder: str, filters: Mapping[str, Callable[..., Any]]
    ) -> None:
        assert style in STYLES, style
        self._ours = _built_in(style, tuple(filters.items()))
        self._folder = Path(folder) / medium
        self._own: dict[tuple[str, str], Template] = {}
        self._set_aside: dict[tuple[str, str], Wrong] = {}
        if folder:
            self._load(style, filters)

    @property
    def wrong(self) -> list[Wrong]:
        """What can't be used, before anything was rendered."""
        return list(self._set_aside.values())

    def render(self, kind: str, part: str, names: Mapping[str, Any]) -> Rendered:
        """A template that is at fault is replaced by the built-in one."""
        own = self._own.get((kind, part))
        if own is None:
            wrong = self._set_aside.get((kind, part))
            return Rendered(self._built_in(kind, part, names), self._file(kind, part), wrong)
        file = self._file(kind, part)
        try:
            return Rendered(self._written(own, part, names), file)
        except Exception as error:  # noqa: BLE001  (a template can raise anything)
            wrong = self._wrong(error, kind, part)
            if isinstance(error, TooMuch):  # to find that out again would cost as much again
                self._set_aside[kind, part] = wrong
                del self._own[kind, part]
            return Rendered(self._built_in(kind, part, names), file, wrong)

    def _written(self, own: Template, part: str, names: Mapping[str, Any]) -> str:
        self._sandbox.meter.reset()
        text = own.render(names)
        if not text.strip() and part != "html":  # without HTML a message is whole, too
            raise jinja2.TemplateRuntimeError("it writes nothing")
        return text

    def _built_in(self, kind: str, part: str, names: Mapping[str, Any]) -> str:
        template = self._ours(f"{kind}.{part}.j2")
        return "" if template is None else template.render(names)

    def _load(self, style: str, filters: Mapping[str, Callable[..., Any]]) -> None:
        def read(name: str) -> tuple[str, str, Callable[[], bool]] | None:
            for path in (self._folder / name, *_places(style, name)):
                if path.is_file() and "/" not in name:
                    with path.open(encoding="utf-8") as file:
                        return file.read(SOURCE + 1), str(path), lambda: True
            return None

        self._sandbox = Sandbox(filters, loader=FunctionLoader(read), **_ALIKE)
        for kind in KINDS:
            for part in PARTS:
                if self._file(kind, part) is not None:
                    self._compile(kind, part)

    def _compile(self, kind: str, part: str) -> None:
        try:
            self._own[kind, part] = self._sandbox.get_template(f"{kind}.{part}.j2")
        except Exception as error:  # noqa: BLE001  (a template can raise anything)
            self._set_aside[kind, part] = self._wrong(error, kind, part)

    def _file(self, kind: str, part: str) -> Path | None:
        """People's file for this, or the one that they frame the built-in text with."""
        names = f"{kind}.{part}.j2", f"layout.{part}.j2"
        return next((self._folder / name for name in names if name in self._present), None)

    @functools.cached_property
    def _present(self) -> set[str]:
        try:
            return {path.name for path in self._folder.iterdir() if path.is_file()}
        except (OSError, ValueError):  # not there, or no path at all
            return set()

    def _wrong(self, error: Exception, kind: str, part: str) -> Wrong:
        file, line = _place(error)
        path = Path(file) if file else self._file(kind, part)
        assert path is not None
        return Wrong(f"{path.parent.name}/{path.name}", line, _reason(error))


@functools.cache
def _built_in(
    style: str, filters: tuple[tuple[str, Callable[..., Any]], ...]
) -> Callable[[str], Template | None]:
    def read(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        for path in _places(style, name):
            if path.is_file():
                return path.read_text(encoding="utf-8"), str(path), lambda: True
        return None

    environment = Environment(  # noqa: S701  (what is HTML is escaped)
        loader=FunctionLoader(read), undefined=jinja2.StrictUndefined, **_ALIKE
    )
    environment.filters.update(filters)

    @functools.cache
    def get(name: str) -> Template | None:
        return environment.get_template(name) if read(name) is not None else None

    return get


def built_in_files(style: str) -> dict[str, Path]:
    """The built-in templates of a style, by name, with those that it takes from the common one."""
    return {
        path.name: path
        for place in (_REST, style)
        for path in sorted((BUILT_IN / place).glob("*.j2"))
    }


def _places(style: str, name: str) -> list[Path]:
    return [BUILT_IN / style / name, BUILT_IN / _REST / name]


def _place(error: Exception) -> tuple[str, int]:
    """The template and the line at which it went wrong, as far as that is known."""
    if isinstance(error, TemplateSyntaxError):
        return error.filename or "", error.lineno
    found = "", 0
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if name.endswith(".j2"):
            found = name, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it calls itself without end"
    if isinstance(error, jinja2.TemplateNotFound):
        return f"there is no template {error.name!r} here"
    if isinstance(error, jinja2.TemplateError):
        said = error.message or ""
    else:
        said = f"{type(error).__name__}: {error}"
    return one_line(said, _LONGEST_REASON)
