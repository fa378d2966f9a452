"""The URL of a store: which servers, by which protocol, as whom, under which key prefix."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote

from msgspec import Struct

from watchbell.errors import BadSettings

Topology = Literal["single", "sentinel", "cluster"]

FORMS = (
    "redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://… for TLS, unix:///PATH, "
    "redis+sentinel://HOST:PORT,HOST:PORT/SERVICE[/DB] or redis+cluster://HOST:PORT,HOST:PORT"
)
OPTIONS = ("prefix", "ca", "cert", "key", "sentinel_user", "sentinel_password")

_TOPOLOGIES: dict[str, tuple[Topology, bool]] = {
    "redis": ("single", False),
    "rediss": ("single", True),
    "unix": ("single", False),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
_DEFAULT_PORT = {"single": 6379, "cluster": 6379, "sentinel": 26379}


class StoreURL(Struct, frozen=True, kw_only=True):
    topology: Topology
    hosts: tuple[tuple[str, int], ...] = ()
    socket: str = ""
    service: str = ""
    db: int = 0
    user: str = ""
    password: str = ""
    prefix: str = ""
    tls: bool = False
    ca: str = ""
    cert: str = ""
    key: str = ""
    sentinel_user: str = ""
    sentinel_password: str = ""

    def redacted(self) -> str:
        """The URL without user and password."""
        if self.socket:
            return f"unix://{self.socket}"
        hosts = ",".join(f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in self.hosts)
        kind = "" if self.topology == "single" else f"+{self.topology}"
        service = f"/{self.service}" if self.service else ""
        return f"redis{'s' if self.tls else ''}{kind}://{hosts}{service}"

    def __repr__(self) -> str:
        return f"StoreURL({self.redacted()!r})"


def parse(text: str, password: str = "") -> StoreURL:
    """The URL in parts; `password` is used where the URL has none."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in _TOPOLOGIES:
        bare = not separator or ":" in scheme  # then what looks like a scheme may be a password
        raise _bad("the scheme is not known", text.rpartition("@")[2] if bare else scheme)
    topology, tls = _TOPOLOGIES[scheme]
    rest, _, query = rest.partition("?")
    if "@" in query:
        raise _bad("a ? in a password is written %3F, and an @ after the ? is written %40", "***")
    credentials, _, place = rest.rpartition("@")
    user, _, secret = credentials.partition(":")
    options = _options(query, tls=tls, topology=topology)
    common: dict[str, Any] = {
        "user": unquote(user),
        "password": unquote(secret) or password,
        **options,
    }
    if scheme == "unix":
        if not place.startswith("/"):
            raise _bad("a Unix socket needs an absolute path, with %40 for an @", place)
        return StoreURL(topology=topology, socket=unquote(place), **common)
    authority, _, path = place.partition("/")
    service, db = _service_and_db(path, topology)
    hosts = tuple(_host(one, topology) for one in authority.split(","))
    if topology == "single" and len(hosts) > 1:
        raise _bad("several hosts need redis+sentinel:// or redis+cluster://", authority)
    return StoreURL(topology=topology, hosts=hosts, service=service, db=db, tls=tls, **common)


def _bad(why: str, given: str) -> BadSettings:
    return BadSettings(f"store.url: {why} (given: {given!r}); expected {FORMS}")


def _host(text: str, topology: Topology) -> tuple[str, int]:
    if text.startswith("["):
        host, closed, port = text[1:].partition("]")
        if not closed or port[:1] not in ("", ":"):
            raise _bad("an IPv6 address is written [ADDRESS]:PORT", text)
        port = port[1:]
    else:
        host, _, port = text.partition(":")
    if not host:
        raise _bad("a host is missing", text)
    if not port:
        return host, _DEFAULT_PORT[topology]
    if not (_is_number(port) and 0 < int(port) < 65536):
        raise _bad("a port is a number from 1 to 65535", text)
    return host, int(port)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _service_and_db(path: str, topology: Topology) -> tuple[str, int]:
    service, _, db = path.partition("/") if topology == "sentinel" else ("", "", path)
    if topology == "sentinel" and not service:
        raise _bad("a Sentinel URL names its service after the hosts", path)
    if db and not _is_number(db):
        raise _bad("a database is a number", db)
    if topology == "cluster" and int(db or 0):
        raise _bad("a cluster has only database 0", db)
    return unquote(service), int(db or 0)


def _options(query: str, *, tls: bool, topology: Topology) -> Mapping[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            raise _bad(f"an option is one of {', '.join(OPTIONS)}", name)
        if name in ("ca", "cert", "key") and not tls:
            raise _bad("a certificate needs TLS, rediss://", name)
        if name.startswith("sentinel_") and topology != "sentinel":
            raise _bad("such an option is for redis+sentinel://", name)
    if ("cert" in options) != ("key" in options):
        raise _bad("a client certificate needs both cert and key", ", ".join(options))
    return options
