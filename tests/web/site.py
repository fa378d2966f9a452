"""A web server on loopback, with people of every role, as tests use it."""

import asyncio
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientResponse, ClientSession, CookieJar
from litestar import Litestar
from litestar.types import ASGIApp
from msgspec.structs import replace

from watchbell import settings
from watchbell.actors import KeyScope, Role, system
from watchbell.clock import SYSTEM, Clock
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web.app import application, open_services
from watchbell.web.audit import Stamp
from watchbell.web.people import sign_in_links
from watchbell.web.request_envelope import RequestEnvelope
from watchbell.web.server import serving
from watchbell.web.services import Services

BY = Stamp(system("tests"), 1_700_000_000)
PASSWORD = "correct horse battery"


class Visitor:
    """A browser: keeps its cookie, and sends the CSRF token that goes with it."""

    def __init__(self, site: "Site", http: ClientSession) -> None:
        self.site, self.http, self.csrf = site, http, ""

    async def ask(self, method: str, path: str, **more: Any) -> "Answer":
        headers = {"X-CSRF-Token": self.csrf} if self.csrf else {}
        headers |= more.pop("headers", {})
        url = self.site.url + path
        async with self.http.request(
            method, url, headers=headers, allow_redirects=False, **more
        ) as answer:
            return Answer(answer, await answer.read())

    async def get(self, path: str, **more: Any) -> "Answer":
        return await self.ask("GET", path, **more)

    async def post(self, path: str, **more: Any) -> "Answer":
        return await self.ask("POST", path, **more)


class Answer:
    def __init__(self, answer: ClientResponse, body: bytes) -> None:
        self.status, self.headers, self.cookies = answer.status, answer.headers, answer.cookies
        self.body, self.text = body, body.decode(errors="replace")

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Site:
    def __init__(self, url: str, services: Services) -> None:
        self.url, self.services = url, services
        self.store = services.store

    @asynccontextmanager
    async def stranger(self) -> AsyncIterator[Visitor]:
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as http:
            yield Visitor(self, http)

    @asynccontextmanager
    async def somebody(self, role: Role, name: str = "") -> AsyncIterator[Visitor]:
        """Somebody of this role who has come in by a link, and has no password."""
        name = name or role
        user = await self.services.users.find(name) or await self.services.users.add(name, role, BY)
        async with self.stranger() as visitor:
            path = await sign_in_links.make(self.store, user, BY)
            assert (await visitor.post(path)).status == 303
            visitor.csrf = (await visitor.get("/api/v1/session")).json()["csrf"]
            yield visitor

    @asynccontextmanager
    async def program(self, *scopes: KeyScope, **more: Any) -> AsyncIterator[Visitor]:
        """A program with a key of these scopes."""
        secret, _ = await self.services.api_keys.make("a program", scopes, BY, **more)
        async with ClientSession(headers={"Authorization": f"Bearer {secret}"}) as http:
            yield Visitor(self, http)


def certified(folder: Path) -> tuple[Path, Path, ssl.SSLContext]:
    """A certificate of 127.0.0.1, its key, and what trusts it."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"]
    made = [*command, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(made, check=True, capture_output=True)
    return cert, key, ssl.create_default_context(cafile=str(cert))


_DATA = tempfile.TemporaryDirectory(prefix="wb-")


def chosen(**web: Any) -> Settings:
    """Agents of tests send no heartbeats, and may be silent for minutes."""
    plain = settings.load(Path("/dev/null"), {"HOME": _DATA.name}, {}).settings
    patient = replace(plain.jobs, heartbeat=60, down_after=3_600)
    return replace(plain, web=replace(plain.web, **{"port": 0, **web}), jobs=patient)


@asynccontextmanager
async def served(store: Store, clock: Clock = SYSTEM, **web: Any) -> AsyncIterator[Site]:
    services = await open_services(chosen(**web), store, clock)
    async with serving_services(services) as site:
        yield site


@asynccontextmanager
async def serving_services(services: Services) -> AsyncIterator[Site]:
    """A loop behind the pages that fails makes the test fail, as it would make the role."""
    with _lent(services) as app:
        async with (
            serving_app(RequestEnvelope(app), services) as site,
            asyncio.TaskGroup() as group,
        ):
            failure = group.create_task(services.background.failed())
            yield site
            failure.cancel()


_idle: list[Litestar] = []


@contextmanager
def _lent(services: Services) -> Iterator[Litestar]:
    """An application at this desk alone, for now: to make one takes longer than most tests.

    One that something went wrong with is lent to nobody again.
    """
    app = _idle.pop() if _idle else application(services)
    app.state["services"] = services
    yield app
    _idle.append(app)


@asynccontextmanager
async def serving_app(app: ASGIApp, services: Services) -> AsyncIterator[Site]:
    given = services.settings.web
    async with serving(app, given) as port:
        scheme = "https" if given.tls_cert else "http"
        yield Site(f"{scheme}://127.0.0.1:{port}", services)
