"""Slugs: the part of a crawl's file names that says what was archived."""

import re
from urllib.parse import unquote

from watchbell.archive.model import Depth
from watchbell.archive.urls import host_of, path_of

_LONGEST = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def slug_of(url: str, depth: Depth, *, is_list: bool = False) -> str:
    """`HOST-DEPTH`, or `urls-HOST-FILE-DEPTH` for a list of URLs. It is safe as a file name."""
    host = _safe(host_of(url)) or "unknown"
    if not is_list:
        return f"{host}-{depth}"
    file = _safe(unquote(path_of(url)).rstrip("/").rpartition("/")[2])
    return "-".join(part for part in ("urls", host, file, depth) if part)


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text).strip("._-")[:_LONGEST]
