"""The handler that runs events, and waits for their jobs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
from litestar import MediaType
from litestar.response import Stream

from watchbell.errors import NotFound, Refused
from watchbell.jobs import job_records, run_event, uploads
from watchbell.jobs.model import JobFile
from watchbell.web import call_parameters
from watchbell.web.app_api import form_files
from watchbell.web.app_api.calls import Answer, Call, Group
from watchbell.web.app_api.job_reading import shown_jobs, with_output
from watchbell.web.app_api.stored_files import input_files
from watchbell.web.output_view import LATEST, SOONEST

RUNS = Group("event")
_DEEPEST = 8
_BEAT = 10.0
"""Seconds between two signs of life while a caller waits."""


@RUNS.changes(
    "run_jobs",
    name="run_event",
    takes="id title params input data tags targets algo actions limits notes icon delay priority"
    " test test_actions test_limits test_conditions post_data json *",
    gives="id",
    suffixes=("", "wait"),
)
async def run(call: Call) -> Answer:
    async def keep(_: str, filename: str, content: AsyncIterator[bytes]) -> JobFile:
        return await uploads.store(call.services.files(), filename, content, call.actor, call.now)

    form = await form_files.received(call, keep)
    wish = wish_of(call.parameters.query, form.fields)
    given = wish.pop("input", None) or {}
    if not isinstance(given, dict):
        raise Refused("expected an object", field="input")
    files = [*await input_files(call, given.get("files") or []), *form.files]
    if "data" in given and "data" not in wish:
        wish["data"] = given["data"]
    if not (wish.get("id") or wish.get("event") or wish.get("title")):
        raise Refused("expected the id or the title of an event", field="id")
    services, catalogue = call.services, await call.catalogue()
    if isinstance(wish.get("id"), str):
        await services.definitions.changed("event", wish["id"])
    job = await run_event.run(
        call.store,
        catalogue,
        call.actor,
        wish,
        call.now,
        timezone=services.settings.jobs.timezone,
        defaults=services.job_defaults,
        files=files,
    )
    await call.audit("jobs.run", job.event, job.id)
    if call.suffix == "wait":
        services.streams.check(call.actor)
        return Stream(_until_over(call, job.id), media_type=MediaType.JSON)
    return {"id": job.id}


def wish_of(query: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """What a call asks for. With `post_data` in the query, the body is a parameter of the job; else
    its properties count more than those of the query."""
    if query.get("post_data"):
        found = {name: value for name, value in query.items() if name != "post_data"}
        wish = _nested(found)
        wish["params"] = {**_params(wish), "post_data": dict(body)}
        return _typed(wish)
    found = {**query, **body}
    text = found.pop("json", None)
    if isinstance(text, str):
        found |= call_parameters.decoded(text.encode())
    elif text is not None:
        raise Refused("expected text", field="json")
    return _typed(_nested(found))


def _params(wish: Mapping[str, Any]) -> dict[str, Any]:
    found = wish.get("params") or {}
    if not isinstance(found, dict):
        raise Refused("expected an object", field="params")
    return found


def _nested(given: Mapping[str, Any]) -> dict[str, Any]:
    """`{"params/script": "…"}` as `{"params": {"script": "…"}}`."""
    found = {name: value for name, value in given.items() if "/" not in name}
    for path, value in given.items():
        *outer, last = path.split("/")
        if not outer:
            continue
        if len(outer) > _DEEPEST:
            raise Refused("it is nested too deep", field=path[:100])
        inner = found
        for name in outer:
            copied = inner.get(name)
            inner[name] = dict(copied) if isinstance(copied, dict) else {}
            inner = inner[name]
        inner[last] = value
    return found


def _typed(wish: Mapping[str, Any]) -> dict[str, Any]:
    """What came as text, from a query or a form, as what it means."""
    return {
        name: _TYPES[name](name, value) if name in _TYPES else value for name, value in wish.items()
    }


def _flag(_: str, value: Any) -> Any:
    if isinstance(value, str):
        return value.lower() in ("1", "true", "yes")
    return bool(value) if isinstance(value, int) else value


def _number(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value, type=int | float)
    except msgspec.MsgspecError:
        raise Refused("expected a number", field=name) from None


def _list(_: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return [one.strip() for one in value.split(",") if one.strip()]


_TYPES: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("test", "test_actions", "test_limits", "test_conditions"), _flag),
    **dict.fromkeys(("delay", "priority"), _number),
    **dict.fromkeys(("tags", "targets"), _list),
}


async def _until_over(call: Call, id: str) -> AsyncIterator[bytes]:  # noqa: A002
    """Blanks as signs of life, which JSON allows, then the finished job."""
    pause, silence = SOONEST, 0.0
    with call.services.streams.counted(call.actor):
        while True:
            job = await job_records.read(call.store, id)
            if job is None or job.state == "complete":
                break
            await asyncio.sleep(pause)
            silence, pause = silence + pause, min(pause * 1.5, LATEST)
            if silence >= _BEAT:
                silence = 0.0
                yield b" "
    if job is None:
        error = NotFound(f"the record of job {id} was deleted")
        yield msgspec.json.encode({"code": "job", "description": str(error)})
        return
    shown = await with_output(call, job, (await shown_jobs(call, [job]))[0])
    yield msgspec.json.encode({"code": 0, "id": id, "job": shown})
