"""Names the field of a request for what a domain refuses."""

from watchbell.errors import Refused


class RefusedField:
    """A context: what is refused inside is refused with this field of the request."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Refused):
            raise Refused(str(error), field=self._field) from None
