"""Who calls the app API, how they say so, and what they see."""

import base64
from io import BytesIO
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.jobs.test_job_history import finish, over
from tests.web.app_api.app_client import AppClient
from tests.web.site import BY, Site
from watchbell.jobs import stock
from watchbell.jobs.parameters import MASK
from watchbell.jobs.workflow_model import JobWorkflow
from watchbell.store.client import Store
from watchbell.web.people.rights import Rights

PING = "/api/app/ping/v1"


@pytest.fixture(autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, 1_000)


async def test_a_key_comes_by_header_query_json_or_form(site: Site) -> None:
    secret, _ = await site.services.api_keys.make("a client", ("read",), BY)
    asked: list[tuple[str, dict[str, Any]]] = [
        (PING, {"headers": {"X-API-Key": secret}}),
        (PING, {"headers": {"Authorization": f"Bearer {secret}"}}),
        (f"{PING}?api_key={secret}", {}),
        (PING, {"json": {"api_key": secret}}),
        (PING, {"data": {"api_key": secret}}),
        (PING, {"data": f'{{"api_key": "{secret}"}}'.encode()}),
    ]
    async with site.stranger() as client:
        for url, more in asked:
            answer = await client.post(url, **more)
            assert (answer.status, answer.json()) == (200, {"code": 0}), more
        echoed = await client.post("/api/app/echo/v1", json={"api_key": secret, "a": 1})
        assert echoed.json()["params"] == {"a": 1}
        assert secret not in echoed.text


@pytest.mark.parametrize(
    "more",
    [
        {"headers": {"X-API-Key": "wrong"}},
        {"json": {"api_key": "wrong"}},
        {"json": {"api_key": 7}},
        {"data": {"api_key": ""}},
        {},
    ],
)
async def test_without_a_valid_key_there_is_no_answer(site: Site, more: dict[str, Any]) -> None:
    async with site.stranger() as client:
        answer = await client.post(PING, **more)
    assert (answer.status, answer.json()["code"]) == (401, "session")


async def test_a_session_sends_its_token_in_a_header_or_in_json(site: Site) -> None:
    async with site.somebody("editor") as alice:
        token, alice.csrf = alice.csrf, ""
        tag = {"id": "red", "title": "Red"}
        url = "/api/app/create_tag/v1"
        refused = await alice.post(url, json=tag)
        assert (refused.status, refused.json()["code"]) == (403, "session")
        made = await alice.post(url, json={**tag, "csrf_token": token})
        assert made.json()["tag"]["id"] == "red"
        assert (await alice.get("/api/app/get_tags/v1")).status == 200


@pytest.mark.parametrize("origin", [{"Sec-Fetch-Site": "cross-site"}, {}])
async def test_a_password_that_a_browser_remembers_changes_nothing_by_a_link(
    site: Site, origin: dict[str, str]
) -> None:
    secret, _ = await site.services.api_keys.make("basic", ("write",), BY)
    async with ClientSession() as http:
        url = f"{site.url}/api/app/create_tag/v1?id=red&title=Red"
        headers = {"Authorization": "Basic " + _basic(secret), **origin}
        async with http.get(url, headers=headers) as answer:
            assert answer.status in (403, 405)
        async with http.post(url, headers={"Authorization": headers["Authorization"]}) as answer:
            assert answer.status == 200


def _basic(secret: str) -> str:
    return base64.b64encode(f":{secret}".encode()).decode()


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"nonsense", 400), (b"[1]", 400), (b"\xff{", 400), (b'{"a":' * 5_000, 400), (b"{}", 200)],
)
async def test_a_body_that_is_no_object_is_refused(site: Site, body: bytes, status: int) -> None:
    async with site.program("read") as program:
        headers = {"Content-Type": "application/json"}
        answer = await program.post(PING, data=body, headers=headers)
        assert answer.status == status
        assert answer.json()["code"] == ("api" if status == 400 else 0)


async def test_a_body_that_is_too_long_is_refused(site: Site) -> None:
    async with site.stranger() as client:
        headers = {"Content-Type": "application/json"}
        body = BytesIO(b'{"text": "' + b"x" * (1 << 20))
        answer = await client.post(PING, data=body, headers=headers)
    assert (answer.status, answer.json()["code"]) == (413, "api")


async def test_an_unknown_handler_is_named(site: Site) -> None:
    async with site.program("admin") as program:
        app = AppClient(program)
        for name in ("create_ticket", "get_tickets"):
            assert await app.refused(name, "api", 404) == f"there is no API {name!r}"
        users = (await program.get("/api/user/admin_get_users")).json()
        assert users["list"]["length"] == 0
        other = await program.get("/api/user/get_events")
        assert (other.status, other.json()["code"]) == (404, "api")


async def test_secret_parameters_and_variables_are_masked(site: Site) -> None:
    async with site.somebody("administrator") as alice, site.program("read") as program:
        app, reader = AppClient(alice), AppClient(program)
        password = {"id": "password", "type": "text", "secret": True}
        given = {"command": "/bin/true", "params": [password], "env": {"TOKEN": "hidden"}}
        await app.ok("create_plugin", id="deploy", title="Deploy", **given)
        event = {"id": "e1", "title": "Deploy", "plugin": "deploy"}
        await app.ok("create_event", **event, params={"password": "hunter22"})
        await app.ok("update_event", id="e1", params={"password": "hunter23"})
        run = await app.ok("run_event", id="e1")
        asked: dict[str, dict[str, Any]] = {
            "get_event": {"id": "e1"},
            "get_events": {},
            "get_job": {"id": run["id"]},
            "get_active_jobs": {},
            "get_event_history": {"id": "e1", "limit": 9},
            "search_revision_history": {"type": "events", "limit": 9},
            "get_multiple": {"lists": ["events", "plugins"]},
            "get_plugin": {"id": "deploy"},
        }
        for name, parameters in asked.items():
            answer = await reader.ask(name, **parameters)
            assert answer.status == 200, answer.text
            assert "hunter2" not in answer.text, name
            assert "hidden" not in answer.text, name
            assert MASK in answer.text, name
        assert "hunter23" in (await app.ask("get_event", id="e1")).text


async def test_jobs_of_other_categories_are_not_found(site: Site, store: Store) -> None:
    await finish(store, over(1, category="reports"), over(2), over(3, category="reports"))
    async with site.program("admin") as root:
        await AppClient(root).ok("create_category", id="reports", title="Reports")
    async with site.program("write", given=Rights(categories=("reports",))) as program:
        app = AppClient(program)
        found = await app.ok("search_jobs", limit=10)
        assert [one["id"] for one in found["rows"]] == ["j0003", "j0001"]
        assert found["list"]["length"] == 2
        jobs = (await app.ok("get_jobs", ids=["j0001", "j0002"]))["jobs"]
        assert jobs[1] == {"id": "j0002", "err": "Not Found"}
        await app.refused("get_job", "access", 403, id="j0002")
        await app.refused("get_job_log", "access", 403, id="j0002")
        await app.refused("update_category", "access", 403, id="general", title="Mine")
        await app.ok("update_category", id="reports", title="Ours")


async def test_searches_are_paged_sorted_and_counted(site: Site, store: Store) -> None:
    await finish(store, *(over(n, event=f"e{n % 2}", elapsed=10 - n) for n in range(10)))
    async with site.program("read") as program:
        app = AppClient(program)

        async def ids(**more: Any) -> tuple[list[str], int]:
            found = await app.ok("search_jobs", **more)
            return [one["id"][-1] for one in found["rows"]], found["list"]["length"]

        assert await ids() == (["9"], 10)
        assert await ids(query="event:e1", limit=3, offset=1) == (["7", "5", "3"], 5)
        assert await ids(query="event:e1|e0 -id:j0009", limit=2) == (["8", "7"], 9)
        assert await ids(limit=2, sort_dir=1) == (["0", "1"], 10)
        assert await ids(limit=2, sort_by="elapsed") == (["0", "1"], 10)
        assert await ids(query="elapsed:<=2", limit=9) == (["9", "8"], 2)
        assert await ids(query="nosuchword", limit=9) == ([], 0)
        launched = JobWorkflow(job="jrun", event="release", node="build")
        await finish(store, over(11, workflow=launched))
        assert (await app.ok("search_jobs", query="workflow:release"))["list"]["length"] == 1
        assert await ids(query="-workflow:release", limit=99) == (list("9876543210"), 10)
        assert "sorted by" in await app.refused("search_jobs", "api", 400, sort_by="tags")
        assert "no field" in await app.refused("search_jobs", "search", 400, query="nosuch:1")
        row = (await app.ok("search_jobs", verbose=1))["rows"][0]
        assert "files" in row
        assert "files" not in (await app.ok("search_jobs"))["rows"][0]
