"""Names to addresses that a crawl may connect to."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address

from watchbell.archive.fetching.model import FetchFailed
from watchbell.clock import SYSTEM, Clock
from watchbell.http.networks import Networks

_THREADS = 32
_KEPT_FOR = 60
_MOST_KEPT = 10_000
_MOST_ADDRESSES = 6
_AGAIN = (socket.EAI_AGAIN, socket.EAI_FAIL)


class Resolver:
    """Asks the system, in threads of its own, and remembers answers for a minute."""

    def __init__(self, networks: Networks, clock: Clock = SYSTEM) -> None:
        self._networks = networks
        self._clock = clock
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="crawl-dns")
        self._kept: dict[str, tuple[float, list[str]]] = {}
        self._asked: dict[str, asyncio.Future[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """Those of a host that are allowed. FetchFailed if there are none. Connect to these and not
        to the name, which may lead elsewhere the next time."""
        found = [host] if _is_address(host) else await self._resolved(host)
        refusals = {address: self._networks.refusal(address) for address in found}
        allowed = [address for address, refusal in refusals.items() if not refusal]
        if not allowed:
            raise FetchFailed(next(iter(refusals.values()), "name has no address"))
        return allowed[:_MOST_ADDRESSES]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _resolved(self, host: str) -> list[str]:
        expires, found = self._kept.get(host, (0.0, []))
        if expires > self._clock.monotonic():
            return found
        try:
            found = await self._shared_lookup(host)
        except socket.gaierror as error:
            raise FetchFailed(
                f"DNS: {(error.strerror or 'lookup failed').lower()}",
                is_retryable=error.errno in _AGAIN,
            ) from None
        except (UnicodeError, OSError) as error:
            raise FetchFailed(f"DNS: {error}") from None
        self._kept.pop(host, None)
        self._kept[host] = (self._clock.monotonic() + _KEPT_FOR, found)
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    async def _shared_lookup(self, host: str) -> list[str]:
        """One lookup for all who ask at the same time; one who stops waiting does not end it."""
        lookup = self._asked.get(host)
        if lookup is None:
            loop = asyncio.get_running_loop()
            lookup = loop.run_in_executor(self._threads, _looked_up, host)
            self._asked[host] = lookup
            lookup.add_done_callback(partial(self._forget, host))
        return await asyncio.shield(lookup)

    def _forget(self, host: str, _lookup: object) -> None:
        del self._asked[host]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _looked_up(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
