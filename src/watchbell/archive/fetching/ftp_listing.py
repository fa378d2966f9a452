"""The names in a directory listing of FTP. Pure."""

import re
from urllib.parse import quote

_FORMS = (
    # As MLSD lists: some facts, each with a semicolon after it, and the name
    re.compile(rb"(?P<facts>(?:[\w.-]+=[^;]*;)+) (?P<name>.+)"),
    # Unix: drwxr-xr-x 2 alice users 4096 Nov  6 08:49 name
    re.compile(
        rb"(?P<facts>[-dlbcps])[-rwxsStTlL]{9}\S*\s.*?"
        rb"\s(?:[A-Za-z]{3}\s+\d{1,2}|\d{1,2}\s+[A-Za-z]{3}|\d{4}-\d\d-\d\d)"
        rb"\s+(?:\d{1,2}:\d\d|\d{4})\s(?P<name>.+)"
    ),
    # Windows: 11-06-94  08:49AM  <DIR>  name
    re.compile(
        rb"\d\d-\d\d-\d{2,4}\s+\d\d:\d\d\s?(?:[AaPp][Mm])?\s+(?P<facts><DIR>|[\d,]+)\s+(?P<name>.+)"
    ),
)
_FOLDERS = re.compile(rb"d|<DIR>|.*\btype=dir;.*", re.IGNORECASE)
_LONGEST_LINE = 4_096


def links(listing: bytes, url: str) -> list[str]:
    """The URLs of files and folders in a listing of this folder. Folders end with a slash."""
    base = url.partition(";")[0].rstrip("/") + "/"
    found = (_entry(line.rstrip(b"\r")) for line in listing.split(b"\n"))
    return list(dict.fromkeys(base + entry for entry in found if entry))


def _entry(line: bytes) -> str:
    """What the line names, as a part of a URL, or an empty text."""
    if len(line) > _LONGEST_LINE:
        return ""
    match = next(filter(None, (form.fullmatch(line) for form in _FORMS)), None)
    if not match:
        return ""
    name, facts = match["name"], match["facts"]
    if facts == b"l":
        name = name.partition(b" -> ")[0]
    if name in (b".", b"..") or b"/" in name or b"\0" in name:
        return ""
    return quote(name) + ("/" if _FOLDERS.fullmatch(facts) else "")
