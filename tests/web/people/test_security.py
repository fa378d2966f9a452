"""What attackers send, and what they get: the whole route table, raw bytes, known corpora."""

import asyncio
import re
import zlib
from collections.abc import Iterator
from http.cookies import SimpleCookie

import pytest

from tests.web.people.test_access import Endpoint, endpoints, guarded
from tests.web.site import BY, PASSWORD, Site, Visitor, served
from watchbell.actors import ROLE_PRIVILEGES, ROLES
from watchbell.store.client import Store
from watchbell.web.assets import files
from watchbell.web.guard import SAFE
from watchbell.web.keys import Web
from watchbell.web.limits import BY_LINK, BY_USER
from watchbell.web.pages.paths import local
from watchbell.web.people import sign_in_links

# What a look may leave behind: that somebody looked.
TRACES = {Web().key_uses(), Web().sessions(), Web().sign_ins(), Web().audit()}
SEEN = (Web().session(""), Web().tries(""))
# These GETs are what a cron line or a mail's reader sends; the URL is the permission.
BY_URL = {"/ping/{key}", "/ping/{key}/{signal}"}
LEAVES = {"/sign-out", "/api/v1/session"}


def changing(site: Site) -> list[Endpoint]:
    return [one for one in endpoints(site) if one.method not in SAFE]


async def status(visitor: Visitor, endpoint: Endpoint) -> tuple[int, str]:
    """How it was answered, without waiting for the end of what has none."""
    headers = {"X-CSRF-Token": visitor.csrf, "Accept": "application/json"}
    url = visitor.site.url + endpoint.url
    async with visitor.http.request(
        endpoint.method, url, headers=headers, allow_redirects=False
    ) as answer:
        is_problem = answer.headers.get("Content-Type") == "application/problem+json"
        return answer.status, (await answer.json(content_type=None))["detail"] if is_problem else ""


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_gets_as_far_as_it_may(site: Site, role: str) -> None:
    """The other half of what test_access shows: who may is not kept out, either."""
    mine = [e for e, scope in guarded(site) if scope in ROLE_PRIVILEGES[role]]  # type: ignore[index]
    assert len(mine) > 20
    async with site.somebody(role) as visitor:  # type: ignore[arg-type]
        for endpoint in mine:
            if endpoint.path in LEAVES and endpoint.method not in SAFE:
                continue
            code, detail = await status(visitor, endpoint)
            assert code != 401, endpoint
            assert code < 500, (endpoint, detail)
            assert not (code == 403 and "scope" in detail), (endpoint, detail)


async def test_a_look_changes_nothing(site: Site, store: Store) -> None:
    async with site.somebody("administrator") as alice:
        before = await content(store)
        for endpoint in endpoints(site):
            if endpoint.method in SAFE and endpoint.path not in BY_URL:
                code, detail = await status(alice, endpoint)
                assert code < 500, (endpoint, detail)
                assert await content(store) == before, endpoint


async def content(store: Store) -> dict[bytes, bytes]:
    """Of all keys, but for what says that somebody looked."""
    names = {key: key.decode(errors="replace") for key in await store.call("KEYS", "*")}
    return {
        key: await store.call("DUMP", key)
        for key, name in names.items()
        if name not in TRACES and not name.startswith(SEEN)
    }


async def test_no_other_site_may_read_an_answer(site: Site) -> None:
    headers = {"Origin": "https://evil.example.com", "Access-Control-Request-Method": "PUT"}
    async with site.somebody("administrator") as alice:
        for endpoint in endpoints(site):
            for method in ("OPTIONS", "TRACE"):
                answer = await alice.ask(method, endpoint.url, headers=headers)
                assert answer.status in (204, 403, 404, 405), (method, endpoint)
                told = {name.lower() for name in answer.headers}
                assert not any(name.startswith("access-control-") for name in told)
                assert answer.headers["X-Frame-Options"] == "DENY"


# --- sessions


async def test_a_cookie_that_somebody_else_chose_is_never_taken_over(site: Site) -> None:
    await site.services.users.add("alice", "viewer", BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    chosen = "A" * 43
    async with site.stranger() as visitor:
        cookie = {"Cookie": f"watchbell={chosen}"}
        given = {"user": "alice", "password": PASSWORD}
        answer = await visitor.post("/api/v1/session", json=given, headers=cookie)
        assert answer.status == 201
        got = SimpleCookie(answer.headers["Set-Cookie"])["watchbell"].value
    async with site.stranger() as attacker:
        refused = await attacker.get("/api/v1/session", headers=cookie)
        assert refused.status == 401
    assert got != chosen
    assert len(got) >= 43


async def test_a_token_is_good_for_its_own_session_alone(site: Site) -> None:
    async with (
        site.somebody("administrator", "alice") as here,
        site.somebody("administrator", "alice") as there,
    ):
        assert here.csrf != there.csrf
        here.csrf = there.csrf
        answer = await here.post("/api/v1/users", json={"name": "bob"})
    assert answer.status == 403


@pytest.mark.parametrize("behind_tls", [False, True])
async def test_a_cookie_is_kept_from_scripts_and_other_sites(
    store: Store, behind_tls: bool
) -> None:
    headers = {"X-Forwarded-Proto": "https"} if behind_tls else {}
    async with served(store, trusted_proxies=("127.0.0.1",)) as site, site.stranger() as visitor:
        path = await sign_in_links.make(
            store, await site.services.users.add("alice", "viewer", BY), BY
        )
        answer = await visitor.post(path, headers=headers)
    (cookie,) = SimpleCookie(answer.headers["Set-Cookie"]).values()
    assert cookie.key == ("__Host-watchbell" if behind_tls else "watchbell")
    assert bool(cookie["secure"]) is behind_tls
    assert cookie["httponly"]
    assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("lax", "/", "")


# --- throttles


async def test_who_lies_about_where_they_come_from_is_throttled_all_the_same(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BY_LINK, "most", 3)
    async with site.stranger() as visitor:
        tries = [
            await visitor.post(
                f"/sign-in/{number:043}",
                headers={
                    "X-Forwarded-For": f"192.0.2.{number}",
                    "Forwarded": f"for=192.0.2.{number}",
                },
            )
            for number in range(5)
        ]
    assert [answer.status for answer in tries] == [410, 410, 410, 429, 429]
    assert int(tries[-1].headers["Retry-After"]) > 0


async def test_the_old_password_can_not_be_guessed_by_who_has_a_session(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BY_USER, "most", 2)
    await site.services.users.add("alice", "viewer", BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    async with site.stranger() as alice:
        given = {"user": "alice", "password": PASSWORD}
        alice.csrf = (await alice.post("/api/v1/session", json=given)).json()["csrf"]
        tries = [
            await alice.ask(
                "PUT", "/api/v1/session/password", json={"old": f"guess {n}", "new": "x" * 20}
            )
            for n in range(2)
        ]
        right = {"old": PASSWORD, "new": PASSWORD + "!"}
        last = await alice.ask("PUT", "/api/v1/session/password", json=right)
    assert [answer.status for answer in tries] == [403, 403]
    assert last.status == 429


# --- where one is led


EVIL = "evil.example.com"
AWAY = [
    *(f"//{EVIL}", f"///{EVIL}", f"////{EVIL}", f"/\\{EVIL}", f"\\\\{EVIL}", f"/\\/{EVIL}"),
    *(f"https://{EVIL}", f"HTTPS:{EVIL}", f"https:/{EVIL}", f"https:\\\\{EVIL}", f"http:{EVIL}"),
    *(f"/\t/{EVIL}", f"/\n/{EVIL}", f"/\r/{EVIL}", f"\t//{EVIL}", f" //{EVIL}", f"/ /{EVIL}"),
    *(f"/%09/{EVIL}", f"/%2f{EVIL}", f"/%5c{EVIL}", f"%2f%2f{EVIL}", f"/..//{EVIL}", f"/.//{EVIL}"),
    *(f"//{EVIL}@127.0.0.1", f"//127.0.0.1@{EVIL}", f"/@{EVIL}", f"@{EVIL}", f".{EVIL}"),
    *(f"//{EVIL}%00", f"/\x00/{EVIL}", f"\x00//{EVIL}", f"/\u2028/{EVIL}", f"//\u3002{EVIL}"),
    *(f"\uff0f\uff0f{EVIL}", f"/\uff0f{EVIL}", "//[::ffff:192.0.2.1]", "//3221225985", "//0xC0.2"),
    *("javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,x"),
    *("vbscript:x", "file:///etc/passwd", "blob:x", "//", "/\\", "\\", "", "?", "#", ".", ".."),
    *(f"/a\r\nLocation: //{EVIL}", "/a\r\nSet-Cookie: watchbell=x", f"/a\u560d\u560aX: {EVIL}"),
]


async def test_no_sign_in_leads_to_another_site(site: Site) -> None:
    await site.services.users.add("alice", "viewer", BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    form = {"user": "alice", "password": PASSWORD}
    async with site.stranger() as visitor:
        for path in AWAY[:3]:
            answer = await visitor.post("/sign-in", data={**form, "next": path})
            assert answer.status == 303
            assert answer.headers["Location"] == "/"


@pytest.mark.parametrize("path", AWAY)
def test_what_leads_away_is_not_followed(path: str) -> None:
    """Browsers skip tabs and line breaks, and take a backslash for a slash."""
    led = local(path)
    assert re.fullmatch(r"/([^/\\\s\x00].*)?", led), led
    assert not re.search(r"[\s\\\x00-\x1f\u2028\u2029]", led)


# --- files


def outside() -> Iterator[str]:
    known = files()
    inside = f"/static/{known.digest}"
    secret = "etc/passwd"
    for up in (
        "..",
        "%2e%2e",
        "%2E.",
        ".%2e",
        "%252e%252e",
        "..%00",
        "....",
        "..;",
        "%c0%ae%c0%ae",
    ):
        for slash in ("/", "%2f", "%5c", "\\", "%252f", "//", "%c0%af"):
            yield inside + slash + slash.join([up] * 12) + slash + secret
            yield f"{inside}/app{slash}{up}{slash}{up}{slash}assets.py"
    yield from (
        f"{inside}/{name}"
        for name in (
            *("README.md", "package.json", "libraries.py", "packaging.py", "tsconfig.json", ""),
            *("lib/stamp", "lib/preact-LICENSE", "node_modules/preact/package.json", "app", "app/"),
            *("/etc/passwd", "//etc/passwd", "app/main.js%00.css", "APP/MAIN.JS"),
            *("app/main.js%0a", "app/./main.js", "./app/main.js", "app\\main.js"),
        )
    )
    yield from (
        "/static",
        "/static/",
        "/static/x/app/main.js",
        f"/static/{known.digest[:-1]}/app/main.js",
    )


async def test_no_path_leads_to_a_file_that_is_not_served(site: Site) -> None:
    paths = list(outside())
    assert len(paths) > 120
    for path in paths:
        head, body = await raw(site, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert re.match(rb"HTTP/1.1 (404|400|405) ", head), (path, head[:60])
        assert b"root:" not in body
        assert b"import " not in body
    head, body = await raw(
        site, f"GET {files().url('app/main.js')} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    )
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"import " in body


async def raw(site: Site, request: str | bytes) -> tuple[bytes, bytes]:
    """All that comes back for these very bytes, head and body; no client tidies them up."""
    host, port = site.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request if isinstance(request, bytes) else request.encode("latin-1", "replace"))
    try:
        async with asyncio.timeout(60):
            answer = await reader.read()
    except ConnectionResetError:
        answer = b""
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


# --- requests that mean two things, or too much


HIDDEN = b"GET /healthz?hidden HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /api/v1/session HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
DOUBTFUL = {
    "two lengths": POST + b"Content-Length: 4\r\nContent-Length: 46\r\n\r\n{}  " + HIDDEN,
    "length and chunks": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + HIDDEN,
    "chunks and length": POST
    + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
    + HIDDEN,
    "odd coding": POST + b"Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}" + HIDDEN,
    "coding with a tab": POST + b"Transfer-Encoding:\tchunked, identity\r\n\r\n0\r\n\r\n" + HIDDEN,
    "negative length": POST + b"Content-Length: -1\r\n\r\n" + HIDDEN,
    "length with a plus": POST + b"Content-Length: +2\r\n\r\n{}" + HIDDEN,
    "length as hex": POST + b"Content-Length: 0x2\r\n\r\n{}" + HIDDEN,
    "huge length": POST + b"Content-Length: 99999999999999999999\r\n\r\n{}" + HIDDEN,
    "huge chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}",
    "space before the colon": POST + b"Content-Length : 2\r\n\r\n{}" + HIDDEN,
    "folded header": POST + b"X-A: b\r\n Content-Length: 2\r\nNo colon\r\n\r\n{}" + HIDDEN,
    "NUL in a header": POST + b"X-A: b\x00c\r\n\r\n" + HIDDEN,
    "no such method": b"SPLICE / HTTP/1.1\r\nHost: a\r\n\r\n" + HIDDEN,
    "no such version": b"GET / HTTP/9.9\r\nHost: a\r\n\r\n" + HIDDEN,
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + HIDDEN,
    "headers without end": b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 40_000,
    "a header without end": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: " + b"b" * 400_000,
    "a URL without end": b"GET /" + b"a" * 400_000,
}


async def test_a_doubtful_request_is_not_answered_twice(site: Site) -> None:
    for name, request in DOUBTFUL.items():
        head, body = await raw(site, request)
        assert (head + b"\r\n\r\n" + body).count(b"HTTP/1.1 ") <= 1, name
        assert b'"status":"ok"' not in body, name
        assert not head or re.match(rb"HTTP/1.1 [45]\d\d ", head), (name, head)
    async with site.stranger() as visitor:
        assert (await visitor.get("/healthz")).status == 200


UNFINISHED = (
    b"POST /sign-in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\n3\r\na=b\r\n0\r\n"
)
STREAM = "GET /api/v1/live?topics=checks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\r\n"


@pytest.mark.parametrize("behind", ["a body in chunks", "a stream"])
async def test_headers_without_end_are_hung_up_on_wherever_they_stand(
    site: Site, behind: str
) -> None:
    """What is read of them is kept until they are complete."""
    key, _ = await site.services.api_keys.make("a reader", ("read",), BY)
    stream = STREAM.format(key).encode() + b"GET / HTTP/1.1\r\n"
    beginning = stream if behind == "a stream" else UNFINISHED
    for line in (b"X-A: b\r\n" * 1_000, b"b" * 8_000):
        host, port = site.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(beginning + b"X-A: ")
        with pytest.raises(ConnectionError):
            await pour(writer, line * 4_000)
        writer.close()


async def pour(writer: asyncio.StreamWriter, content: bytes) -> None:
    for at in range(0, len(content), 8_000):
        writer.write(content[at : at + 8_000])
        await writer.drain()


async def test_a_large_body_may_follow_a_request_that_is_still_answered(site: Site) -> None:
    key, _ = await site.services.api_keys.make("a sender", ("intake",), BY)
    lines = b'{"type":"service","state":"ok","entity":"a","check":"b"}\n' * 4_000
    kind = b"Content-Type: application/x-ndjson\r\nConnection: close\r\n"
    head = b"POST /api/v1/check-events HTTP/1.1\r\nHost: a\r\n" + kind
    head += f"Authorization: Bearer {key}\r\nContent-Length: {len(lines)}\r\n\r\n".encode()
    _, answers = await raw(site, b"GET /sign-in HTTP/1.1\r\nHost: a\r\n\r\n" + head + lines)
    assert b'"accepted":4000' in answers


async def test_no_endpoint_waits_for_more_than_it_would_read(site: Site) -> None:
    """Of a body that never comes: each refuses it by its length, or never cared for one."""
    async with site.somebody("administrator") as alice:
        for endpoint in changing(site):
            if endpoint.path not in LEAVES:
                status = await answer_to_head(alice, endpoint, 33 << 20)
                assert 200 <= status < 500, endpoint


async def answer_to_head(visitor: Visitor, endpoint: Endpoint, length: int) -> int:
    """The answer to a request of which nothing but the head is sent."""
    cookies = "; ".join(f"{one.key}={one.value}" for one in visitor.http.cookie_jar)
    told = {
        "Host": visitor.site.url.removeprefix("http://"),
        "Cookie": cookies,
        "X-CSRF-Token": visitor.csrf,
        "Content-Type": "application/json",
        "Content-Length": str(length),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    host, port = told["Host"].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{endpoint.method} {endpoint.url} HTTP/1.1\r\n{lines}\r\n".encode())
    async with asyncio.timeout(60):
        line = await reader.readline()
    writer.close()
    return int(line.split()[1])


def bombs() -> dict[str, bytes]:
    """A hundred megabytes in a hundred kilobytes."""
    zeros = b" " * (1 << 20)
    packed = {}
    for name, bits in (("gzip", 31), ("deflate", 15)):
        packer = zlib.compressobj(9, zlib.DEFLATED, bits)
        packed[name] = b"".join(packer.compress(zeros) for _ in range(100)) + packer.flush()
    return packed


async def test_a_bomb_is_not_unpacked(site: Site) -> None:
    async with site.somebody("administrator") as alice:
        for coding, body in bombs().items():
            headers = {"Content-Encoding": coding, "Content-Type": "application/json"}
            for endpoint in changing(site):
                answer = await alice.ask(endpoint.method, endpoint.url, data=body, headers=headers)
                assert 400 <= answer.status < 500 or not answer.body, endpoint


ODD = [
    b"[" * 50_000,
    b'{"a":' * 50_000,
    b'{"name": 1e999}',
    b'{"name": ' + b"9" * 5_000 + b"}",
    b'{"name": "\\ud800"}',
    b'{"name": NaN, "role": Infinity}',
    b'{"__proto__": {"role": "administrator"}, "constructor": {}}',
    b"\xff\xfe{\x00}\x00",
    b'{"name": "a", "name": "b"}',
    b"null",
]


async def test_no_body_is_a_fault_of_ours(site: Site) -> None:
    headers = {"Content-Type": "application/json"}
    async with site.somebody("administrator") as alice:
        for endpoint in changing(site):
            for body in [] if endpoint.path in LEAVES else ODD:
                answer = await alice.ask(endpoint.method, endpoint.url, data=body, headers=headers)
                assert answer.status < 500, (endpoint, body[:40], answer.text)
                assert "Traceback" not in answer.text
