"""Logging: readable on a terminal, JSON lines elsewhere, and never a secret in it."""

import re
import sys
from typing import Literal, TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

_CREDENTIALS = re.compile(r"(://[^/\s:@]*:)[^/\s@]+@")
_hidden: set[str] = set()


def hide(secret: str) -> None:
    """From now on, no log line shows this value."""
    if secret:
        _hidden.add(secret)


def redact(text: str) -> str:
    for secret in _hidden:
        text = text.replace(secret, "***")
    return _CREDENTIALS.sub(r"\1***@", text)


def configure(
    level: str, form: Literal["auto", "text", "json"], stream: TextIO | None = None
) -> None:
    stream = stream or sys.stderr
    text = form == "text" or (form == "auto" and stream.isatty())
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0)
        if text
        else structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
    )
    stamp = structlog.processors.TimeStamper(fmt="%H:%M:%S" if text else "iso", utc=not text)
    traceback: list[Processor] = [] if text else [structlog.processors.format_exc_info]

    def render(logger: WrappedLogger, method: str, event: EventDict) -> str:
        return redact(str(renderer(logger, method, event)))

    structlog.configure(
        processors=[structlog.processors.add_log_level, stamp, *traceback, render],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def get(**fields: str) -> FilteringBoundLogger:
    logger: FilteringBoundLogger = structlog.get_logger(**fields)
    return logger
