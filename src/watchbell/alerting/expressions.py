"""Regular expressions that people write, matched by RE2: no text can make one of them slow."""

from collections.abc import Callable
from functools import lru_cache

from watchbell.errors import Refused

_MEMORY = 1 << 20
"""Bytes that one expression may take, at the most."""


@lru_cache(4_096)
def compiled(expression: str) -> Callable[[str], bool]:
    """Whether the expression is found in a text. Refused, with the reason, where it is none."""
    import re2  # type: ignore[import-untyped] # noqa: PLC0415  (few need it, and it takes a while)

    options = re2.Options()
    options.log_errors, options.never_capture, options.max_mem = False, True, _MEMORY
    try:
        search = re2.compile(expression, options).search
    except UnicodeEncodeError:
        raise Refused("it is no text") from None
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise Refused(
            f"{reason}; expected the syntax of RE2, which has no look-around and no back-references"
        ) from None
    # In bytes, since the library then has no places to translate back.
    return lambda text: search(text.encode(errors="replace")) is not None


@lru_cache(16_384)
def matches(expression: str, text: str) -> bool:
    """The same, and never where the expression is none."""
    try:
        return compiled(expression)(text)
    except Refused:
        return False
