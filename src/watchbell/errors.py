"""What can go wrong in a way that somebody can act on, each with the exit code of its command."""


class WatchbellError(Exception):
    """Its text is one clear line for a person; commands print it and leave with `exit_code`."""

    exit_code = 1


class Refused(WatchbellError):
    """The request was understood and is not allowed as things are."""


class NotFound(WatchbellError):
    """What was asked for does not exist."""


class BadSettings(WatchbellError):
    """A setting is unknown, of the wrong type or makes no sense."""

    exit_code = 3


class StoreUnavailable(WatchbellError):
    """The store can't be reached, or can't serve us as it is."""

    exit_code = 4


class EmbeddedFailed(StoreUnavailable):
    """The embedded store can't be started here."""


class LockLost(WatchbellError):
    """The lock that guarded this work is no longer ours."""


class LeaseLost(WatchbellError):
    """What this taker held was given back to the queue; its work must be dropped."""
