"""Running events by the app API: by query, JSON, forms and files, and waiting for the job."""

import asyncio
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import pytest
from aiohttp import FormData
from msgspec.structs import replace

from tests.jobs.test_job_history import finish
from tests.waiting import eventually
from tests.web.app_api.app_client import AppClient
from tests.web.site import BY, Site, chosen, serving_services
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.jobs import job_records, stock
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.store.client import Store
from watchbell.web.app import open_services
from watchbell.web.app_api.running import wish_of
from watchbell.web.people.rights import Rights

RUN = "/api/app/run_event/v1"


@pytest.fixture
async def app(site: Site, store: Store) -> AsyncIterator[AppClient]:
    await stock.ensure(store, 1_000)
    async with site.somebody("administrator") as alice:
        client = AppClient(alice)
        more = {"triggers": [{"type": "manual"}], "tags": ["nightly"]}
        await client.ok("create_event", id="e1", title="Backup", params={"script": "true"}, **more)
        yield client


async def launched(app: AppClient, answer: Any) -> Job:
    assert answer.status == 200, answer.text
    job = await job_records.read(app.visitor.site.store, answer.json()["id"])
    assert job is not None
    return job


@pytest.mark.parametrize(
    ("query", "body", "wish"),
    [
        ({"id": "e1"}, {}, {"id": "e1"}),
        ({"id": "e1"}, {"id": "e2"}, {"id": "e2"}),
        ({"params/a": "1", "params/b/c": "2"}, {}, {"params": {"a": "1", "b": {"c": "2"}}}),
        ({"params/a": "1"}, {"params": {"b": 2}}, {"params": {"a": "1", "b": 2}}),
        ({"test": "1"}, {"test_limits": 1}, {"test": True, "test_limits": True}),
        ({"delay": "5", "priority": "-2"}, {}, {"delay": 5, "priority": -2}),
        ({"tags": "a, b", "targets": "main"}, {}, {"tags": ["a", "b"], "targets": ["main"]}),
        ({}, {"json": '{"id": "e1", "tags": ["a"]}'}, {"id": "e1", "tags": ["a"]}),
        (
            {"id": "e1", "post_data": "1", "params/a": "1"},
            {"id": "e2", "ref": "main"},
            {"id": "e1", "params": {"a": "1", "post_data": {"id": "e2", "ref": "main"}}},
        ),
    ],
)
def test_a_wish_is_made_of_query_and_body(
    query: dict[str, Any], body: dict[str, Any], wish: dict[str, Any]
) -> None:
    assert wish_of(query, body) == wish


@pytest.mark.parametrize(
    ("query", "field"), [({"delay": "soon"}, "delay"), ({"/".join("abcdefghij"): "1"}, "a/b/c")]
)
def test_a_wrong_wish_names_its_field(query: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused) as error:
        wish_of(query, {})
    assert error.value.field.startswith(field)


async def test_an_event_is_run_by_its_title_with_other_values(app: AppClient) -> None:
    given = {"title": "Backup", "params": {"target": "shop"}, "input": {"data": {"n": 1}}}
    job = await launched(app, await app.ask("run_event", **given, tags=["urgent"]))
    assert job.params["target"] == "shop"
    assert job.params["script"] == "true"
    assert (job.tags, job.input, job.source) == (("urgent",), {"data": {"n": 1}}, "user")


async def test_an_event_is_run_by_a_link_with_a_key(site: Site, app: AppClient) -> None:
    secret, key = await site.services.api_keys.make("cron", ("operate",), BY)
    async with site.stranger() as program:
        url = f"{RUN}?id=e1&params/target=shop&api_key={secret}"
        job = await launched(app, await program.get(url))
        assert (job.source, job.key, job.params["target"]) == ("key", key.id, "shop")
        hook = await program.post(
            f"{RUN}?id=e1&post_data=1", json={"ref": "main"}, headers={"X-API-Key": secret}
        )
        assert (await launched(app, hook)).params["post_data"] == {"ref": "main"}


async def test_a_link_runs_nothing_for_somebody_who_is_signed_in(app: AppClient) -> None:
    answer = await app.visitor.get(f"{RUN}?id=e1")
    assert (answer.status, answer.json()["code"]) == (405, "api")
    assert await job_records.live(app.visitor.site.store) == []


async def test_files_are_uploaded_with_the_call(app: AppClient) -> None:
    form = FormData(quote_fields=False)
    form.add_field("json", '{"id": "e1", "params": {"target": "shop"}}')
    form.add_field("file1", b"id,value\n", filename="input.csv", content_type="text/csv")
    form.add_field("file2", BytesIO(bytes(3_000_000)), filename="../../etc/large file.bin")
    job = await launched(app, await app.visitor.post(RUN, data=form))
    assert job.params["target"] == "shop"
    found = [(one["filename"], one["size"]) for one in job.input["files"]]
    assert found == [("input.csv", 9), ("large_file.bin", 3_000_000)]
    files = app.visitor.site.services.files()
    assert await files.get(job.input["files"][0]["path"]) == b"id,value\n"


async def test_files_that_were_uploaded_before_are_input(app: AppClient) -> None:
    form = FormData()
    form.add_field("file1", b"id,value\n", filename="input.csv")
    made = await app.visitor.post("/api/app/upload_job_input_files/v1", data=form)
    (file,) = made.json()["files"]
    asked = {"id": "e1", "input": {"files": [file]}}
    job = await launched(app, await app.ask("run_event", **asked))
    assert [one["path"] for one in job.input["files"]] == [file["path"]]
    site = app.visitor.site
    async with site.somebody("operator", "bob") as bob:
        other = AppClient(bob)
        assert "there is no file" in await other.refused("run_event", "event", 404, **asked)
        await other.refused("file", "file", 404, path=file["path"])


@pytest.mark.parametrize("path", ["../secrets", "jobs/j1/log.gz", "uploads/2026-11-16/bob/f1/a"])
async def test_other_files_are_no_input(app: AppClient, path: str) -> None:
    given = {"id": "e1", "input": {"files": [{"path": path, "filename": "a"}]}}
    await app.refused("run_event", "event", 404, **given)


@pytest.mark.parametrize(
    ("given", "code", "status", "words"),
    [
        ({}, "api", 400, "id: expected the id or the title"),
        ({"id": "nosuch"}, "event", 404, "there is no event 'nosuch'"),
        ({"id": "e1", "params": 7}, "api", 400, "params"),
        ({"id": "e1", "input": 7}, "api", 400, "input: expected an object"),
        ({"id": "e1", "input": {"files": 7}}, "api", 400, "input.files"),
        ({"id": "e1", "nonsense": 1}, "api", 400, "nonsense"),
        ({"id": "off"}, "event", 422, "the event is disabled"),
    ],
)
async def test_a_run_is_refused_with_a_word_and_a_reason(
    app: AppClient, given: dict[str, Any], code: str, status: int, words: str
) -> None:
    off = {"id": "off", "title": "Off", "enabled": False, "params": {"script": "true"}}
    await app.ok("create_event", **off)
    assert words in await app.refused("run_event", code, status, **given)


async def test_a_test_runs_a_disabled_event(app: AppClient) -> None:
    await app.ok("update_event", id="e1", enabled=False)
    job = await launched(app, await app.ask("run_event", id="e1", test=1))
    assert job.test


@pytest.mark.parametrize("body", [b"--x\r\nnonsense", b"", b"--y--\r\n"])
async def test_a_broken_form_is_refused(app: AppClient, body: bytes) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = await app.visitor.post(RUN, data=body, headers=headers)
    assert (answer.status, answer.json()["code"]) == (400, "api")
    headers = {"Content-Type": "multipart/form-data"}
    assert (await app.visitor.post(RUN, data=body, headers=headers)).status == 400


async def test_a_file_that_is_too_large_is_refused(store: Store) -> None:
    services = await open_services(chosen(), store, SYSTEM)
    settings = services.settings
    small = replace(settings, jobs=replace(settings.jobs, file_limit=1))
    form = FormData()
    form.add_field("file1", BytesIO(bytes((1 << 20) + 1)), filename="a")
    serving = serving_services(replace(services, settings=small))
    async with serving as site, site.program("operate") as program:
        answer = await program.post("/api/app/upload_files/v1", data=form)
    assert (answer.status, answer.json()["code"]) == (413, "api")
    assert "1 MiB" in answer.json()["description"]


async def test_a_caller_waits_for_the_job(app: AppClient, store: Store) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(app.visitor.post(f"{RUN}/wait", json={"id": "e1"}))
        await eventually(lambda: job_records.live(store))
        (job,) = await job_records.live(store)
        done = replace(job, state="complete", code=7, completed=job.launched + 1)
        await finish(store, done)
        await store.call("DEL", Jobs(store.prefix).job(job.id))
    found = (await waiting).json()
    assert (found["code"], found["id"]) == (0, job.id)
    assert (found["job"]["code"], found["job"]["final"]) == (7, True)
    assert app.visitor.site.services.streams.open == 0


async def test_categories_and_groups_limit_who_runs_what(site: Site, app: AppClient) -> None:
    await app.ok(
        "create_event", id="e2", title="Report", category="reports", params={"script": "x"}
    )
    rights = Rights(categories=("reports",))
    async with site.program("operate", given=rights) as program:
        limited = AppClient(program)
        await limited.ok("run_event", id="e2")
        assert "category general" in await limited.refused("run_event", "access", 403, id="e1")
        assert [one["id"] for one in (await limited.ok("get_events"))["rows"]] == ["e2"]
        await limited.refused("get_event", "access", 403, id="e1")
        assert (await limited.ok("get_active_jobs"))["list"]["length"] == 1
