"""At the edges of the web server: proxies, patience, odd bytes, logs, words about itself."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession
from litestar.types import Receive, Scope, Send

from tests.logged import logged
from tests.waiting import eventually
from tests.web.site import BY, Site, served, serving_app
from watchbell.alerting.keys import Alerting
from watchbell.store.client import Store
from watchbell.web.app import application, framed
from watchbell.web.people import sign_in_links
from watchbell.web.request_envelope import RequestEnvelope


async def test_only_a_trusted_proxy_says_from_where_somebody_comes(store: Store) -> None:
    headers = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
    seen = []
    for proxies in ((), ("127.0.0.1",), ("192.0.2.0/24",)):
        async with served(store, trusted_proxies=proxies) as site, site.stranger() as visitor:
            users = site.services.users
            alice = await users.find("alice") or await users.add("alice", "viewer", BY)
            path = await sign_in_links.make(store, alice, BY)
            answer = await visitor.post(path, headers=headers)
            found = await site.services.sessions.all(site.services.now())
            last = max(found.values(), key=lambda one: (one.began, one.address != "127.0.0.1"))
            seen.append((last.address, "Secure" in answer.headers["Set-Cookie"]))
            for name in found:
                await site.services.sessions.end(name, BY.entry("session.end", "alice"))
    assert seen == [("127.0.0.1", False), ("192.0.2.7", True), ("127.0.0.1", False)]


async def test_a_body_that_does_not_come_is_not_waited_for(site: Site) -> None:
    secret, _ = await site.services.api_keys.make("slow", ("intake",), BY)
    hurried = RequestEnvelope(application(site.services), seconds=0.2)
    async with serving_app(hurried, site.services) as other:
        host, port = other.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = (
            f"POST /api/v1/check-events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n"
        )
        writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        async with asyncio.timeout(60):
            answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in answer
    assert b"nosniff" in answer


async def test_who_hangs_up_fills_no_log(site: Site) -> None:
    app, ended = framed(site.services), list[Scope]()

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)
        ended.append(scope)

    with logged() as lines:
        async with serving_app(watched, site.services) as other:
            host, port = other.url.removeprefix("http://").split(":")
            _, writer = await asyncio.open_connection(host, int(port))
            head = "POST /api/v1/session HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
            writer.write(f"{head}{{".encode())
            await writer.drain()
            writer.close()
            await eventually(lambda: ended)
    assert lines.all() == []


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("POST", "/api/v1/session", {"data": b'{"user": "\\ud800", "password": "x"}'}),
        ("POST", "/api/v1/session", {"data": '{"user": "\x00ü", "password": "\x00"}'.encode()}),
        ("POST", "/sign-in", {"data": {"user": "\x00", "password": "ü"}}),
        ("POST", "/sign-in", {"data": b"user=%ff%00&password=%ff&password=2"}),
        ("POST", "/sign-in", {"data": b"\xff\xfe=&&&=", "headers": {"Content-Type": "x"}}),
        ("GET", "/sign-in?next=%ff%00&next=2", {}),
        ("GET", "/sign-in/%ff%00", {}),
        ("GET", "/ack/%ff", {}),
        ("GET", "/ping/%ff/%00", {}),
        ("GET", "/%ff/%00/..", {}),
        ("GET", "/healthz", {"headers": {"Cookie": 'watchbell="\xff; a=b;;;'}}),
        ("GET", "/account", {"headers": {"Cookie": "watchbell=%ff; watchbell=2"}}),
        ("GET", "/account", {"headers": {"Authorization": "Basic /////w=="}}),
        ("GET", "/account", {"headers": {"If-None-Match": '",",W/'}}),
    ],
)
async def test_odd_bytes_are_no_fault_of_ours(
    site: Site, method: str, path: str, more: dict[str, Any]
) -> None:
    async with site.stranger() as visitor:
        answer = await visitor.ask(method, path, **more)
    assert answer.status < 500, answer.text


async def test_no_link_and_no_ping_is_in_the_log(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = await sign_in_links.make(
        site.store, await site.services.users.add("alice", "viewer", BY), BY
    )
    async with site.stranger() as visitor:
        assert (await visitor.post(path)).status == 303
        await visitor.get("/ping/wb_secret")
    assert path.rpartition("/")[2] not in caplog.text
    assert "wb_secret" not in caplog.text


async def test_the_system_tells_of_itself(site: Site, store: Store) -> None:
    await store.call("LPUSH", Alerting().events(), "{}", "{}")
    async with site.program("read") as reader, site.program("admin") as admin:
        told = (await reader.get("/api/v1/system")).json()
        settings = (await admin.get("/api/v1/system/settings")).json()
        families = (await admin.get("/api/v1/system/families")).json()
    assert {"name": "events", "length": 2, "takers": []} in told["queues"]
    assert told["version"]
    assert any(one["subject"] == "version" for one in told["store"])
    assert any((one["name"], one["value"]) == ("web.port", 0) for one in settings)
    events = next(one for one in families if one["name"] == "events")
    assert events["keys"] == 1
    assert events["bytes"] > 0


async def test_no_secret_is_among_the_settings(store: Store) -> None:
    async with served(store) as site:
        chosen = site.services.settings
        hidden = msgspec.structs.replace(
            chosen,
            store=msgspec.structs.replace(chosen.store, url="redis://u:hunter2-geheim@h"),
        )
        services = msgspec.structs.replace(site.services, settings=hidden)
        async with (
            serving_app(application(services), services) as other,
            other.program("admin") as admin,
        ):
            answer = await admin.get("/api/v1/system/settings")
    assert "redis://u:***@h" in answer.text
    assert "geheim" not in answer.text


async def test_a_connection_serves_many_requests(site: Site) -> None:
    async with ClientSession() as http:
        for _ in range(50):
            async with http.get(f"{site.url}/healthz") as answer:
                assert answer.status == 200
                assert "keep-alive" in answer.headers.get("Connection", "keep-alive")
