"""Every endpoint, as the application has it: who gets in, and who does not."""

import base64
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from litestar import get
from litestar.routes import HTTPRoute, WebSocketRoute

from tests.web.site import Answer, Site, served, serving_app
from watchbell.actors import ROLE_PRIVILEGES, ROLES, SCOPE_PRIVILEGES, KeyScope, Privilege, system
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.access import Access, AgentAccess, CallAccess
from watchbell.web.app import HANDLERS, application
from watchbell.web.app_api.table import HANDLERS as HANDLERS_OF_CALLS
from watchbell.web.audit import Stamp
from watchbell.web.guard import SAFE

# Whoever adds to these opens a door to everybody, and should know why.
PUBLIC = {
    ("GET", "/healthz"),
    ("POST", "/api/v1/session"),
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("GET", "/sign-in/{token}"),
    ("POST", "/sign-in/{token}"),
    ("GET", "/ack/{token}"),
    ("POST", "/ack/{token}"),
    ("GET", "/ping/{key}"),
    ("POST", "/ping/{key}"),
    ("GET", "/ping/{key}/{signal}"),
    ("POST", "/ping/{key}/{signal}"),
    ("GET", "/static/{digest}/{path}"),
    ("GET", "/archived/{token}/{timestamp}/{name}"),
}


class Endpoint(NamedTuple):
    method: str
    path: str
    access: Access | None
    url: str
    """Of something that does not exist."""


def endpoints(site: Site) -> Iterator[Endpoint]:
    for route in application(site.services).routes:
        if isinstance(route, WebSocketRoute):
            assert isinstance(route.route_handler.opt["access"], AgentAccess), route.path
            continue
        assert isinstance(route, HTTPRoute), f"{route.path} is guarded by nobody"
        for handler in route.route_handlers:
            if isinstance(handler.opt.get("access"), AgentAccess | CallAccess):
                continue
            for method in sorted(handler.http_methods - {"OPTIONS"}):
                access = handler.opt.get("access")
                yield Endpoint(method, route.path_format, access, _url(route))
    yield from calls()


def _url(route: HTTPRoute) -> str:
    parts = route.path_components
    return "/" + "/".join(one if isinstance(one, str) else _value(one.type) for one in parts)


def _value(kind: type) -> str:
    return "1" if kind is int else "nothing"


def calls() -> Iterator[Endpoint]:
    """Those of the app API, which has one route for all its handlers."""
    urls = {f"/api/app/{one.name}/v1": one.needs for one in HANDLERS_OF_CALLS.values()}
    urls |= {"/api/app/run_event/v1/wait": "run_jobs", "/api/user/admin_get_users": "admin"}
    for url, privilege in urls.items():
        for method in ("GET", "POST"):
            yield Endpoint(method, url, Access(privilege), url)


def is_call(endpoint: Endpoint) -> bool:
    return endpoint.path.startswith(("/api/app/", "/api/user/"))


def reason(answer: Answer) -> str:
    found: dict[str, str] = answer.json()
    return found.get("detail") or found["description"]


def guarded(site: Site) -> list[tuple[Endpoint, Privilege]]:
    return [(e, e.access.scope) for e in endpoints(site) if e.access and e.access.scope]


def test_there_are_endpoints() -> None:
    assert len(HANDLERS) >= 7


async def test_every_endpoint_says_whom_it_is_for(site: Site) -> None:
    found = list(endpoints(site))
    assert len(found) > 35
    assert [one for one in found if one.access is None] == []
    public = {(e.method, e.path) for e in found if e.access and e.access.scope is None}
    assert public == PUBLIC


async def test_an_endpoint_that_does_not_say_is_for_nobody(site: Site) -> None:
    @get("/forgotten")
    async def forgotten() -> str:
        return "secret"

    app = application(site.services)
    app.register(forgotten)
    async with serving_app(app, site.services) as other, other.stranger() as visitor:
        answer = await visitor.get("/forgotten")
    assert answer.status == 403
    assert "secret" not in answer.text


async def test_nobody_gets_in_without_credentials(site: Site) -> None:
    async with site.stranger() as visitor:
        for endpoint, _ in guarded(site):
            answer = await visitor.ask(endpoint.method, endpoint.url)
            assert answer.status == 401, endpoint
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
            kind = "application/json" if is_call(endpoint) else "application/problem+json"
            assert answer.headers["Content-Type"] == kind


async def test_no_role_gets_further_than_it_may(site: Site) -> None:
    for role in ROLES:
        async with site.somebody(role) as visitor:
            for endpoint, scope in guarded(site):
                if scope not in ROLE_PRIVILEGES[role]:
                    answer = await visitor.ask(endpoint.method, endpoint.url)
                    assert (answer.status, endpoint) == (403, endpoint)
                    assert f"needs the privilege {scope}" in reason(answer)


async def test_no_scope_gets_further_than_it_may(site: Site) -> None:
    given: tuple[KeyScope, ...] = ("intake", "read", "operate", "write")
    for one in given:
        async with site.program(one) as program:
            for endpoint, scope in guarded(site):
                if scope not in SCOPE_PRIVILEGES[one]:
                    answer = await program.ask(endpoint.method, endpoint.url)
                    assert (answer.status, endpoint) == (403, endpoint)


async def test_without_the_csrf_token_nothing_is_changed(site: Site) -> None:
    async with site.somebody("administrator") as alice:
        right = alice.csrf
        for wrong in ("", "x", right[:-1], right + "x"):
            alice.csrf = wrong
            for endpoint, _ in guarded(site):
                if endpoint.method not in SAFE:
                    answer = await alice.ask(endpoint.method, endpoint.url)
                    assert (answer.status, endpoint) == (403, endpoint)
                    assert "CSRF" in reason(answer)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example.com"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_page_of_another_site_changes_nothing(site: Site, headers: dict[str, str]) -> None:
    async with site.somebody("administrator") as alice:
        for endpoint in endpoints(site):
            if endpoint.method not in SAFE:
                answer = await alice.ask(endpoint.method, endpoint.url, headers=headers)
                assert (answer.status, endpoint) == (403, endpoint)
                assert "another site" in reason(answer)


async def test_a_key_that_a_browser_remembers_is_of_no_use_to_another_site(site: Site) -> None:
    async with site.program("admin") as program:
        headers = {"Sec-Fetch-Site": "cross-site"}
        answer = await program.post("/api/v1/users", json={"name": "bob"}, headers=headers)
    assert answer.status == 403
    assert "another site" in reason(answer)


async def test_a_page_of_this_site_may_also_behind_a_proxy(store: Store) -> None:
    url = "https://watch.example.com"
    async with served(store, url=url + "/") as site, site.somebody("administrator") as alice:
        for number, headers in enumerate(
            (
                {"Origin": site.url},
                {"Origin": url},
                {"Origin": "https://inner.example.com", "Sec-Fetch-Site": "same-origin"},
            )
        ):
            body = {"name": f"bob-{number}"}
            answer = await alice.post("/api/v1/users", json=body, headers=headers)
            assert answer.status == 201


async def test_a_key_that_is_over_revoked_or_unknown_opens_nothing(site: Site) -> None:
    now = int(SYSTEM.now())
    unknown = f"wb_{'0' * 12}_{'A' * 43}"
    secret, key = await site.services.api_keys.make("gone", ("admin",), _by(now))
    await site.services.api_keys.revoke(key.id, _by(now))
    over, _ = await site.services.api_keys.make("over", ("admin",), _by(now), expires=now - 1)
    known, _ = await site.services.api_keys.make("known", ("admin",), _by(now))
    changed = known[:-1] + ("A" if known[-1] != "A" else "B")
    for given in (unknown, secret, over, changed, "", "wb_", "ü", known + "A"):
        async with site.stranger() as program:
            headers = {"Authorization": f"Bearer {given}".encode().decode("latin-1")}
            for endpoint, _ in guarded(site):
                answer = await program.ask(endpoint.method, endpoint.url, headers=headers)
                assert (answer.status, endpoint, given) == (401, endpoint, given)


async def test_a_key_never_helps_a_session_nor_a_session_a_key(site: Site) -> None:
    """Who sends both is judged by the key: a page can't set it for somebody else."""
    async with site.somebody("administrator") as alice:
        answer = await alice.get("/api/v1/users", headers={"Authorization": "Bearer nonsense"})
    assert answer.status == 401


async def test_a_key_may_be_the_password_of_basic_authentication(site: Site) -> None:
    secret, _ = await site.services.api_keys.make("sns", ("read",), _by(1))
    async with site.stranger() as program:
        statuses = [
            (await program.get("/api/v1/session", headers={"Authorization": header})).status
            for header in (
                *(basic(f"sns:{secret}"), basic(f":{secret}"), basic(f"{secret}:"), basic(secret)),
                *("Basic %%%", "Digest x", "Basic"),
            )
        ]
    assert statuses == [200, 200, 401, 401, 401, 401, 401]


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


def _by(now: int) -> Stamp:
    return Stamp(system("tests"), now)
