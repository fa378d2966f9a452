"""What a domain refuses, answered with the field that is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

from watchbell.errors import Refused
from watchbell.web.problems import FieldError, HttpProblem


def field_error(error: Refused) -> FieldError:
    return FieldError(error.field, error.reason)


@contextmanager
def by_field(**called: str) -> Iterator[None]:
    """Answer what is refused inside with its field, renamed to what the request calls it."""
    try:
        yield
    except Refused as error:
        found = field_error(error)
        field = called.get(found.field, found.field)
        raise HttpProblem(422, found.reason, field=field) from error


class RefusedField:
    """Around what may be refused: the answer names this field of the request."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Refused):
            raise HttpProblem(422, str(error), field=self._field) from None
