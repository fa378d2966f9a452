"""Regular expressions that people write, matched by RE2 in linear time."""

from collections.abc import Callable
from functools import lru_cache

from watchbell.errors import Refused

_MEMORY = 1 << 20
"""The most bytes that a compiled expression may take."""


@lru_cache(4_096)
def compiled(expression: str) -> Callable[[str], bool]:
    """A search for the expression in a text. Raises Refused with the reason if it is invalid."""
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
    """Whether the expression is found in the text; an invalid one never is."""
    try:
        return compiled(expression)(text)
    except Refused:
        return False
