"""What is fetched, within which limits, and what came of it."""

from typing import Literal

from msgspec import Struct

from watchbell.archive.fetching.spool import Spool
from watchbell.http.networks import Networks

Truncation = Literal["", "length", "time", "disconnect", "unspecified"]
"""The values of WARC-Truncated. Empty: the response is whole."""


class Limits(Struct, frozen=True, kw_only=True):
    """On everything that a server controls. Times are in seconds, sizes in bytes."""

    connect: float = 20
    """For the name, the connection and TLS."""
    head: float = 60
    """From the request to the end of the response's headers."""
    stall: float = 30
    """The time in which at least `stall_size` bytes of a body have to arrive."""
    stall_size: int = 1_024
    total: float = 21_600
    head_size: int = 65_536
    size: int = 10 << 30
    """Bytes of a response, headers included; what is beyond them is cut off."""
    url_size: int = 8_192


class Request(Struct, frozen=True, kw_only=True):
    url: str
    """Normalised; a fragment is not sent."""
    headers: tuple[tuple[str, str], ...] = ()
    """In this order, after `Host`."""
    cookie: str = ""
    method: str = "GET"
    """Not HEAD, whose response is framed differently."""
    body: bytes = b""


class Certificate(Struct, frozen=True):
    """What the server proved its name with. Nobody verified it."""

    der: bytes
    protocol: str
    cipher: str
    chain: tuple[bytes, ...] = ()
    """All that the server sent, its own first."""


class Fetched(Struct, frozen=True, kw_only=True):
    """One exchange, or the reason why there was none. Whoever has it closes `response`."""

    url: str
    request: bytes = b""
    """Exactly what we sent. Empty if no connection was made."""
    response: Spool
    """Exactly what the server sent for this response, chunk framing included."""
    status: int = 0
    """0: no response with a status line. For FTP, the code of the last reply."""
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    """As sent, in order, decoded from Latin-1."""
    head_size: int = 0
    """Where the body begins in `response`."""
    interim: bytes = b""
    """Responses with a status of 1xx that came before this one."""
    truncated: Truncation = ""
    error: str = ""
    """Why the exchange failed, in a few words. What arrived before is kept."""
    is_retryable: bool = False
    """Whether the failure may be gone when the URL is tried again."""
    ip: str = ""
    started: float
    """When the request was begun, in seconds since the epoch."""
    seconds: float = 0
    certificate: Certificate | None = None
    transcript: str = ""
    """The commands and replies of FTP."""
    links: tuple[str, ...] = ()
    """The URLs in a directory listing of FTP."""

    def header(self, name: str) -> str:
        """The first one with this name, which is in lower case; or an empty text."""
        return next(iter(self.every_header(name)), "")

    @property
    def location(self) -> str:
        """Where the response redirects to. Servers that use other characters than ASCII there send
        UTF-8, as browsers expect."""
        text = self.header("location")
        try:
            return text.encode("latin-1").decode()
        except UnicodeError:
            return text

    def every_header(self, name: str) -> list[str]:
        return [value for one, value in self.headers if one.lower() == name]


class FetchFailed(Exception):
    """Ends an exchange. Its text is `Fetched.error`."""

    def __init__(
        self, error: str, *, is_retryable: bool = False, truncated: Truncation = ""
    ) -> None:
        super().__init__(error)
        self.error = error
        self.is_retryable = is_retryable
        self.truncated: Truncation = truncated
        self.unstored: OSError | None = None
        """Why our own disk could not take the response."""


def unstored(error: OSError) -> FetchFailed:
    reason = f"can't be stored: {error.strerror}"
    failure = FetchFailed(reason, is_retryable=True, truncated="unspecified")
    failure.unstored = error
    return failure


def networks(*, allow_private: bool) -> Networks:
    """Where crawls may connect to."""
    allowed = ("0.0.0.0/0", "::/0") if allow_private else ()
    return Networks(allowed, advice="archive.allow_private can permit it")
