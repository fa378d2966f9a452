"""The network interfaces of the machine, with their addresses."""

import fcntl
import socket
import struct
from collections.abc import Mapping

from msgspec.structs import asdict

from watchbell.fleet.agent.machine.counters import rate
from watchbell.fleet.agent.machine.files import PROC, SYS, number, read, read_text
from watchbell.fleet.machine_sample import Interface, Traffic

MOST = 64
_GET_ADDRESS = 0x8915
"""SIOCGIFADDR of Linux."""


def interfaces(
    before: Mapping[str, Traffic], after: Mapping[str, Traffic], seconds: float
) -> dict[str, Interface]:
    """Those with the most traffic."""
    busiest = sorted(after, key=lambda name: -after[name].rx_bytes - after[name].tx_bytes)[:MOST]
    ip6 = _ip6()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        return {
            name: _interface(
                name, before.get(name), after[name], seconds, _ip4(asked, name), ip6.get(name, "")
            )
            for name in sorted(busiest)
        }


def _interface(
    name: str, before: Traffic | None, after: Traffic, seconds: float, ip4: str, ip6: str
) -> Interface:
    old = before or after
    folder = f"{SYS}/class/net/{name}"
    return Interface(
        **{
            **asdict(after),
            "rx_sec": rate(old.rx_bytes, after.rx_bytes, seconds),
            "tx_sec": rate(old.tx_bytes, after.tx_bytes, seconds),
        },
        iface=name,
        ip4=ip4,
        ip6=ip6,
        mac=read_text(f"{folder}/address"),
        mtu=number(read_text(f"{folder}/mtu")),
        operstate=read_text(f"{folder}/operstate"),
        speed=number(read_text(f"{folder}/speed")),
    )


def _ip4(asked: socket.socket, name: str) -> str:
    wish = struct.pack("256s", name.encode()[:15])
    try:
        answer = fcntl.ioctl(asked.fileno(), _GET_ADDRESS, wish)
    except OSError:  # it has none
        return ""
    return socket.inet_ntoa(answer[20:24])


def _ip6() -> dict[str, str]:
    """One of each interface; one for the whole network, if there is one."""
    found: dict[str, tuple[int, str]] = {}
    for line in read(f"{PROC}/net/if_inet6").decode(errors="replace").splitlines():
        words = line.split()
        if len(words) < 6:
            continue
        scope, name = int(words[3], 16), words[5]
        address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(words[0]))
        if name not in found or scope < found[name][0]:
            found[name] = scope, address
    return {name: address for name, (_, address) in found.items()}
