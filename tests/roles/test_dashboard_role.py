"""The role that serves the dashboard: in `up`, alone, and with bad settings."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from websockets.asyncio.client import connect

from tests import servers
from tests.archive.crawling import SITE, append, running
from tests.cli.commands import ran
from tests.conftest import Up
from tests.waiting import eventually
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, Refused
from watchbell.roles import dashboard
from watchbell.roles.catalogue import chosen
from watchbell.roles.role import Context
from watchbell.settings import Archive, Settings
from watchbell.settings.sections import ArchiveDashboard
from watchbell.store import url as store_url
from watchbell.store.client import Store

PLACE = "WATCHBELL_ARCHIVE_DASHBOARD_"


def settings(**fields: Any) -> Settings:
    return Settings(
        data=Path("/nonexistent"), archive=Archive(dashboard=ArchiveDashboard(**fields))
    )


def is_among(*roles: Any) -> bool:
    return "dashboard" in [role.name for role in roles]


async def test_up_serves_both_ports_of_a_dashboard(folder: Path) -> None:
    with servers.held_port() as first, servers.held_port() as second:
        port, stream_port = first.getsockname()[1], second.getsockname()[1]
        places = {f"{PLACE}PORT": str(port), f"{PLACE}STREAM_PORT": str(stream_port)}
        with Up(folder / "data", **places, WATCHBELL_ARCHIVE_CONCURRENT="0") as up:
            await eventually(lambda: '"role": "dashboard"' in up.log.read_text())
            async with (
                Store(store_url.parse(up.url)) as store,
                connect(f"ws://127.0.0.1:{stream_port}/stream") as viewer,
                ClientSession() as http,
            ):
                owned = await running(store)
                await append(store, owned, 1, 200)
                async with asyncio.timeout(120):
                    assert f'"ident":"{SITE}"' in str(await viewer.recv())
                async with http.get(f"http://127.0.0.1:{port}/logs/recent") as answer:
                    assert len(await answer.json()) == 1


async def test_the_status_has_the_address_and_who_is_connected(store: Store) -> None:
    with servers.held_port() as hold:
        port = hold.getsockname()[1]
        given = settings(port=port)
        (role,) = dashboard.roles(given)
        shown: list[str] = []

        async def serve() -> None:
            await role.run(Context(given, store, SYSTEM, shown.append))

        async with asyncio.TaskGroup() as group:
            serving = group.create_task(serve())
            address = f"http://127.0.0.1:{port}"
            await eventually(lambda: shown == [f"{address}, 0 connected"])
            async with connect(f"ws://127.0.0.1:{port}/stream"):
                await eventually(lambda: shown[-1] == f"{address}, 1 connected")
            await eventually(lambda: shown[-1] == f"{address}, 0 connected")
            serving.cancel()


async def test_a_port_that_is_taken_is_named_with_its_setting(store: Store) -> None:
    with servers.held_port() as taken, servers.held_port() as free:
        taken.listen()
        port, other = taken.getsockname()[1], free.getsockname()[1]
        for given, name in (
            (settings(port=port), r"archive\.dashboard\.port"),
            (settings(port=other, stream_port=port), r"archive\.dashboard\.stream_port"),
        ):
            (role,) = dashboard.roles(given)
            with pytest.raises(Refused, match=name):
                await role.run(Context(given, store, SYSTEM, lambda _: None))


def test_without_a_port_there_is_no_role(server: servers.Single) -> None:
    assert not is_among(*chosen(settings()))
    assert is_among(*chosen(settings(port=4567)))
    done = ran("run", "dashboard", "--store", server.url)
    assert done.returncode != 0
    assert "dashboard is not configured" in done.stderr


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("archive.dashboard.origins", {"origins": ("example.com",)}),
        ("archive.dashboard.port", {"port": 0, "stream_port": 4568}),
    ],
)
def test_bad_settings_are_named(words: str, fields: dict[str, Any]) -> None:
    with pytest.raises(BadSettings, match=words):
        dashboard.roles(settings(**{"port": 4567, **fields}))


def test_doctor_warns_of_a_dashboard_that_others_can_reach(server: servers.Single) -> None:
    place = {f"{PLACE}PORT": "4567"}
    assert "without signing in" not in ran("doctor", "--store", server.url, **place).stdout
    exposed = ran("doctor", "--store", server.url, **place, **{f"{PLACE}HOST": "0.0.0.0"}).stdout
    assert "without signing in" in exposed
    assert "archive.dashboard.host" in exposed
