"""The settings and the client that media over HTTP share."""

import asyncio

from watchbell.gateways.medium import SendLimits
from watchbell.gateways.message import Form
from watchbell.http.client import MOST, Client
from watchbell.http.networks import Networks
from watchbell.store.client import Store


class Reach(SendLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of all media over HTTP."""

    ca_file: str = ""
    """A file of certificates to trust besides the system's."""


class WideReach(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of media whose addresses are URLs."""

    allow_networks: tuple[str, ...] = ()
    """Networks, besides the public Internet, to which addresses may lead."""

    def __post_init__(self) -> None:
        Networks(self.allow_networks)


class OverHttp:
    """A medium over HTTP, without its `send`."""

    form = Form()

    def __init__(self, limits: SendLimits, *clients: Client) -> None:
        self.limits, self._clients = limits, clients

    async def attend(self, store: Store) -> None:  # noqa: ARG002 there are no answers
        await asyncio.Event().wait()

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


def client(
    settings: Reach,
    *,
    is_service: bool,
    networks: Networks | None = None,
    connections: int = 0,
    most: int = MOST,
) -> Client:
    """The client of a medium with these settings."""
    return Client(
        timeout=settings.timeout,
        connections=connections or settings.concurrency,
        is_service=is_service,
        ca_file=settings.ca_file,
        networks=networks,
        most=most,
    )
