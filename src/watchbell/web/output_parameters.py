"""The parameters of endpoints that return output."""

from typing import Annotated

from litestar.params import QueryParameter

from watchbell.runs.output_store import MOST_LINES

FARTHEST = 1 << 40

Lines = Annotated[int, QueryParameter(ge=1, le=MOST_LINES, description="The most lines to return.")]
Start = Annotated[
    int | None,
    QueryParameter(ge=0, le=FARTHEST, description="The place of the first line to return."),
]
End = Annotated[
    int | None,
    QueryParameter(ge=0, le=FARTHEST, description="The place after the last line to return."),
]
Around = Annotated[
    int | None,
    QueryParameter(
        ge=0, le=FARTHEST, description="The place of a line to return with the lines around it."
    ),
]
Text = Annotated[
    str,
    QueryParameter(
        min_length=1, max_length=500, description="The text to search for, in upper or lower case."
    ),
]
Backward = Annotated[bool, QueryParameter(description="Whether to search backward.")]
