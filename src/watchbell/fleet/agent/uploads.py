"""Files of jobs: which ones a job wants to upload, and their transfer by HTTP."""

import asyncio
import glob
import os
import shutil
import ssl
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from watchbell.errors import Refused

_TIMEOUT = 60.0
_BLOCK = 256 << 10
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LATER = (408, 425, 429)
"""Answers by which a server asks to try again; so do all from 500 on."""
_MOST = 1_000
_LONGEST_ANSWER = 64 << 10
_CREATED, _OK = 201, 200


class FileWish(NamedTuple):
    """A file that a job wants to upload."""

    path: Path
    filename: str
    is_deleted: bool
    """Whether it is deleted after its upload."""
    owner: int | None = None
    """The account to which it has to belong, since we may read more files than the job."""


def wishes(items: Sequence[Any], folder: Path, owner: int | None) -> Iterator[FileWish]:
    """The files that `Job.files` names: a path or a glob, `[path, filename]`, `[path, filename,
    true]`, or an object. What does not exist is left out."""
    seen: set[tuple[Path, str]] = set()
    for item in items:
        pattern, filename, is_deleted = _read(item)
        if not pattern:
            continue
        for path in _matching(pattern, folder):
            name = os.path.basename(filename) or path.name  # noqa: PTH119
            wish = FileWish(path, name, is_deleted and owner is None, owner)
            if (wish.path, wish.filename) not in seen and len(seen) < _MOST:
                seen.add((wish.path, wish.filename))
                yield wish


def _read(item: Any) -> tuple[str, str, bool]:
    if isinstance(item, str):
        return item, "", False
    if isinstance(item, dict):
        path, name = item.get("path"), item.get("filename")
        is_deleted = item.get("delete") is True
    elif isinstance(item, list | tuple) and item:
        path, name, is_deleted = (*item, "", False)[:3] if len(item) < 3 else item[:3]
    else:
        return "", "", False
    named = name if isinstance(name, str) else ""
    return (path if isinstance(path, str) else ""), named, is_deleted is True


def _matching(pattern: str, folder: Path) -> list[Path]:
    path = folder / pattern
    if path.is_file():
        return [path]
    found = glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207 it may be absolute
    return sorted(one for name in found if (one := folder / name).is_file())


def _opened(wish: FileWish) -> BinaryIO:
    try:
        descriptor = os.open(wish.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(error.strerror or str(error)) from error
    file = os.fdopen(descriptor, "rb")
    if wish.owner is not None and os.fstat(descriptor).st_uid != wish.owner:
        file.close()
        raise Refused("it does not belong to the account of the job")
    return file


class Failed(Exception):
    """A transfer that may succeed later."""


class Transfers:
    def __init__(
        self,
        server: Callable[[], tuple[str, str]],
        tls: Callable[[], ssl.SSLContext],
    ) -> None:
        """`server` gives the URL of the server, and the token."""
        self._server, self._tls = server, tls

    async def upload(self, job: str, wish: FileWish, is_over: Callable[[], bool]) -> dict[str, Any]:
        """What the server knows the file by. Tries until it succeeds, or `is_over`; raises Refused
        if the server does not want it."""
        return await self._persistently(lambda: self._put(job, wish), is_over)

    async def fetch(
        self, job: str, path: str, target: Path, is_over: Callable[[], bool]
    ) -> dict[str, Any]:
        """Writes a file of the server to `target`."""
        return await self._persistently(lambda: self._get(job, path, target), is_over)

    async def _persistently(
        self, transfer: Callable[[], dict[str, Any]], is_over: Callable[[], bool]
    ) -> dict[str, Any]:
        pause = _SHORTEST_PAUSE
        while True:
            try:
                return await asyncio.to_thread(transfer)
            except Failed as error:
                if is_over():
                    raise Refused(f"the server could not be reached: {error}") from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _put(self, job: str, wish: FileWish) -> dict[str, Any]:
        with _opened(wish) as file:
            size = os.fstat(file.fileno()).st_size
            headers = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
            query = {"filename": wish.filename}
            with _Exchange(self, "PUT", job, query, headers, file) as answer:
                content = answer.read(_LONGEST_ANSWER)
        try:
            return msgspec.json.decode(content, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise Failed(f"the answer is not JSON: {content[:100]!r}") from error

    def _get(self, job: str, path: str, target: Path) -> dict[str, Any]:
        with _Exchange(self, "GET", job, {"path": path}, {}, None) as answer:
            with target.open("wb") as file:
                shutil.copyfileobj(answer, file, _BLOCK)
            expected = answer.headers.get("Content-Length")
            if expected and int(expected) != target.stat().st_size:
                raise Failed("the connection was cut")
        return {}

    def connection(self) -> tuple[Any, str, str]:
        """A connection, the path of the API, and the token."""
        import http.client  # noqa: PLC0415  (few agents ever need it)

        url, token = self._server()
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        connection: http.client.HTTPConnection
        if parts.scheme in ("https", "wss"):
            connection = http.client.HTTPSConnection(
                host, port, timeout=_TIMEOUT, blocksize=_BLOCK, context=self._tls()
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT, blocksize=_BLOCK)
        return connection, parts.path.rstrip("/"), token


class _Exchange:
    """One request and its answer, which must be a success."""

    def __init__(
        self,
        transfers: Transfers,
        method: str,
        job: str,
        query: dict[str, str],
        headers: dict[str, str],
        body: Any,
    ) -> None:
        self._connection, path, token = transfers.connection()
        self._method, self._body = method, body
        self._target = f"{path}/api/agent/v1/jobs/{quote(job, '')}/files?{urlencode(query)}"
        self._headers = {**headers, "Authorization": f"Bearer {token}"}

    def __enter__(self) -> Any:
        import http.client  # noqa: PLC0415

        try:
            self._connection.request(self._method, self._target, self._body, self._headers)
            answer = self._connection.getresponse()
            if answer.status in (_OK, _CREATED):
                return answer
            reason = _reason(answer.read(_LONGEST_ANSWER), answer.status)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Failed(str(error)) from error
        self._connection.close()
        if answer.status >= 500 or answer.status in _LATER:
            raise Failed(reason)
        raise Refused(reason)

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        import http.client  # noqa: PLC0415

        self._connection.close()
        if isinstance(error, http.client.HTTPException | ConnectionError | TimeoutError):
            raise Failed(str(error))


def _reason(content: bytes, status: int) -> str:
    try:
        answer = msgspec.json.decode(content, type=dict[str, Any])
        said = str(answer.get("detail") or answer.get("description") or "")
    except msgspec.DecodeError:
        said = content.decode(errors="replace").strip()
    return f"the server answered {status}" + (f": {said[:500]}" if said else "")
