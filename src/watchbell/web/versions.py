"""Versions of records for `If-Match`, so that nobody overwrites another's change."""

import hashlib
from typing import Annotated, Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import HeaderParameter

from watchbell.web.problems import HttpProblem, Problem

IfMatch = Annotated[
    str,
    HeaderParameter(
        name="If-Match",
        max_length=200,
        description="The `version` or `revision` that you read; 412 if it has changed since.",
    ),
]
TRIES = 5
"""How often a change is retried when somebody else changes the record at the same time."""
STALE = {
    412: ResponseSpec(
        data_container=Problem,
        media_type="application/problem+json",
        description="It was changed in the meantime.",
        generate_examples=False,
    )
}


def version(record: Any) -> str:
    """Differs whenever the record does."""
    return hashlib.sha256(msgspec.json.encode(record)).hexdigest()[:32]


def fits(if_match: str, current: str) -> None:
    """Refuses a change of another version than the current one."""
    asked = {one.strip().removeprefix("W/").strip('"') for one in if_match.split(",")}
    if asked & {"", "*", current}:
        return
    raise HttpProblem(412, "somebody else changed this in the meantime; load it again")


def revision_of(if_match: str) -> int | None:
    """The revision that a change follows from; null where the client does not name one."""
    text = if_match.strip().removeprefix("W/").strip('"')
    if text in ("", "*"):
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise HttpProblem(400, "expected the revision that you read", field="If-Match")
    return int(text)
