"""Files of jobs: what agents store, and what they may read."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.jobs.assigned import JOBS, sent
from tests.web.fleet.agents import joined
from tests.web.site import BY, Answer, Site, chosen, serving_services
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound
from watchbell.fleet.messages import Welcome
from watchbell.jobs.model import JobFile
from watchbell.store.client import Store
from watchbell.web.app import open_services

MIB = 1 << 20


@asynccontextmanager
async def storing(store: Store, folder: Path) -> AsyncIterator[Site]:
    """A site with a folder for files, which takes files of at most 10 MiB."""
    usual = chosen()
    settings = replace(usual, data=folder, jobs=replace(usual.jobs, file_limit=10))
    async with serving_services(await open_services(settings, store, SYSTEM)) as site:
        yield site


async def ask(site: Site, method: str, job: str, token: str, **more: Any) -> Answer:
    async with site.stranger() as visitor:
        headers = {"Authorization": f"Bearer {token}"}
        path = f"/api/agent/v1/jobs/{job}/files"
        return await visitor.ask(method, path, headers=headers, **more)


async def put(site: Site, welcome: Welcome, job: str, filename: str, body: Any) -> Answer:
    query = {"filename": filename}
    content = io.BytesIO(body) if isinstance(body, bytes) else body
    return await ask(site, "PUT", job, welcome.token, params=query, data=content)


async def test_a_file_of_a_job_is_stored(store: Store, tmp_path: Path) -> None:
    async with storing(store, tmp_path) as site, joined(site) as (_, welcome):
        await sent(store, welcome.server, "j1")
        content = bytes(range(256)) * (9 * MIB // 256)
        answer = await put(site, welcome, "j1", "größe/../ x.bin", content)
        assert answer.status == 200
        found = answer.json()
        assert (found["filename"], found["size"]) == ("größe/../ x.bin", len(content))
        assert (found["job"], found["server"]) == ("j1", welcome.server)
        assert found["path"].startswith("jobs/j1/files/")
        assert await site.services.files().get(found["path"]) == content


async def test_an_upload_may_be_repeated(store: Store, tmp_path: Path) -> None:
    async with storing(store, tmp_path) as site, joined(site) as (_, welcome):
        await sent(store, welcome.server, "j1")
        first = (await put(site, welcome, "j1", "a.txt", b"one")).json()
        second = (await put(site, welcome, "j1", "a.txt", b"three")).json()
        other = (await put(site, welcome, "j1", "a_txt", b"x")).json()
        assert first["path"] == second["path"] != other["path"]
        assert await site.services.files().get(first["path"]) == b"three"


async def test_a_file_that_is_too_large_is_refused(store: Store, tmp_path: Path) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * MIB

    async with storing(store, tmp_path) as site, joined(site) as (_, welcome):
        await sent(store, welcome.server, "j1")
        for body in (b"x" * (10 * MIB + 1), parts()):
            answer = await put(site, welcome, "j1", "a.bin", body)
            assert answer.status == 413
            assert "10 MiB" in answer.json()["detail"]
        assert [one async for one in site.services.files().list()] == []


async def test_an_upload_that_is_cut_off_leaves_nothing(store: Store, tmp_path: Path) -> None:
    async with storing(store, tmp_path) as site, joined(site) as (_, welcome):
        await sent(store, welcome.server, "j1")
        host, port = site.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = (
            "PUT /api/agent/v1/jobs/j1/files?filename=a HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {welcome.token}\r\nContent-Length: {9 * MIB}\r\n\r\n"
        )
        writer.write(head.encode() + b"x" * (8 * MIB + 5))
        await writer.drain()
        writer.write_eof()
        await reader.read()
        writer.close()
        assert [one async for one in site.services.files().list()] == []


@pytest.mark.parametrize("job", ["theirs", "none", "over"])
async def test_files_are_stored_for_jobs_in_progress_of_this_server_only(
    store: Store, tmp_path: Path, job: str
) -> None:
    async with (
        storing(store, tmp_path) as site,
        joined(site) as (_, welcome),
        joined(site, "db-2") as (_, other),
    ):
        await sent(store, other.server, "theirs")
        await sent(store, welcome.server, "over")
        await store.call("HSET", JOBS.job("over"), "_result", "{}")
        answer = await put(site, welcome, job, "a.txt", b"x")
        assert answer.status == (422 if job == "over" else 404)
        assert [one async for one in site.services.files().list()] == []


async def test_an_agent_reads_the_input_of_its_jobs_and_no_other_file(
    store: Store, tmp_path: Path
) -> None:
    async with (
        storing(store, tmp_path) as site,
        joined(site) as (_, welcome),
        joined(site, "db-2") as (_, other),
    ):
        files = site.services.files()
        names = ["jobs/j0/files/f1/a.txt", "jobs/j0/files/f2/b.txt", "jobs/j0/log.gz"]
        for name in names:
            await files.put(name, name.encode())

        def file(path: str) -> JobFile:
            return JobFile(id="f1", filename="a", path=path, size=1, job="j0", server="s0")

        given: dict[str, Any] = {"files": [file(names[0])]}
        parent: dict[str, Any] = {"id": "j0", "files": [file(names[1])]}
        await sent(store, welcome.server, "j1", input=given, parent=parent)
        for name in names[:2]:
            answer = await ask(site, "GET", "j1", welcome.token, params={"path": name})
            assert (answer.status, answer.body) == (200, name.encode())
        refused = [
            ("j1", welcome.token, names[2]),
            ("j1", welcome.token, "../../store.sock"),
            ("j1", other.token, names[0]),
            ("none", welcome.token, names[0]),
        ]
        for job, token, path in refused:
            answer = await ask(site, "GET", job, token, params={"path": path})
            assert answer.status == 404
        await files.delete([names[0]])
        with pytest.raises(NotFound):
            await files.get(names[0])
        answer = await ask(site, "GET", "j1", welcome.token, params={"path": names[0]})
        assert answer.status == 404


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_who_has_no_token_gets_no_file(site: Site, method: str) -> None:
    for token in ("", "x", "wba_000000000000_" + "x" * 43):
        answer = await ask(site, method, "j1", token, params={"path": "x", "filename": "x"})
        assert answer.status == 401
    secret, _ = await site.services.api_keys.make("a program", ("admin",), BY)
    answer = await ask(site, method, "j1", secret, params={"path": "x", "filename": "x"})
    assert answer.status == 401
