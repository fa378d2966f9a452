"""The process that renders people's templates, within limits that the system enforces.

`python -m watchbell.gateways.template_process MEDIUM STYLE FOLDER`, with a socket as its input: a
job is one line of JSON, and so is its result.
"""

import re
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from jinja2 import FunctionLoader, StrictUndefined, Template, TemplateSyntaxError
from jinja2.filters import FILTERS
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from watchbell.clock import SetClock
from watchbell.gateways.message_texts import filters, names, one_line
from watchbell.gateways.sandbox import MEMORY, OUTPUT, SECONDS, TOO_MUCH, Job, Result
from watchbell.gateways.templates import ENVIRONMENT, Found, built_in_places
from watchbell.http.client import encoded

_LONGEST_FILE = 100_000
_LONGEST_REASON = 300
_LONGEST_LINK = 1_000
"""Characters of a word up to which `urlize` looks for a link in it: its time grows with their
square, and others write these words."""


class TooMuch(jinja2.TemplateRuntimeError):
    """A template used up what it may use."""


class Renderer:
    def __init__(self, medium: str, style: str, folder: str) -> None:
        self._folder, self._style = Path(folder) / medium, style
        self._clock = SetClock(0)
        self._environment = ImmutableSandboxedEnvironment(
            loader=FunctionLoader(self._read), undefined=StrictUndefined, **ENVIRONMENT
        )
        self._environment.filters.update({**filters(self._clock), "urlize": _urlize})

    def run(self, job: Job) -> Result:
        try:
            template = self._environment.get_template(f"{job.kind}.{job.part}.j2")
            return Result(text="" if job.alert is None else self._text(template, job, job.alert))
        except Exception as error:  # noqa: BLE001  (a template can raise anything)
            file, line = _place(error)
            is_costly = isinstance(error, TooMuch | MemoryError)
            return Result(file=file, line=line, reason=_reason(error), is_costly=is_costly)

    def _text(self, template: Template, job: Job, alert: Any) -> str:
        self._clock.set(job.now)
        text, left = [], OUTPUT
        for piece in template.generate(names(alert, job.ack_url)):
            text.append(piece)
            left -= len(piece)
            if left < 0:
                raise TooMuch(f"it writes more than {OUTPUT >> 10} KiB")
        return "".join(text)

    def _read(self, name: str) -> Found | None:
        for path in (self._folder / name, *built_in_places(self._style, name)):
            if path.is_file() and "/" not in name:
                with path.open(encoding="utf-8") as file:
                    source = file.read(_LONGEST_FILE + 1)
                if len(source) > _LONGEST_FILE:
                    raise TooMuch(f"the file has more than {_LONGEST_FILE:,} characters")
                return source, str(path), lambda: True
        return None


@jinja2.pass_eval_context
def _urlize(context: Any, value: Any, *args: Any, **options: Any) -> Any:
    """Jinja's own, except that words that are too long for a link stay as they are."""
    words = re.split(r"(\s+)", escape(value))
    text = "".join(
        str(FILTERS["urlize"](context, Markup(word), *args, **options))  # noqa: S704  (escaped)
        if len(word) <= _LONGEST_LINK
        else word
        for word in words
    )
    return Markup(text) if context.autoescape else text  # noqa: S704


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
    if isinstance(error, MemoryError):
        return TOO_MUCH
    if isinstance(error, jinja2.TemplateNotFound):
        return f"there is no template {error.name!r} here"
    if isinstance(error, jinja2.TemplateError):
        reason = error.message or ""
    else:
        reason = f"{type(error).__name__}: {error}"
    return one_line(reason, _LONGEST_REASON)


def _stop(number: int, frame: object) -> None:  # noqa: ARG001
    raise TooMuch(TOO_MUCH)


def _allow(seconds: float) -> None:
    """What runs longer gets an exception, which names its line; what can't be interrupted, because
    it is one long operation, ends with the process."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_VIRTUAL, 2 * seconds)


def main(medium: str, style: str, folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    signal.signal(signal.SIGPROF, _stop)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    renderer = Renderer(medium, style, folder)
    with socket.socket(fileno=0) as ours, ours.makefile("rwb") as stream:
        for line in stream:
            job = msgspec.json.decode(line, type=Job)
            _allow(SECONDS)
            result = renderer.run(job)
            _allow(0)
            stream.write(encoded(result) + b"\n")
            stream.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
