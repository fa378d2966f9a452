"""HTML of which no tree is made, because that would take hours: hostile pages are such."""

import re

MOST_DEPTH = 1_000
MOST_ATTRIBUTES = 100
_FEW_TAGS = 10_000
_FEW_BYTES = 8_192
_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9-]{0,20})")
_NEVER_NESTED = re.compile(
    rb"area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|param|source|t[dhr]|track"
    rb"|wbr",
    re.IGNORECASE,
)
"""Elements without content, and those that the next of their kind ends."""


_MANY_ATTRIBUTES = re.compile(
    rb"<[a-zA-Z][^\s/>]*+(?:[\s/]++[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+))?+)"
    rb"{%d}" % MOST_ATTRIBUTES
)


def is_too_odd(body: bytes) -> bool:
    """A tree costs time by the square of its depth, and of the attributes of an element."""
    if len(body) < _FEW_BYTES:
        return False
    return _is_too_deep(body) or _MANY_ATTRIBUTES.search(body) is not None


def _is_too_deep(body: bytes) -> bool:
    """An estimate that errs on the deep side."""
    if body.count(b"<") < _FEW_TAGS:
        return False
    opened: dict[bytes, int] = {}
    depth = 0
    for found in _TAG.finditer(body):
        closes, name = found.groups()
        if _NEVER_NESTED.fullmatch(name):
            continue
        name = name.lower()
        if not closes:
            opened[name] = opened.get(name, 0) + 1
            depth += 1
            if depth > MOST_DEPTH:
                return True
        elif opened.get(name):
            opened[name] -= 1
            depth -= 1
    return False
