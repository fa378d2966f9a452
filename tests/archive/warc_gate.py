"""Other people's programs judge our WARC files: warcat, warcio, cdxj-indexer, and pywb by replay.

None of them finds every fault; together they do. They live in an environment of their own, which
is made when the first test needs it.
"""

import asyncio
import importlib.util
import json
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

# warcat 2.2.5 compares the payload digest of a revisit with the payload that the record leaves
# out. The standard asks for that digest, so this one complaint is not made. It also breaks off at
# heads of HTTP that servers wrote wrongly, with bare line feeds say; those count as empty heads.
WARCAT = """
import logging, sys
from warcat.model.field import HTTPHeader
from warcat.tool import VerifyTool

parse = HTTPHeader.parse

def lenient(text):
    try:
        return parse(text)
    except ValueError:
        return HTTPHeader(status="")

HTTPHeader.parse = lenient

class Verify(VerifyTool):
    def verify_payload_digest(self, record):
        if record.warc_type != "revisit":
            super().verify_payload_digest(record)

logging.basicConfig()
tool = Verify(sys.argv[1:], preserve_block=False)
tool.process()
sys.exit(1 if tool.problems else 0)
"""

# Serves the files by pywb and asks for the raw bytes of each response. Those are compared with the
# record, read by warcio, without its transfer coding.
PYWB = """
import gevent.monkey; gevent.monkey.patch_all()
import collections, json, logging, os, sys
from pywb.apps.frontendapp import FrontEndApp
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.timeutils import iso_date_to_timestamp
from werkzeug.test import Client

index, most, *paths = sys.argv[1:]
bodies = collections.defaultdict(set)
by_digest = {}
revisits = []
for path in paths:
    with open(path, "rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type not in ("response", "revisit") or not record.http_headers:
                continue
            fields = record.rec_headers
            uri = fields.get_header("WARC-Target-URI")
            at = iso_date_to_timestamp(fields.get_header("WARC-Date"))
            status = record.http_headers.get_statuscode()
            if not uri.startswith("http") or not status.isdigit() or not 200 <= int(status) < 600:
                continue
            digest = fields.get_header("WARC-Payload-Digest")
            if record.rec_type == "revisit":
                revisits.append((at, uri, digest))
                continue
            stream = record.raw_stream
            coding = record.http_headers.get_header("Transfer-Encoding") or ""
            if coding.lower() == "chunked":
                stream = ChunkedDataReader(stream, decomp_type=None)
            body = stream.read()
            if coding.lower() == "chunked":
                while piece := stream.read():
                    body += piece
            bodies[at, uri].add(body)
            by_digest[digest] = body
for at, uri, digest in revisits:
    bodies[at, uri].add(by_digest[digest])
folders = sorted({os.path.dirname(one) + "/" for one in paths})
config = {"collections": {"t": {"index": index, "archive_paths": folders}}}
client = Client(FrontEndApp(custom_config=config))
wanted = sorted(bodies)
wanted = wanted[:: max(len(wanted) // int(most), 1)]
for at, uri in wanted:
    codings = {"Accept-Encoding": "gzip, deflate, br, zstd"}  # pywb unpacks what is not named
    got = client.get("/t/%sid_/%s" % (at, uri), headers=codings).get_data()
    if got not in bodies[at, uri]:
        sys.exit("%s %s: pywb gives %d bytes: %r" % (at, uri, len(got), got[:200]))
print(json.dumps({"replayed": len(wanted)}))
sys.stdout.flush()
os._exit(0)
"""


async def gate(paths: Sequence[Path], *, index: Path | None = None, replays: int = 200) -> int:
    """Fails unless all programs accept these files, given in the order of their parts.

    `index` is our CDXJ, for pywb to use in place of cdxj-indexer's. Gives how many responses pywb
    replayed: at most about `replays`.
    """
    home = tools()
    files = [str(path) for path in paths]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "index.cdxj")
        async with asyncio.TaskGroup() as group:
            judges = [
                group.create_task(complaint(home / "python", "-c", WARCAT, *files, name="warcat")),
                group.create_task(complaint(home / "warcio", "check", *files)),
                group.create_task(complaint(home / "cdxj-indexer", "-s", "-o", str(made), *files)),
            ]
        complaints = [judge.result() for judge in judges if judge.result()]
        assert not complaints, "\n".join(complaints)
        arguments = ["-c", PYWB, str(index or made), str(replays), *files]
        printed = await accepted(home / "python", *arguments, name="pywb")
        return int(json.loads(printed.splitlines()[-1])["replayed"])


async def complaint(program: Path, *arguments: str, name: str = "") -> str:
    """Empty if the program accepts the files."""
    try:
        await accepted(program, *arguments, name=name)
    except AssertionError as error:
        return str(error)
    return ""


async def accepted(program: Path, *arguments: str, name: str = "") -> str:
    """What it printed; fails with all of that if it did not exit with 0."""
    code, printed, complaints = await ran(program, *arguments)
    why = f"{printed[-2000:]}\n{complaints[-4000:]}"
    assert code == 0, f"{name or program.name} rejects the files:\n{why}"
    return printed


async def ran(program: Path, *arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        printed, complaints = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return process.returncode, printed.decode(), complaints.decode(errors="replace")


@cache
def tools() -> Path:
    """The folder of the programs. Two workers that need it at once wait for each other."""
    launcher = _launcher()
    environment = launcher.Environment(".venv-warc", "requirements-warc.lock")
    try:
        environment.ensure()
    except (launcher.Failed, OSError) as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"the programs that check WARC files can't be installed: {error}")
    return Path(environment.path, "bin")


def _launcher() -> ModuleType:
    loader = SourceFileLoader("launcher", str(ROOT / "watchbell"))
    spec = importlib.util.spec_from_loader("launcher", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
