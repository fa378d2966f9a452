"""Where finished files are uploaded, as the settings name it. Pure."""

import re
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from watchbell.errors import BadSettings
from watchbell.settings import ArchiveUpload, redacted

FORMS = "files, s3://BUCKET/FOLDER, ia://PREFIX, rsync://HOST/MODULE/FOLDER/ or USER@HOST:FOLDER/"
FOLDER = "archive/"
"""In `files`."""
IN_FILES = f"files:{FOLDER}"
"""How the place of a file in `files` begins."""
_OBJECTS = ("s3://", "gs://", "az://", "file:///")
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_HOST = r"(?:[A-Za-z0-9][\w.-]*|\[[0-9A-Fa-f:.]+\])"
_SSH = re.compile(rf"(?:[\w.-]+@)?({_HOST}):(?!:)(\S+)", re.ASCII)
_DAEMON = re.compile(rf"rsync://(?:[\w.-]+@)?({_HOST})(?::\d+)?/([^/\s]\S*)", re.ASCII)
_METADATA = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_LOCAL = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


class Destination(Struct, frozen=True):
    kind: Literal["files", "objects", "internet archive", "rsync daemon", "rsync over ssh"]
    url: str = ""
    """As it was given; of the Internet Archive, the prefix of items."""


def destination(chosen: ArchiveUpload) -> Destination | None:
    """None if files are not uploaded. Raises BadSettings."""
    metadata(chosen)
    url = chosen.url.strip()
    if not url:
        return None
    if url == "files":
        return Destination("files")
    if url.startswith(_OBJECTS):
        if not urlsplit(url).path.strip("/") and not urlsplit(url).netloc:
            raise _bad("it names no bucket", url)
        return Destination("objects", url.rstrip("/"))
    if url.startswith("ia://"):
        return _internet_archive(chosen, url)
    return _rsync(chosen, url)


def metadata(chosen: ArchiveUpload) -> list[tuple[str, str]]:
    """Raises BadSettings."""
    found = []
    for line in chosen.metadata:
        name, colon, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon or not value or not _METADATA.fullmatch(name) or not value.isprintable():
            raise BadSettings(
                f"archive.upload.metadata: expected NAME: VALUE, such as collection: opensource, "
                f"not {line!r}"
            )
        found.append((name, value))
    return found


def _internet_archive(chosen: ArchiveUpload, url: str) -> Destination:
    prefix = url.removeprefix("ia://").rstrip("/")
    if not _PREFIX.fullmatch(prefix):
        raise _bad("the prefix of items has up to 40 letters, digits, dots, _ and -", url)
    if not chosen.access_key_id or not chosen.secret:
        raise BadSettings(
            "archive.upload: the Internet Archive needs access_key_id and secret; "
            "https://archive.org/account/s3.php shows yours"
        )
    return Destination("internet archive", prefix)


def _rsync(chosen: ArchiveUpload, url: str) -> Destination:
    is_daemon = url.startswith("rsync://")
    if is_daemon and urlsplit(url).password is not None:
        raise _bad("the password belongs in archive.upload.secret", redacted(url))
    found = (_DAEMON if is_daemon else _SSH).fullmatch(url)
    if not found or ("://" in url and not is_daemon):
        raise _bad(f"expected {FORMS}", redacted(url))
    host, folder = found[1], found[2]
    if not folder.endswith("/"):
        raise _bad("a folder ends with /, else every file would replace the one before", url)
    if is_local(host) and not chosen.allow_local:
        raise _bad("this is the machine itself; set archive.upload.allow_local for a tunnel", url)
    return Destination("rsync daemon" if is_daemon else "rsync over ssh", url)


def is_local(host: str) -> bool:
    name = host.strip("[]").rstrip(".").lower()
    if name in _LOCAL or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _bad(why: str, given: str) -> BadSettings:
    return BadSettings(f"archive.upload.url: {why} (given: {given!r})")
