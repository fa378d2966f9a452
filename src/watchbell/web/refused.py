"""What a domain refuses, told with the field that its words begin with."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from watchbell.errors import Refused
from watchbell.web.problems import FieldError, HttpProblem

_FIELD = re.compile(r"([a-z_]+(?:\[\d+\])?(?:\.[a-z0-9_]+(?:\[\d+\])?)*): ")


def field_error(error: Refused) -> FieldError:
    """The field, empty where the words name none, and the whole of the words."""
    words = str(error)
    named = _FIELD.match(words)
    return FieldError(named[1] if named else "", words)


@contextmanager
def by_field(**called: str) -> Iterator[None]:
    """Around what may be refused: the answer names the field, as it is called in the request."""
    try:
        yield
    except Refused as error:
        told = field_error(error)
        raise HttpProblem(422, told.reason, field=called.get(told.field, told.field)) from error
