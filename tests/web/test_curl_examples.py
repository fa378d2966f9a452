"""The curl examples of the API's description work as they are printed."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.alerting.scenes import Stage
from tests.cron.crew import READING, definition, serving
from tests.web.site import BY, PASSWORD, Site, chosen, serving_services
from watchbell.clock import SYSTEM
from watchbell.cron import jobs
from watchbell.fleet import groups
from watchbell.jobs import stock
from watchbell.settings import Tables
from watchbell.store.client import Store
from watchbell.web.app import open_services
from watchbell.web.curl_examples import BODIES
from watchbell.web.people.rights import CustomRole

PLACEHOLDER = re.compile(r"(?<![$A-Z_])[A-Z]{3,}(?:_[A-Z]+)*(?=[\"'/?&]|$)")
"""An id that nobody knows beforehand."""
NOT_RUN = {
    "POST /api/v1/gateways/test": "there is no mail server",
    "POST /api/v1/cron/instances/drain": "the instance runs on another host",
    "POST /api/v1/groups/{id}/snapshots": "no server of the group is connected",
}
LAST = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""What changes or removes something comes after what needs it."""


@asynccontextmanager
async def filled(store: Store) -> AsyncIterator[Site]:
    settings = replace(chosen(), gateways=Tables({"email": {"host": "mail.example.com"}}))
    services = await open_services(settings, store, SYSTEM)
    stage = Stage(store, initial_failure_delay=0)
    stage.now = int(SYSTEM.now())
    await stage.contact("alice", "email")
    await stage.send("critical", "web-1:HTTP", summary="connection refused")
    await jobs.save(store, "backup", definition("true", {"cronstring": "30 2 * * *"}), READING)
    await stock.ensure(store, SYSTEM.now())
    await services.users.add("bob", "operator", BY)
    await services.roles.add(CustomRole(id="runners", title="Runners"), BY)
    await groups.create(store, {"title": "Shop"}, "bob", stage.now, "shop")
    async with serving_services(services) as site:
        yield site


def examples(described: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The name and the command of each."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            [sample] = operation["x-codeSamples"]
            yield f"{method.upper()} {path}", sample["source"]


def order(example: tuple[str, str]) -> tuple[int, int]:
    method, path = example[0].split()
    return LAST.index(method), -len(path) if method == "DELETE" else 0


async def answer(source: str, folder: Path, **variables: str) -> tuple[int, str]:
    """What the server answers to the command in a shell with these variables."""
    command = source.replace("curl ", "curl -sS --max-time 60 -w '\\n%{http_code}' ", 1)
    running = await asyncio.create_subprocess_exec(
        *("sh", "-c", command),
        env={"PATH": "/usr/bin:/bin", **variables},
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await running.communicate()
    body, _, status = said.decode().rpartition("\n")
    return int(status), body


async def test_examples_without_ids_succeed_as_they_are_printed(
    store: Store, tmp_path: Path
) -> None:
    async with serving(store, tmp_path), filled(store) as site:
        secret, _ = await site.services.api_keys.make("a reader", ("admin",), BY)
        async with site.program("read") as program:
            described = (await program.get("/api/v1/openapi.json")).json()
        done, failed = 0, []
        for name, source in sorted(examples(described), key=order):
            is_open = PLACEHOLDER.search(source) or "$CSRF" in source or name.endswith("/live")
            if is_open or name in NOT_RUN:
                continue
            status, body = await answer(source, tmp_path, URL=site.url, KEY=secret)
            done += 1
            if status not in range(200, 300):
                failed.append(f"{name}: {status} {body}\n{source}")
    assert failed == [], "\n".join(failed)
    assert done > 60


async def test_what_needs_a_session_works_after_signing_in(store: Store, tmp_path: Path) -> None:
    async with filled(store) as site:
        await site.services.users.add("alice", "operator", BY)
        await site.services.users.set_password("alice", PASSWORD, BY)
        async with site.program("read") as program:
            known = dict(examples((await program.get("/api/v1/openapi.json")).json()))
        sign_in = known.pop("POST /api/v1/session").replace('"PASSWORD"', f'"{PASSWORD}"')
        status, body = await answer(sign_in, tmp_path, URL=site.url)
        assert status == 201, body
        csrf = msgspec.json.decode(body)["csrf"]
        mine = [(name, source) for name, source in known.items() if "$CSRF" in source]
        for name, source in sorted(mine, key=order):
            command = source.replace('"PASSWORD"', f'"{PASSWORD}"').replace("NEW_P", "another p")
            if "/archive/" in name:  # of an archived page
                continue
            status, body = await answer(command, tmp_path, URL=site.url, CSRF=csrf)
            assert status in range(200, 300), f"{name}: {status} {body}"
    assert len(mine) == 6


async def test_each_operation_with_a_json_body_has_an_example_of_it(site: Site) -> None:
    async with site.program("read") as program:
        described = (await program.get("/api/v1/openapi.json")).json()
    with_body = {
        f"{method.upper()} {path}"
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    }
    assert set(BODIES) == with_body
