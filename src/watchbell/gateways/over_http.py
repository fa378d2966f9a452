"""What media over HTTP have in common: settings, and a client with their limits."""

import asyncio

from watchbell.gateways.medium import SendLimits
from watchbell.gateways.message import Form
from watchbell.http.client import MOST, Client
from watchbell.http.networks import Networks
from watchbell.store.client import Store


class Reach(SendLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the settings of media over HTTP have in common."""

    ca_file: str = ""
    """A file of certificates that are trusted besides the system's."""


class WideReach(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same where the address of a contact says which server is asked."""

    allow_networks: tuple[str, ...] = ()
    """Networks that addresses may lead to, besides the public Internet."""

    def __post_init__(self) -> None:
        Networks(self.allow_networks)


class OverHttp:
    """What media over HTTP have in common; each has its own `send`."""

    form = Form()

    def __init__(self, name: str, limits: SendLimits, *clients: Client) -> None:
        self.name, self.limits, self._clients = name, limits, clients

    async def attend(self, store: Store) -> None:  # noqa: ARG002 nothing is heard back
        await asyncio.Event().wait()

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


def client(
    chosen: Reach,
    *,
    is_service: bool,
    networks: Networks | None = None,
    connections: int = 0,
    most: int = MOST,
) -> Client:
    """The client of a medium with these settings."""
    return Client(
        timeout=chosen.timeout,
        connections=connections or chosen.concurrency,
        is_service=is_service,
        ca_file=chosen.ca_file,
        networks=networks,
        most=most,
    )
