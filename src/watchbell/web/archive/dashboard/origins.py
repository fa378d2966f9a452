"""Which pages in browsers may read the dashboard. Pure.

It has no sign-in, and a browser reaches loopback from any website. So a page may read it only if it
came from here or from an origin of the settings. Programs send no origin, and may always.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from watchbell.errors import BadSettings

ALL = "*"
SETTING = "archive.dashboard.origins"
_PORTS = {"http": 80, "https": 443}


class Origins(Struct, frozen=True):
    listed: frozenset[str] = frozenset()
    """Origins of the settings, in the spelling of browsers."""
    hosts: frozenset[str] = frozenset()
    """Names under which the dashboard may be reached, besides addresses and `localhost`."""
    ports: frozenset[int] = frozenset()
    """Ports of the dashboard itself."""

    @property
    def are_all(self) -> bool:
        return ALL in self.listed


def allowed(listed: tuple[str, ...], host: str, ports: frozenset[int]) -> Origins:
    """Raises BadSettings. `host` is where the dashboard is served."""
    found = {one: _listed(one) for one in listed if one != ALL}
    names = {parts.hostname or "" for parts in found.values()} | {host.lower()}
    spelled = {_spelled(parts) for parts in found.values()}
    return Origins(frozenset(spelled | ({ALL} & set(listed))), frozenset(names), ports)


def _listed(text: str) -> SplitResult:
    parts = _parts(text.rstrip("/"))
    if parts is None or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        raise BadSettings(f"{SETTING}: {text!r} is no origin; expected https://HOST[:PORT], or *")
    return parts


def refusal(headers: Mapping[str, str], origins: Origins) -> str:
    """Why a request is refused; empty if it is not. Names of headers are in lower case."""
    if origins.are_all:
        return ""
    host = headers.get("host", "")
    at = _parts(f"http://{host}") if host else None
    if host and (at is None or not _is_ours(at.hostname or "", origins)):
        # A site whose name was made to lead to this machine has its own name here.
        return f"this server is not known as {host}; if it is, add its origin to {SETTING}"
    origin = headers.get("origin")
    if origin is not None:
        is_known = origin in origins.listed or _is_from_here(origin, at, origins)
        return "" if is_known else f"pages of {origin} may not read this; see {SETTING}"
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode")
    if site not in ("same-origin", "none") and mode != "navigate":
        return f"pages of other sites may not read this; see {SETTING}"
    return ""


def _is_ours(hostname: str, origins: Origins) -> bool:
    if hostname == "localhost" or hostname in origins.hosts:
        return True
    try:
        ip_address(hostname)
    except ValueError:
        return False
    return True


def _is_from_here(origin: str, at: SplitResult | None, origins: Origins) -> bool:
    """Whether the page has the same host, and one of our ports or that of the request."""
    page = _parts(origin)
    if page is None or at is None or page.hostname != at.hostname:
        return False
    return _port(page) in origins.ports or page.netloc.lower() == at.netloc.lower()


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        is_fit = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_fit else None


def _port(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]


def _spelled(parts: SplitResult) -> str:
    host = parts.hostname or ""
    name = f"[{host}]" if ":" in host else host
    is_usual = _port(parts) == _PORTS[parts.scheme]
    return f"{parts.scheme}://{name}" + ("" if is_usual else f":{_port(parts)}")
