"""What can go wrong in a way that somebody can act on, each with the exit code of its command."""

from collections.abc import Sequence


class WatchbellError(Exception):
    """Its text is one clear line for a person; commands print it and leave with `exit_code`."""

    exit_code = 1


class Refused(WatchbellError):
    """The request was understood and is not allowed as things are.

    `field` is the part of the request that is wrong, empty where no single part is; `code` is for
    programs that act on the reason.
    """

    def __init__(self, reason: str, *, field: str = "", code: str = "") -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.reason, self.field, self.code = reason, field, code
        self.others: tuple[Refused, ...] = ()
        """What else is wrong with the same request."""

    @property
    def every(self) -> tuple["Refused", ...]:
        return (self, *self.others)


def refuse_for(reasons: Sequence[Refused]) -> None:
    """Raises the first one, with the others; nothing where there is none."""
    if reasons:
        first, *others = reasons
        first.others = tuple(others)
        raise first


class Changed(WatchbellError):
    """Somebody else was quicker: what was to be replaced is not what it was."""


class NotFound(WatchbellError):
    """What was asked for does not exist."""


class BadSettings(WatchbellError):
    """A setting is unknown, of the wrong type or makes no sense."""

    exit_code = 3


class StoreUnavailable(WatchbellError):
    """The store can't be reached, or can't serve us as it is."""

    exit_code = 4


class StoreUnfit(StoreUnavailable):
    """The store is there, and waiting would not help: it is too old, or refuses our password."""


class StoreNotReady(StoreUnavailable):
    """The store answers "not now": its disk or memory is full, it is loading, it is a replica."""


class FilesUnavailable(WatchbellError):
    """The place where files are stored can't be reached, or refuses us."""


class EmbeddedFailed(StoreUnavailable):
    """The embedded store can't be started here."""


class LockLost(WatchbellError):
    """The lock that guarded this work is no longer ours."""


class LeaseLost(WatchbellError):
    """What this taker held was given back to the queue; its work must be dropped."""


class DeliveryFailed(WatchbellError):
    """A message could not be handed over; again later, unless the failure is `permanent`."""

    def __init__(
        self,
        reason: str,
        *,
        permanent: bool = False,
        unreachable: bool = False,
        retry_after: float = 0,
    ) -> None:
        super().__init__(reason)
        self.permanent = permanent
        self.unreachable = unreachable
        """The server itself is away or of no use, so other messages would fare no better."""
        self.retry_after = retry_after
        """Seconds that the server asked us to wait."""
