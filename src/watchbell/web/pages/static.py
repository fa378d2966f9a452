"""Files of the pages: those that are packaged, looked up by name."""

import hashlib
from functools import cache
from pathlib import Path

from litestar import Response, Router, get
from litestar.params import FromPath

from watchbell.web.access import PUBLIC
from watchbell.web.desk import Asked
from watchbell.web.problems import Trouble

_FOLDER = Path(__file__).parents[1] / "static"
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


@cache
def _files() -> dict[str, tuple[bytes, str, str]]:
    """Content, kind and ETag of each; nothing else on the disk has a name here."""
    return {
        path.name: (
            path.read_bytes(),
            _KINDS[path.suffix],
            f'"{hashlib.sha256(path.read_bytes()).hexdigest()[:32]}"',
        )
        for path in _FOLDER.iterdir()
        if path.suffix in _KINDS
    }


@get("/static/{name:str}", opt=PUBLIC, include_in_schema=False)
async def static(request: Asked, name: FromPath[str]) -> Response[bytes]:
    found = _files().get(name)
    if found is None:
        raise Trouble(404, "there is no such file")
    content, kind, tag = found
    headers = {"ETag": tag, "Cache-Control": "public, no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type=kind)
    return Response(content, headers=headers, media_type=kind)


ROUTES = Router("/", route_handlers=[static])
