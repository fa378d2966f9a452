"""The server: what it answers whatever comes, and what it tells of problems."""

import asyncio
from io import BytesIO
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.servers import single
from tests.web.site import BY, Site, certified, chosen, served
from watchbell.errors import BadSettings, Refused
from watchbell.settings import Web
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.web import server
from watchbell.web.pages.paths import local
from watchbell.web.people import sign_in_links
from watchbell.web.request_envelope import POLICY
from watchbell.web.tls_warning import is_exposed


async def test_health_is_told_to_anybody(site: Site) -> None:
    async with site.stranger() as visitor:
        answer = await visitor.get("/healthz")
    assert (answer.status, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/sign-in", "/api/v1/users"])
async def test_every_answer_keeps_browsers_strict(site: Site, path: str) -> None:
    async with site.stranger() as visitor:
        answer = await visitor.get(path)
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "no-" in answer.headers["Cache-Control"]
    assert "Server" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("PUT", "/healthz", 405),
        ("GET", "/static/nothing.css", 404),
        ("GET", "/static/..%2fkeys.py", 404),
        ("GET", "/static/%2e%2e/keys.py", 404),
        ("GET", "/static/%00", 404),
        ("GET", "/static//etc/passwd", 404),
    ],
)
async def test_what_is_not_there_is_a_problem(
    site: Site, method: str, path: str, status: int
) -> None:
    async with site.stranger() as visitor:
        answer = await visitor.ask(method, path)
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == status


async def test_head_is_answered_as_get_is_without_a_body(site: Site) -> None:
    """As balancers ask for the health of a server."""
    async with site.stranger() as visitor:
        for path in ("/healthz", "/sign-in", "/nowhere"):
            told, got = await visitor.ask("HEAD", path), await visitor.get(path)
            assert (told.status, told.body) == (got.status, b"")
            assert told.headers["Content-Length"] == str(len(got.body))
        assert (await visitor.ask("HEAD", "/api/v1/session")).status == 401


async def test_a_wrong_field_is_named(site: Site) -> None:
    async with site.somebody("administrator") as alice:
        wrong = await alice.post("/api/v1/users", json={"name": "bob", "role": "king"})
        missing = await alice.post("/api/v1/users", json={"role": "viewer"})
        unknown = await alice.post("/api/v1/users", json={"name": "bob", "rôle": "viewer"})
        query = await alice.get("/api/v1/users?limit=many")
    assert [answer.status for answer in (wrong, missing, unknown, query)] == [400] * 4
    assert wrong.json()["errors"][0]["field"] == "role"
    assert missing.json()["errors"] == [{"field": "name", "reason": "it is missing"}]
    assert unknown.json()["errors"] == [{"field": "rôle", "reason": "there is no such field"}]
    assert query.json()["errors"][0]["field"] == "limit"


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "words"),
    [
        ("GET", "/api/v1/check", None, "check", "check: it is missing"),
        ("GET", "/api/v1/checks?sort=size", None, "sort", "age, name, severity"),
        ("POST", "/api/v1/users", {"name": "bob", "role": "king"}, "role", "administrator, editor"),
        ("POST", "/api/v1/users", {"role": "viewer"}, "name", "name: it is missing"),
        ("POST", "/api/v1/api-keys", {"name": "a", "scopes": ["all"]}, "scopes[0]", "intake"),
    ],
)
async def test_a_problem_says_what_was_expected_and_where(
    site: Site, method: str, path: str, body: object, field: str, words: str
) -> None:
    async with site.somebody("administrator") as alice:
        answer = await alice.ask(method, path, json=body)
    told = answer.json()
    assert (answer.status, [one["field"] for one in told["errors"]]) == (400, [field])
    assert words in told["detail"]


async def test_a_refusal_of_a_domain_names_its_field_once(site: Site) -> None:
    async with site.somebody("editor") as alice:
        answer = await alice.post("/api/v1/entities", json={"name": "web-1:HTTP"})
        used = await alice.get("/api/v1/maintenance?from=5&to=4")
    for one, field in ((answer, "name"), (used, "to")):
        problem = one.json()
        assert one.status == 422
        assert problem["errors"] == [{"field": field, "reason": problem["detail"]}]
        assert not problem["detail"].startswith(f"{field}:")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"name": "\xff"}', b"5"])
async def test_a_body_that_is_no_json_is_a_problem(site: Site, body: bytes) -> None:
    async with site.somebody("administrator") as alice:
        headers = {"Content-Type": "application/json"}
        answer = await alice.post("/api/v1/users", data=body, headers=headers)
    assert answer.status == 400
    assert answer.headers["Content-Type"] == "application/problem+json"


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(site: Site) -> None:
    async with site.somebody("administrator") as alice:
        answer = await alice.post("/api/v1/users", data=BytesIO(b" " * (2 << 20)))
    assert answer.status == 413


async def test_a_store_that_is_away_is_told_with_when_to_ask_again(folder: Path) -> None:
    with single(folder) as running:
        async with (
            Store(store_url.parse(running.url)) as store,
            served(store) as site,
            site.somebody("administrator") as alice,
            site.program("intake") as program,
        ):
            running.server.kill()
            read = await alice.get("/api/v1/users")
            event = {"type": "service", "state": "ok", "entity": "a", "check": "b"}
            posted = await program.post("/api/v1/check-events", json=event)
    for answer in (read, posted):
        assert answer.status == 503
        assert int(answer.headers["Retry-After"]) > 0
        assert "the store is unavailable" in answer.json()["detail"]
        assert "Traceback" not in answer.text


async def test_a_fault_of_ours_shows_no_traceback(site: Site, store: Store) -> None:
    await store.call("SET", "web_users", "not a hash")
    async with site.stranger() as visitor:
        answer = await visitor.post("/api/v1/session", json={"user": "a", "password": "b"})
    assert answer.status == 500
    assert "its log has the details" in answer.json()["detail"]
    assert len(answer.json()["request"]) == 32
    assert "Traceback" not in answer.text
    await store.call("DEL", "web_users")


async def test_who_sends_half_of_a_request_is_hung_up_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.1)
    host, port = site.url.removeprefix("http://").split(":")
    for beginning in (b"", b"GET / HTTP/1.1\r\nHost: a\r\n", b"GET /healthz HTTP/1.1\r\nHost: a"):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(beginning)
        async with asyncio.timeout(60):
            assert await reader.read() == b""
        writer.close()


async def test_a_port_that_is_taken_is_told_in_one_line(store: Store) -> None:
    async with served(store) as site:
        port = int(site.url.rpartition(":")[2])
        with pytest.raises(Refused, match=rf"port {port} of 127.0.0.1 .*can't be used: Address"):
            async with served(store, port=port):
                pass


async def test_a_certificate_that_is_missing_is_told_in_one_line(store: Store) -> None:
    with pytest.raises(BadSettings, match=r"^web.tls_cert and web.tls_key can't be used"):
        async with served(store, tls_cert="/nonexistent.pem"):
            pass


async def test_with_a_certificate_cookies_are_for_tls_alone(store: Store, tmp_path: Path) -> None:
    cert, key, trust = certified(tmp_path)
    async with served(store, tls_cert=str(cert), tls_key=str(key)) as site:
        alice = await site.services.users.add("alice", "viewer", BY)
        path = await sign_in_links.make(store, alice, BY)
        async with (
            ClientSession() as http,
            http.post(site.url + path, ssl=trust, allow_redirects=False) as answer,
        ):
            cookie = answer.headers["Set-Cookie"]
            assert answer.headers["Strict-Transport-Security"].startswith("max-age=")
    assert cookie.startswith("__Host-watchbell=")
    assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=lax", "Path=/"))


@pytest.mark.parametrize(
    ("host", "tls", "exposed"),
    [
        ("127.0.0.1", "", False),
        ("127.8.8.8", "", False),
        ("::1", "", False),
        ("localhost", "", False),
        ("0.0.0.0", "", True),
        ("::", "", True),
        ("192.0.2.7", "", True),
        ("watch.example.com", "", True),
        ("0.0.0.0", "/cert.pem", False),
    ],
)
def test_what_can_be_read_on_its_way_is_known(host: str, tls: str, exposed: bool) -> None:
    assert is_exposed(Web(host=host, tls_cert=tls)) is exposed
    assert not is_exposed(Web(host=host, tls_cert=tls, port=0))


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("/", "/"),
        ("/account", "/account"),
        ("/checks?state=critical&tag=a%20b", "/checks?state=critical&tag=a%20b"),
        ("", "/"),
        ("account", "/"),
        ("//evil.example.com", "/"),
        ("/\\evil.example.com", "/"),
        ("/\t/evil.example.com", "/"),
        ("https://evil.example.com", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: b=c", "/"),
        ("/" + "a" * 3_000, "/"),
    ],
)
def test_a_page_leads_on_to_this_server_alone(path: str, leads: str) -> None:
    assert local(path) == leads


def test_the_default_is_loopback() -> None:
    assert chosen().web.host == "127.0.0.1"
