"""Log lines: readable on a terminal, JSON elsewhere, never with a secret in them."""

import functools
import json
import re
import sys
from typing import TYPE_CHECKING, Any, Literal, TextIO
from urllib.parse import quote

if TYPE_CHECKING:
    from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

_CREDENTIALS = re.compile(r"(://[^/\s:@]*:)\S*@|(password=)[^&\s]+")
_hidden: set[str] = set()


def hide(secret: str) -> None:
    """From now on, no log line shows this value, nor how Python, JSON or a URL writes it."""
    if secret:
        _hidden.update((secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, "")))


def redact(text: str) -> str:
    for secret in sorted(_hidden, key=len, reverse=True):  # one may be within another
        text = text.replace(secret, "***")
    return _CREDENTIALS.sub(_starred, text)


def _starred(found: re.Match[str]) -> str:
    return f"{found[1]}***@" if found[1] else f"{found[2]}***"


class Logger:
    """Writes log lines that share some fields.

    Structlog takes longer to import than most commands take to run, and most never log: it is
    imported with the first line that is written.
    """

    def __init__(self, fields: dict[str, str]) -> None:
        self._fields = fields

    def debug(self, event: str, **fields: object) -> None:
        self._write("debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._write("error", event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """An error, with the traceback of the exception that is being handled."""
        self._write("error", event, {"exc_info": True, **fields})

    def _write(self, level: str, event: str, fields: dict[str, object]) -> None:
        if LEVELS[level] >= LEVELS[_output.level]:
            _output.lines.bind(**self._fields).log(LEVELS[level], event, **fields)


class _Output:
    """Where log lines go, and in which form."""

    def __init__(self, level: str, form: str, stream: TextIO) -> None:
        self.level = level
        self._stream = stream
        self._is_text = form == "text" or (form == "auto" and stream.isatty())

    @functools.cached_property
    def lines(self) -> "FilteringBoundLogger":
        import structlog  # noqa: PLC0415  (see Logger)

        lines: FilteringBoundLogger = structlog.wrap_logger(
            structlog.PrintLogger(self._stream),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(
                    fmt="%H:%M:%S" if self._is_text else "iso", utc=not self._is_text
                ),
                structlog.processors.format_exc_info,
                _redact_fields,
                self._renderer(),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(LEVELS[self.level]),
        )
        return lines

    def _renderer(self) -> "Processor":
        import structlog  # noqa: PLC0415  (see Logger)

        if not self._is_text:
            return structlog.processors.JSONRenderer(ensure_ascii=False)
        return structlog.dev.ConsoleRenderer(
            colors=self._stream.isatty(),
            pad_event_to=0,
            exception_formatter=structlog.dev.plain_traceback,  # others show local variables
        )


_output = _Output("info", "auto", sys.stderr)


def configure(
    level: str, form: Literal["auto", "text", "json"], stream: TextIO | None = None
) -> None:
    global _output  # noqa: PLW0603  (a process has one log)
    _output = _Output(level, form, stream or sys.stderr)


def get(**fields: str) -> Logger:
    return Logger(fields)


def _redact_fields(
    logger: "WrappedLogger",  # noqa: ARG001
    method: str,  # noqa: ARG001
    event: "EventDict",
) -> "EventDict":
    kept = ("level", "timestamp")
    return {name: value if name in kept else _redacted(value) for name, value in event.items()}


def _redacted(value: Any) -> Any:
    """The value as it may be logged, before a renderer writes it in a form of its own."""
    if isinstance(value, dict):
        return {redact(str(key)): _redacted(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(one) for one in value]
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    shown = redact(text.encode(errors="backslashreplace").decode())
    return value if shown == text and isinstance(value, bool | int | float | None) else shown
