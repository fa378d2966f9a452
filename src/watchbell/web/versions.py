"""Versions of what is changed as a whole, so that nobody undoes unknowingly what others did."""

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
        description="The `version` that is to be changed; refused where it is another by now.",
    ),
]
TRIES = 5
"""How often a change is tried whose record somebody else changes at the same time."""
STALE = {
    412: ResponseSpec(
        data_container=Problem,
        media_type="application/problem+json",
        description="It was changed meanwhile.",
        generate_examples=False,
    )
}


def version(record: Any) -> str:
    """Differs where anything of a record does."""
    return hashlib.sha256(msgspec.json.encode(record)).hexdigest()[:32]


def fits(if_match: str, current: str) -> None:
    """Ends the request where somebody wants to change another version than there is."""
    asked = {one.strip().removeprefix("W/").strip('"') for one in if_match.split(",")}
    if asked & {"", "*", current}:
        return
    raise HttpProblem(412, "this was changed by somebody else meanwhile; load it anew")
