"""The local agent of `watchbell up`."""

import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.conftest import Up
from tests.servers import held_port
from tests.waiting import eventually
from tests.web.site import chosen
from watchbell.fleet import presence, servers, tokens
from watchbell.roles import agent
from watchbell.store import url as store_url
from watchbell.store.client import Store


@pytest.mark.parametrize(
    ("web", "url", "ca"),
    [
        ({"port": 8180}, "http://127.0.0.1:8180", ""),
        ({"port": 8180, "host": "0.0.0.0"}, "http://127.0.0.1:8180", ""),
        ({"port": 8180, "host": "::"}, "http://[::1]:8180", ""),
        ({"port": 8180, "host": "192.0.2.1"}, "http://192.0.2.1:8180", ""),
        ({"port": 8180, "url": "https://bell.example.com"}, "http://127.0.0.1:8180", ""),
        ({"port": 443, "tls_cert": "/c.pem"}, "https://127.0.0.1:443", "/c.pem"),
        (
            {"port": 443, "tls_cert": "/c.pem", "url": "https://bell.example.com"},
            "https://bell.example.com",
            "",
        ),
    ],
)
def test_where_the_local_agent_connects_to(web: dict[str, object], url: str, ca: str) -> None:
    settings = chosen()
    settings = replace(settings, web=replace(settings.web, **web))
    assert agent.loopback(settings) == (url, ca)


def test_without_the_web_there_is_no_local_agent() -> None:
    assert agent.running(chosen()) == []


async def test_up_runs_an_agent_that_comes_back(folder: Path) -> None:
    data = folder / "data"
    with held_port() as port:
        number = str(port.getsockname()[1])
        options = {"WATCHBELL_WEB_PORT": number, "WATCHBELL_AGENT_HOSTNAME": "db-1"}
        with Up(data, "--port", "0", **options) as up:
            first = await _joined(up)
            assert "not connected" not in up.log.read_text()
            token = data / "agent" / "token"
            assert stat.S_IMODE(token.stat().st_mode) == 0o600
            async with Store(store_url.parse(up.url)) as store:
                known = await tokens.authenticate(store, token.read_text().strip(), 0)
            assert known is not None
            assert known.server == first
            up.end()
            up.again()
            assert await _joined(up) == first
            up.end()
            token.write_text("wba_of_another_store\n")
            up.again()
            assert await _joined(up) == first


async def _joined(up: Up) -> str:
    """The only server, once it is connected."""
    async with Store(store_url.parse(up.url)) as store:

        async def online() -> str:
            found = await presence.read(store)
            known = await servers.every(store)
            assert len(known) < 2
            return next((one.id for one in known if found.is_online(one.id, 1_000)), "")

        return await eventually(online)
