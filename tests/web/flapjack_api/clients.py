"""Clients of Flapjack's API, on a server of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import msgspec
from aiohttp import ClientSession
from msgspec.structs import replace
from yarl import URL

from tests.web.site import BY, chosen
from watchbell.actors import KeyScope
from watchbell.alerting import entities
from watchbell.alerting.intake import submit
from watchbell.alerting.model import CheckEvent, EventState
from watchbell.alerting.processor import Processor, step
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.flapjack_api.app import application
from watchbell.web.flapjack_api.calls import Backend
from watchbell.web.server import serving

MEDIA_TYPE = "application/vnd.api+json"
PATCH_TYPE = "application/json-patch+json"


class Reply:
    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def errors(self) -> list[str]:
        found: list[str] = self.json["errors"]
        return found


class Client:
    """Sends what flapjack-diner sends: its media types, and ids apart by commas."""

    def __init__(self, url: str, http: ClientSession, backend: Backend) -> None:
        self.url, self._http, self.backend = url, http, backend

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        kinds = {"POST": MEDIA_TYPE, "PATCH": PATCH_TYPE}
        sent = {"Content-Type": kinds[method]} if method in kinds else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        raw = (
            body if isinstance(body, bytes) else None if body is None else msgspec.json.encode(body)
        )
        url = URL(self.url + path, encoded=True)
        sent_body = None if raw is None else BytesIO(raw)
        async with self._http.request(method, url, data=sent_body, headers=sent) as answer:
            return Reply(answer.status, answer.headers, await answer.read())

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.ask("GET", path, **headers)

    async def post(self, path: str, body: Any, **headers: str) -> Reply:
        return await self.ask("POST", path, body, **headers)

    async def patch(self, path: str, *operations: Any) -> Reply:
        return await self.ask("PATCH", path, list(operations))

    async def delete(self, path: str) -> Reply:
        return await self.ask("DELETE", path)


@asynccontextmanager
async def serving_api(
    store: Store, *scopes: KeyScope, allow_loopback: bool = False
) -> AsyncIterator[Client]:
    settings = chosen()
    given = replace(settings.flapjack_api, allow_loopback=allow_loopback)
    settings = replace(settings, flapjack_api=given)
    backend = Backend.opened(settings, store, SYSTEM)
    headers = {}
    if scopes:
        secret, _ = await backend.api_keys.make("a client", scopes, BY)
        headers["Authorization"] = f"Bearer {secret}"
    async with (
        serving(application(backend), settings.web) as port,
        ClientSession(headers=headers) as http,
    ):
        yield Client(f"http://127.0.0.1:{port}", http, backend)


def replaced(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def added(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def removed(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


async def report(store: Store, *events: tuple[str, EventState, int]) -> None:
    """Reports of checks, each its name, its state and its time, one after the other."""
    for name, state, time in events:
        entity, _, check = name.partition(":")
        summary = f"it is {state}"
        await submit(
            store,
            CheckEvent(type="service", state=state, entity=entity, check=check, summary=summary),
        )
        await drained(store, time)


async def entity(store: Store, name: str, entity_id: str) -> None:
    await entities.save(store, entities.Entity(id=entity_id, name=name))


async def drained(store: Store, now: int) -> None:
    """Lets the processor handle what is queued."""
    processor = Processor(store, chosen().alerting, 1)
    while await step(processor, now) is not None:
        pass
