"""Secrets as canaries: given to a real house, used, and looked for wherever they may not be."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar

from tests.browser.house import House, housed
from tests.web.people.test_access import Endpoint, endpoints
from tests.web.site import Site, Visitor
from watchbell.store.client import Store

READ = {
    b"string": ("GET",),
    b"hash": ("HGETALL",),
    b"list": ("LRANGE", 0, -1),
    b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", 0, -1),
    b"stream": ("XRANGE", "-", "+"),
}
ENDLESS = ("/live", "/api/v1/session")


@pytest.fixture
async def house(folder: Path) -> AsyncIterator[House]:
    async with housed(folder, WATCHBELL_LOG_LEVEL="debug") as running:
        yield running


async def test_no_secret_is_found_where_it_does_not_belong(house: House) -> None:
    site = Site(house.url, house.services)
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as http:
        alice = Visitor(site, http)
        canaries = await given(house, alice)
        await used(alice, canaries)
        answers = [await shown(alice, one) for one in endpoints(site) if is_read(one)]
        assert len(answers) > 30
        places = {
            "an answer": b"\n".join(answers),
            "the store": await everything(house.store),
            "the log": house.up.log.read_bytes(),
            "the data folder": b"\n".join(contents(house.up.data)),
            "a command line": b"\n".join(command_lines()),
        }
    for name, canary in canaries.items():
        for place, content in places.items():
            assert canary.encode() not in content, f"{name} is in {place}"
    assert str(house.up.data).encode() in places["a command line"]
    assert b"deploy" in places["the data folder"]


async def given(house: House, alice: Visitor) -> dict[str, str]:
    """Secrets of every kind, made as people make them."""
    canaries = {"password": f"canary {secrets.token_hex(16)}"}
    assert (await alice.post(house.first_link.removeprefix(house.url))).status == 303
    alice.csrf = (await alice.get("/api/v1/session")).json()["csrf"]
    new = {"new": canaries["password"]}
    assert (await alice.ask("PUT", "/api/v1/session/password", json=new)).status == 204
    credentials = {"user": "admin", "password": canaries["password"]}
    entered = await alice.post("/api/v1/session", json=credentials)
    alice.csrf = entered.json()["csrf"]
    canaries["session"] = entered.cookies["watchbell"].value
    key = {"name": "deploy", "scopes": ["admin"]}
    canaries["key"] = secret_of(await alice.post("/api/v1/api-keys", json=key))
    ping = {"name": "nightly", "scopes": ["ping"], "ping": {"check": "db-1:backup", "ttl": 60}}
    canaries["ping key"] = secret_of(await alice.post("/api/v1/api-keys", json=ping))
    link = await alice.post("/api/v1/users", json={"name": "bob"})
    canaries["link"] = link.json()["link"].rpartition("/")[2]
    return canaries


def secret_of(answer: object) -> str:
    """Its last part, which may have underscores, too."""
    _, _, secret = answer.json()["secret"].split("_", 2)  # type: ignore[attr-defined]
    assert len(secret) > 30
    return str(secret)


async def used(alice: Visitor, canaries: dict[str, str]) -> None:
    """Each in its place, and in some where people put them by mistake."""
    wrong = {"user": "admin", "password": canaries["password"] + "x"}
    assert (await alice.post("/api/v1/session", json=wrong)).status == 401
    bearer = {"Authorization": f"Bearer wb_{'0' * 12}_{canaries['key']}"}
    assert (await alice.get("/api/v1/users", headers=bearer)).status == 401
    for path in (
        f"/sign-in/{canaries['link']}",
        f"/ping/wb_{'0' * 12}_{canaries['ping key']}",
        f"/nowhere/{canaries['key']}?key={canaries['key']}",
        f"/api/v1/system?api_key={canaries['key']}",
    ):
        await alice.get(path, headers={"Accept": "text/html"})


def is_read(endpoint: Endpoint) -> bool:
    return endpoint.method == "GET" and not endpoint.path.endswith(ENDLESS)


async def shown(alice: Visitor, endpoint: Endpoint) -> bytes:
    async with asyncio.timeout(60):
        return (await alice.get(endpoint.url)).body


async def everything(store: Store) -> bytes:
    kept = []
    for key in await store.call("KEYS", "*"):
        kind = await store.call("TYPE", key)
        if kind == b"none":  # it has just expired
            continue
        name, *more = READ[kind]
        kept += [key, repr(await store.call(name, key, *more)).encode()]
    return b"\n".join(kept)


def contents(folder: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()


def command_lines() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes()
        except OSError:  # it has just ended
            continue
