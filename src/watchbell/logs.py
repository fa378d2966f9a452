"""Logging: readable on a terminal, JSON lines elsewhere, and never a secret in it."""

import json
import re
import sys
from typing import Any, Literal, TextIO
from urllib.parse import quote

import structlog
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


def configure(
    level: str, form: Literal["auto", "text", "json"], stream: TextIO | None = None
) -> None:
    stream = stream or sys.stderr
    text = form == "text" or (form == "auto" and stream.isatty())
    plain = structlog.dev.plain_traceback  # others show variables, and what is in them
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), pad_event_to=0, exception_formatter=plain
        )
        if text
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if text else "iso", utc=not text),
            structlog.processors.format_exc_info,
            _redact_fields,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def get(**fields: str) -> FilteringBoundLogger:
    logger: FilteringBoundLogger = structlog.get_logger(**fields)
    return logger


def _redact_fields(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:  # noqa: ARG001
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
