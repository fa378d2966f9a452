"""Servers that join a fleet, as tests need them."""

from typing import Any

from watchbell.fleet import joining, tokens
from watchbell.fleet.joining import Arrival
from watchbell.fleet.model import AgentToken, Sample, Server, ServerInfo
from watchbell.store.client import Store

NOW = 1_763_208_000
INFO = ServerInfo(arch="x86_64", platform="linux", cpu={"cores": 2})


def arrival(hostname: str, now: int = NOW, **more: Any) -> Arrival:
    return Arrival(
        **{"hostname": hostname, "info": INFO, "address": "192.0.2.1", "now": now, **more}
    )


async def join(store: Store, machine: str, **token: Any) -> tuple[Server, AgentToken]:
    """A server that joins with a token made for it."""
    _, made = await tokens.create_join(store, "alice", NOW, **token)
    return await joining.arrive(store, made.id, arrival(machine))


def sample(at: float, **more: Any) -> Sample:
    usual = {"cpu": 10.0, "load": (1.0, 0.5, 0.25), "memory": 1 << 30, "memory_total": 4 << 30}
    return Sample(**{"at": at, **usual, **more})
