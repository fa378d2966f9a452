"""Real servers on loopback that finished files are uploaded to."""

import asyncio
import base64
import hashlib
import os
import socket
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from aiohttp import web
from moto.server import ThreadedMotoServer

from tests.waiting import wait_until
from watchbell.settings import ArchiveUpload, Secret

BUCKET = "watchbell-uploads"
LOGIN = "LOW key:s3cret"


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of an S3 server with an empty bucket."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        for path in ("moto-api/reset", BUCKET):
            method = "POST" if path.startswith("moto") else "PUT"
            made = urllib.request.Request(f"{address}/{path}", method=method)
            with urllib.request.urlopen(made) as answer:
                assert answer.status == 200
        yield address
    finally:
        server.stop()


def to_s3(address: str, **more: Any) -> ArchiveUpload:
    return ArchiveUpload(
        url=f"s3://{BUCKET}/warcs",
        endpoint=address,
        region="us-east-1",
        access_key_id="key",
        secret=Secret("s3cret"),
        **more,
    )


def object_headers(address: str, name: str) -> dict[str, str]:
    asked = urllib.request.Request(f"{address}/{BUCKET}/warcs/{name}", method="HEAD")
    with urllib.request.urlopen(asked) as answer:
        return {key.lower(): value for key, value in answer.headers.items()}


def put_object(address: str, name: str, content: bytes) -> None:
    where = f"{address}/{BUCKET}/warcs/{name}"
    kind = {"Content-Type": "application/octet-stream"}
    put = urllib.request.Request(where, content, kind, method="PUT")
    with urllib.request.urlopen(put) as answer:
        assert answer.status == 200


def get_object(address: str, name: str) -> bytes:
    login = {"Authorization": "AWS4-HMAC-SHA256 Credential=key/20260921/us-east-1/s3/aws4_request"}
    where = f"{address}/{BUCKET}/warcs/{name}"
    with urllib.request.urlopen(urllib.request.Request(where, headers=login)) as answer:
        found: bytes = answer.read()
        return found


class RsyncDaemon:
    """A daemon with a module `in`, whose password is that of alice."""

    def __init__(self, folder: Path, password: str = "") -> None:
        self.module = folder / "module"
        self.module.mkdir()
        self.log = folder / "rsyncd.log"
        self._config = folder / "rsyncd.conf"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        lines = [
            "use chroot = no",
            f"log file = {self.log}",
            "max verbosity = 9",
            f"uid = {os.getuid()}",
            f"gid = {os.getgid()}",
            "[in]",
            f"path = {self.module}",
            "read only = no",
        ]
        if password:
            secrets = folder / "rsyncd.secrets"
            secrets.write_text(f"alice:{password}\n")
            secrets.chmod(0o600)
            lines += ["auth users = alice", f"secrets file = {secrets}"]
        self._config.write_text("\n".join(lines) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"rsync://alice@127.0.0.1:{self.port}/in/warcs/"

    def start(self) -> None:
        (self.module / "warcs").mkdir(exist_ok=True)
        command = ["rsync", "--daemon", "--no-detach", f"--config={self._config}"]
        self._process = subprocess.Popen([*command, "--address=127.0.0.1", f"--port={self.port}"])
        wait_until(self._answers)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def rsync_daemon(folder: Path, password: str = "") -> Iterator[RsyncDaemon]:
    daemon = RsyncDaemon(folder, password)
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.stop()


class ItemServer:
    """Takes files like the Internet Archive: items are made by the first file, a wrong digest is
    refused, and a file may appear late."""

    def __init__(self) -> None:
        self.address = ""
        self.over_limit = 0
        self.is_down = False
        self.is_late = False
        self.items: dict[str, dict[str, bytes]] = {}
        self.waiting: dict[str, dict[str, bytes]] = {}
        self.puts: list[tuple[str, dict[str, str]]] = []
        self.limits_asked = 0
        self.foreign: set[str] = set()
        """Items of others."""

    def release(self) -> None:
        """What was sent appears."""
        for item, files in self.waiting.items():
            self.items.setdefault(item, {}).update(files)
        self.waiting, self.is_late = {}, False

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET" and request.headers.get("Authorization") != LOGIN:
            return _refused(403, "SignatureDoesNotMatch", "The key is wrong")
        if self.is_down:
            return _refused(503, "SlowDown", "Please reduce your request rate")
        if request.path == "/":
            assert request.query["check_limit"] == "1"
            assert request.query["accesskey"] == "key"
            self.limits_asked += 1
            return web.json_response({"over_limit": self.over_limit, "detail": {}})
        _, item, name = request.path.split("/")
        if request.method == "PUT":
            return await self._put(request, item, name)
        content = self.items.get(item, {}).get(name)
        if content is None:
            return _refused(404, "NoSuchKey", "There is no such file")
        etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
        return web.Response(body=content, headers={"ETag": f'"{etag}"'})

    async def _put(self, request: web.Request, item: str, name: str) -> web.Response:
        content = await request.read()
        digest = hashlib.md5(content, usedforsecurity=False).digest()
        if request.headers["Content-MD5"] != base64.b64encode(digest).decode():
            return _refused(400, "BadDigest", "The Content-MD5 you specified did not match")
        if item in self.foreign:
            return _refused(403, "AccessDenied", "This item is not yours")
        exists = item in self.items or item in self.waiting
        if not exists and request.headers.get("x-amz-auto-make-bucket") != "1":
            return _refused(404, "NoSuchBucket", "The item does not exist")
        self.puts.append((request.path, dict(request.headers)))
        place = self.waiting if self.is_late else self.items
        place.setdefault(item, {})[name] = content
        return web.Response()


def _refused(status: int, code: str, message: str) -> web.Response:
    text = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return web.Response(status=status, text=text, content_type="application/xml")


@asynccontextmanager
async def item_server() -> AsyncIterator[ItemServer]:
    server = ItemServer()
    application = web.Application(client_max_size=1 << 30)
    application.router.add_route("*", "/{tail:.*}", server.answer)
    runner = web.AppRunner(application, handler_cancellation=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        server.address = f"http://127.0.0.1:{port}"
        yield server
    finally:
        await runner.cleanup()


def to_items(server: ItemServer, **more: Any) -> ArchiveUpload:
    return ArchiveUpload(
        url="ia://bell",
        endpoint=server.address,
        access_key_id="key",
        secret=Secret("s3cret"),
        **more,
    )


async def output_of(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return output.decode()
