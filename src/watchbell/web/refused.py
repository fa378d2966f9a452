"""What a domain refuses, answered with the field that is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

from watchbell.errors import Refused
from watchbell.web.problems import FieldError, HttpProblem


def field_error(error: Refused) -> FieldError:
    return FieldError(error.field, str(error))


@contextmanager
def by_field(**called: str) -> Iterator[None]:
    """Around what may be refused: the answer names the field, as it is called in the request."""
    try:
        yield
    except Refused as error:
        told = field_error(error)
        raise HttpProblem(422, told.reason, field=called.get(told.field, told.field)) from error
