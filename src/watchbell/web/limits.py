"""Rate limits, counted in the store for all processes together."""

from ipaddress import IPv6Address, ip_address, ip_network

from watchbell.store.client import Store
from watchbell.store.script import Script
from watchbell.web.keys import Web
from watchbell.web.secrets import digest

# KEYS[1] counter; ARGV[1] cost, ARGV[2] the most, ARGV[3] seconds after which it starts again.
# Returns 0, or the seconds to wait.
_SPEND = Script("""
local spent = redis.call('INCRBY', KEYS[1], ARGV[1])
if redis.call('TTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
if spent > tonumber(ARGV[2]) then return math.max(redis.call('TTL', KEYS[1]), 1) end
return 0
""")


def sender(address: str) -> str:
    """The network for which attempts are counted: an IPv6 address stands for its /64."""
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return str(known)
    return str(known.ipv4_mapped or ip_network((int(known), 64), strict=False))


class Limit:
    def __init__(self, what: str, most: int, seconds: int) -> None:
        self.what, self.most, self.seconds = what, most, seconds

    def key(self, store: Store, name: str) -> str:
        return Web(store.prefix).tries(digest(f"{self.what} {name}"))

    async def spend(self, store: Store, name: str) -> int:
        """Seconds to wait; 0 where it may be done now. An attempt counts before it is made."""
        return int(await _SPEND(store, [self.key(store, name)], [1, self.most, self.seconds]))

    async def forgive(self, store: Store, name: str) -> None:
        await store.call("DEL", self.key(store, name))


BY_ADDRESS = Limit("sign-in from", 30, 300)
BY_USER = Limit("sign-in as", 10, 900)
BY_LINK = Limit("sign-in link from", 30, 300)
BY_ACK_LINK = Limit("acknowledgement link from", 120, 300)
KEYS_MADE = Limit("keys made by", 60, 3_600)
"""So that a viewer can't push everything else out of the audit log."""
