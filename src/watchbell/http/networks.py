"""Which addresses an untrusted URL may make us connect to. Pure."""

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = ip_network("64:ff9b::/96")
# Missing from the tables of some or all versions of Python.
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),
            "168.63.129.16/32",  # Azure's management address
            *("::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16"),
            *("3fff::/20", "5f00::/16", "fec0::/10"),
        ),
    )
)


class Networks:
    """The public Internet, and the networks that are allowed besides."""

    def __init__(
        self, allowed: Iterable[str] = (), *, advice: str = "allow_networks can permit it"
    ) -> None:
        """ValueError where one is not a network."""
        self._advice = advice
        self._allowed = tuple(map(network, allowed))

    def refusal(self, host: str) -> str:
        """Why this address is refused, or an empty text. Unusual spellings are refused, since other
        programs may read `127.1` or `0x7f000001` as an address."""
        try:
            address = ip_address(host)
        except ValueError:
            return f"{host[:100]!r} is not an IP address in its usual form"
        plain = _embedded_ipv4(address)
        if any(plain in one or address in one for one in self._allowed):
            return ""
        if plain.is_global and not _is_special(plain):
            return ""
        return f"{address} is not on the public Internet; {self._advice}"


def network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(f"{error}; expected a network such as 10.0.0.0/8 or fd00::/8") from None


def _embedded_ipv4(address: Address) -> Address:
    """The IPv4 address inside an IPv6 address, or the address itself."""
    if not isinstance(address, IPv6Address):
        return address
    if address in _NAT64:
        return IPv4Address(address.packed[12:])
    return address.ipv4_mapped or address


def _is_special(address: Address) -> bool:
    return (
        address.is_multicast
        or address.is_reserved
        or address.is_private
        or any(address in one for one in _NOT_PUBLIC)
    )
