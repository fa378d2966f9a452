"""What crawls with a browser leave."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.archive.crawler import Crawler

BROWSER: dict[str, Any] = {"grabber": "phantomjs", "phantomjs_wait": 0.3, "phantomjs_scroll": 10}
NEEDS_CHROMIUM = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="chromium is not installed"
)


def resources(crawler: Crawler) -> dict[str, bytes]:
    """By URL: what was made of the pages."""
    return {record.url: block for record, block in crawler.records("resource")}


def dom_of(crawler: Crawler, url: str) -> str:
    return resources(crawler)[f"urn:X-watchbell:dom:{url}"].decode()


def browsers_of(data: Path) -> list[int]:
    """The processes of browsers whose profile is in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
        except OSError:
            continue
        if f"--user-data-dir={data}".encode() in command:
            found.append(int(path.parent.name))
    return found
