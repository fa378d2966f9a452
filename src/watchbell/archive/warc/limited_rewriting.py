"""Rewrites archived pages in a process of its own, within limits that the system enforces: a page
that was made to keep a parser busy for hours harms nobody else.

`python -m watchbell.archive.warc.limited_rewriting` reads a line of JSON and a page, and writes the
page.
"""

import base64
import resource
import subprocess
import sys

import msgspec
from msgspec import Struct

from watchbell.archive.urls import LONGEST
from watchbell.archive.warc.rewriting import Rewriter
from watchbell.archive.warc.stored_responses import StoredResponse
from watchbell.archive.warc.views import text_of
from watchbell.errors import Refused
from watchbell.settings import environment

SECONDS = 5
"""Processor time that one page may take."""
MEMORY = 1 << 30
_PATIENCE = 60
"""Seconds after which a process that does not even use its processor time is killed."""
_INHERITED = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TZ")


class _Job(Struct, frozen=True):
    url: str
    content_type: str
    prefix: str


def name_of(url: str) -> str:
    """A URL as one part of a path."""
    return base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def url_of(name: str) -> str:
    """Raises ValueError."""
    if len(name) > 2 * LONGEST:
        raise ValueError("too long")
    return base64.urlsafe_b64decode(name.encode("ascii") + b"=" * (-len(name) % 4)).decode()


def rewritten(body: bytes, stored: StoredResponse, prefix: str) -> bytes:
    """With links that lead to `prefix` and the name of a URL. Blocks: run it in a thread. Raises
    Refused for a page that takes too much."""
    job = _Job(stored.url, stored.header("content-type"), prefix)
    inherited = {name: value for name, value in environment().items() if name in _INHERITED}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "watchbell.archive.warc.limited_rewriting"],
            input=msgspec.json.encode(job) + b"\n" + body,
            env=inherited,
            capture_output=True,
            timeout=_PATIENCE,
            check=True,
        )
    except subprocess.SubprocessError:
        reason = f"the page takes more than {SECONDS} s to prepare, so its source is shown"
        raise Refused(reason) from None
    return done.stdout


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Job)
    rewriter = Rewriter(job.url, lambda url: job.prefix + name_of(url))
    page = rewriter.html(text_of(sys.stdin.buffer.read(), job.content_type))
    sys.stdout.buffer.write(page.encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
