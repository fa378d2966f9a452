"""`watchbell run irc`: people on a real IRC server command the archive."""

import asyncio
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.archive.ircd import CHANNEL, Ngircd, ngircd, person
from tests.cli.commands import ran, running
from tests.waiting import eventually
from watchbell.archive import crawls, idents
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings
from watchbell.roles import irc
from watchbell.roles.role import Context
from watchbell.settings import Archive, Secret, Settings
from watchbell.settings.sections import ArchiveIrc
from watchbell.store.client import Store

URL = "https://example.com/some-page"
IDENT = idents.ident_of(URL)


@pytest.fixture
def ircd() -> Iterator[Ngircd]:
    with ngircd(tls=True, password="s3cret") as running:
        yield running


def config(folder: Path, ircd: Ngircd) -> str:
    path = folder / "watchbell.toml"
    path.write_text(f"""
[archive.irc]
server = "127.0.0.1:{ircd.port}"
ca_file = "{ircd.ca}"
password = "s3cret"
channels = ["{CHANNEL}"]
""")
    return str(path)


async def test_a_crawl_is_started_and_aborted_in_a_channel(
    store: Store, server: servers.Single, ircd: Ngircd, tmp_path: Path
) -> None:
    options = ("--config", config(tmp_path, ircd), "--store", server.url)
    async with person(ircd, "alice") as alice, person(ircd, "bob") as bob:
        with running("run", "irc", *options, said="connected"):
            await alice.sees("watchbell")
            bob.says(f"!ao {URL} --explain 'for Charlie'")
            await bob.hears("bob: Queued", URL, IDENT)
            found = await crawls.get(store, IDENT)
            assert found is not None
            assert (found.started_by, found.started_in) == ("bob", CHANNEL)
            assert (found.fetch_depth, found.note) == ("shallow", "for Charlie")
            bob.says(f"!abort {IDENT}")
            await bob.hears("bob: Only people with voice may do that.")
            bob.says("!pending")
            await bob.hears("No crawls are waiting.", to="bob")
            alice.says(f"!abort {IDENT}")
            await alice.hears(f"alice: Aborted {IDENT}.")
            await alice.hears("bob:", URL, "aborted")


async def test_one_of_several_processes_is_connected(store: Store, ircd: Ngircd) -> None:
    chosen = ArchiveIrc(
        server=f"127.0.0.1:{ircd.port}",
        ca_file=str(ircd.ca),
        password=Secret("s3cret"),
        channels=(CHANNEL,),
    )
    settings = Settings(data=Path("/nonexistent"), archive=Archive(irc=chosen))
    (role,) = irc.roles(settings)
    shown: list[list[str]] = [[], []]
    tasks = []
    async with person(ircd, "alice") as alice:
        for said in shown:
            context = Context(settings, store, SYSTEM, said.append)
            tasks.append(asyncio.create_task(_forever(role.run(context))))
            await eventually(said.copy)
        assert shown == [["connected as watchbell"], ["another process is connected"]]
        await alice.sees("watchbell")
        tasks[0].cancel()
        await asyncio.wait(tasks[:1])
        await eventually(lambda: shown[1][-1] == "connected as watchbell")
        tasks[1].cancel()
        await asyncio.wait(tasks)


async def _forever(work: Awaitable[None]) -> None:
    await work


def test_without_a_server_there_is_no_role(server: servers.Single) -> None:
    done = ran("run", "irc", "--store", server.url)
    assert done.returncode != 0
    assert "irc" in done.stderr


@pytest.mark.parametrize(
    ("server", "tls", "address"),
    [
        ("irc.example.com", True, ("irc.example.com", 6697)),
        ("irc.example.com", False, ("irc.example.com", 6667)),
        ("irc.example.com:7000", True, ("irc.example.com", 7000)),
        ("[::1]:7000", False, ("::1", 7000)),
        ("[::1]", False, ("::1", 6667)),
        ("::1", False, ("::1", 6667)),
    ],
)
def test_the_address_of_a_server(server: str, tls: bool, address: tuple[str, int]) -> None:
    account = irc.account_of(ArchiveIrc(server=server, tls=tls, channels=("#a",)))
    assert (account.host, account.port) == address


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("archive.irc.server", {"server": "host:port"}),
        ("archive.irc.server", {"server": "host:99999"}),
        ("archive.irc.server", {"server": ":6667"}),
        ("archive.irc.nick", {"nick": "two words"}),
        ("archive.irc.channels", {"channels": ()}),
        ("archive.irc.channels", {"channels": ("archive",)}),
        ("archive.irc.channels", {"channels": ("#a b c",)}),
        ("ca_file", {"ca_file": "/nonexistent"}),
    ],
)
def test_bad_settings_are_named(words: str, fields: dict[str, Any]) -> None:
    given = {"server": "irc.example.com", "channels": ("#a",), "password": Secret(), **fields}
    with pytest.raises(BadSettings, match=words):
        irc.account_of(ArchiveIrc(**given))
