"""The static files of the pages: compressed, and cached for ever."""

from litestar import Response, Router, get
from litestar.params import FromPath

from watchbell.web.access import PUBLIC
from watchbell.web.assets import files
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked

_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}


@get("/static/{digest:str}/{path:path}", opt=PUBLIC, include_in_schema=False)
async def static(request: Asked, digest: FromPath[str], path: FromPath[str]) -> Response[bytes]:
    known = files()
    found = known.by_path.get(path.lstrip("/")) if digest == known.digest else None
    if found is None:
        raise HttpProblem(404, "there is no such file")
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(found.content, headers=_FOREVER, media_type=found.kind)
    headers = {**_FOREVER, "Content-Encoding": "gzip"}
    return Response(found.packed, headers=headers, media_type=found.kind)


ROUTES = Router("/", route_handlers=[static])
