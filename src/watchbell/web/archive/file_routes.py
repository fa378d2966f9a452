"""Endpoints for the finished files of crawls."""

from typing import Annotated
from urllib.parse import quote

from litestar import Router, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import HeaderParameter, PathParameter
from litestar.response import Stream
from msgspec import Struct

from watchbell.archive import stored_files
from watchbell.errors import NotFound
from watchbell.web.access import needs
from watchbell.web.archive.crawl_routes import Ident
from watchbell.web.archive.log_routes import spelled
from watchbell.web.byte_ranges import ByteRange, wanted
from watchbell.web.problems import HttpProblem, Problem
from watchbell.web.services import Asked, services_of

FileName = Annotated[
    str, PathParameter(min_length=1, max_length=300, description="The name of a file.")
]
Range = Annotated[
    str,
    HeaderParameter(name="Range", max_length=200, description="The part that you want, in bytes."),
]
_BINARY = "application/octet-stream"
_KINDS = {".json": "application/json", ".txt": "text/plain", ".cdxj": "text/plain"}
_PARTIAL = {
    206: ResponseSpec(
        data_container=bytes,
        media_type=_BINARY,
        description="A part of the file.",
        generate_examples=False,
    ),
    416: ResponseSpec(
        data_container=Problem,
        media_type="application/problem+json",
        description="The file has no such part.",
        generate_examples=False,
    ),
}


class CrawlFile(Struct, frozen=True, kw_only=True):
    name: str
    size: int
    crawl: str
    """The crawl in the history that made it."""
    ended_at: float | None
    """When that crawl ended."""
    url: str
    """A path of this server."""
    is_here: bool
    """Whether this server can read it."""
    place: str
    """Where it was uploaded to; empty if it was not, or not yet."""
    sha256: str
    """Of a file that was uploaded."""


class CrawlFiles(Struct, frozen=True):
    items: list[CrawlFile]
    """Those of the newest crawl of the URL first."""


@get("/archive/crawls/{ident:str}/files", opt=needs("read"))
async def list_files(request: Asked, ident: Ident) -> CrawlFiles:
    """List the finished files of a crawl, and of earlier crawls of the same URL."""
    services, name = services_of(request), await spelled(request, ident)
    shown = [
        CrawlFile(
            name=one.file.name,
            size=one.file.size,
            crawl=one.crawl,
            ended_at=one.ended_at,
            url=f"/api/v1/archive/crawls/{name}/files/{quote(one.file.name)}",
            is_here=stored_files.readable(services.settings, one.file) is not None,
            place=one.file.place,
            sha256=one.file.sha256,
        )
        for one in await stored_files.of_crawl(services.store, name)
    ]
    return CrawlFiles(shown)


async def file_of(request: Asked, ident: str, name: str) -> stored_files.StoredFile:
    """Only files that the history names: the folder may hold others."""
    services = services_of(request)
    known = await stored_files.of_crawl(services.store, await spelled(request, ident))
    named = [one.file for one in known if one.file.name == name]
    if not named:
        raise NotFound(f"the crawl has no file {name!r}")
    return await stored_files.find(services.settings, services.files(), named[0])


@get(
    "/archive/crawls/{ident:str}/files/{name:str}",
    opt=needs("read"),
    media_type=_BINARY,
    responses=_PARTIAL,
)
async def one_file(request: Asked, ident: Ident, name: FileName, part: Range = "") -> Stream:
    """Download a finished file of a crawl, or a part of it."""
    file = await file_of(request, ident, name)
    try:
        asked = wanted(part, file.size)
    except ValueError as error:
        size = {"Content-Range": f"bytes */{file.size}"}
        raise HttpProblem(416, str(error), headers=size) from None
    span = asked or ByteRange(0, file.size)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "X-Content-Type-Options": "nosniff",
        "Accept-Ranges": "bytes",
        "Content-Length": str(span.end - span.start),
    }
    if asked:
        headers["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{file.size}"
    suffix = name[name.rfind(".") :] if "." in name else ""
    return Stream(
        file.chunks(span.start, span.end),
        status_code=206 if asked else 200,
        headers=headers,
        media_type=_KINDS.get(suffix, _BINARY),
    )


ROUTES = Router("/", tags=["Archive"], route_handlers=[list_files, one_file])
