"""Endpoints of agents: their link, and the files of their jobs."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from litestar import Response, Router, WebSocket, get, put, websocket
from litestar.exceptions import WebSocketDisconnect, WebSocketException
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from watchbell import logs
from watchbell.errors import NotFound
from watchbell.fleet.model import AgentToken
from watchbell.jobs import agent_files
from watchbell.jobs.agent_hub import Visitor
from watchbell.jobs.agent_session import LinkClosed
from watchbell.jobs.model import JobFile
from watchbell.web.access import AGENTS
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, Services, services_of

Socket = WebSocket[Any, Any, Any]
Filename = Annotated[str, QueryParameter(min_length=1, max_length=255)]
Path = Annotated[str, QueryParameter(min_length=1, max_length=900)]
JobId = Annotated[str, PathParameter(max_length=100)]


class _Connection:
    """A WebSocket, as the session of an agent uses it."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                yield await self._socket.receive_bytes()
            except WebSocketDisconnect:
                return

    async def send(self, message: bytes) -> None:
        try:
            await self._socket.send_bytes(message)
        except (WebSocketDisconnect, OSError) as error:
            raise LinkClosed from error


def _token(connection: Asked | Socket) -> AgentToken:
    token: AgentToken = connection.scope["user"]
    return token


@websocket("/link", opt=AGENTS)
async def link(socket: Socket) -> None:
    services: Services = socket.app.state["services"]
    await socket.accept()
    services.agents.start(services.background.begin)
    address = socket.client.host if socket.client else ""
    visitor = Visitor(_token(socket), address)
    try:
        await services.agents.serve(_Connection(socket), visitor)
    except Exception:  # noqa: BLE001 the agent connects again; others are not affected
        logs.get(role="web").exception("the connection of an agent failed", address=address)
    with suppress(WebSocketException, OSError):
        await socket.close()


@put("/jobs/{job:str}/files", opt=AGENTS, request_max_body_size=None, status_code=200)
async def upload(request: Asked, job: JobId, filename: Filename) -> JobFile:
    """Store a file of a job in progress. The same name again replaces it."""
    services, server = services_of(request), _token(request).server
    await agent_files.check_upload(services.store, server, job)
    limit = services.settings.jobs.file_limit << 20
    if int(request.headers.get("content-length", 0)) > limit:
        raise _too_large(limit)
    path = agent_files.path_of(job, filename)
    size = await services.files().put(path, _limited(request, limit))
    return JobFile(
        id=agent_files.file_id(job, filename),
        filename=filename,
        path=path,
        size=size,
        job=job,
        server=server,
        date=round(services.clock.now(), 3),
    )


async def _limited(request: Asked, limit: int) -> AsyncIterator[bytes]:
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        yield part


def _too_large(limit: int) -> HttpProblem:
    return HttpProblem(413, f"a file may have at most {limit >> 20:,} MiB (jobs.file_limit)")


@get("/jobs/{job:str}/files", opt=AGENTS)
async def download(request: Asked, job: JobId, path: Path) -> Response[Any]:
    """Get an input file of a job of this server."""
    services = services_of(request)
    await agent_files.check_download(services.store, _token(request).server, job, path)
    files = services.files()
    found = await files.find(path)
    if found is None:
        raise NotFound(f"there is no file {path!r}")
    headers = {"Content-Length": str(found.size)}
    return Stream(files.stream(path), media_type="application/octet-stream", headers=headers)


ROUTES = Router("/api/agent/v1", route_handlers=[link, upload, download], include_in_schema=False)
