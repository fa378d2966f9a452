"""What a WARC/1.1 record is made of, and the bytes of its head."""

import re
from base64 import b32encode
from collections.abc import Mapping
from typing import Literal, Protocol

from msgspec import Struct

from watchbell.archive.warc.dates import record_date

RecordType = Literal["warcinfo", "request", "response", "revisit", "resource", "metadata"]
Truncation = Literal["", "length", "time", "disconnect", "unspecified"]

VERSION = "WARC/1.1"
END = b"\r\n\r\n"
IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

_UNFIT = re.compile(r"[\x00-\x20\x7f]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_MEDIA_TYPE = re.compile(rb"^content-type:[ \t]*([^\s;,]+)", re.IGNORECASE | re.MULTILINE)


class Body(Protocol):
    """Bytes that may be too many for memory."""

    @property
    def size(self) -> int: ...

    def read(self, start: int = 0, stop: int | None = None) -> bytes: ...


class Tls(Struct, frozen=True):
    """How a connection was encrypted."""

    protocol: str
    """As OpenSSL names it: `TLSv1.3`."""
    cipher: str
    certificates: tuple[bytes, ...] = ()
    """What the server proved its name with, in DER; empty if that is recorded already."""


class Exchange(Struct, frozen=True, kw_only=True):
    """A request and its response, as they went over the wire."""

    url: str
    at: float
    """When the request was sent."""
    ip: str = ""
    request: bytes
    response: bytes | Body
    head_size: int
    """Where the payload begins in the response. 0: it has no head that we understand."""
    truncated: Truncation = ""
    may_be_revisit: bool = True
    tls: Tls | None = None


class Original(Struct, frozen=True, kw_only=True):
    """The record that holds a payload that came again."""

    id: str
    url: str
    at: float


class Written(Struct, frozen=True, kw_only=True):
    """Where a record is, and what the index says about it."""

    id: str
    """The UUID, without `urn:uuid:`."""
    type: RecordType
    url: str
    at: float
    part: int
    offset: int
    length: int
    """Bytes of its gzip member."""
    status: int = 0
    media_type: str = ""
    digest: str = ""
    """Of the payload: SHA-1 in base 32. Empty if it has none."""
    payload_size: int = 0
    is_truncated: bool = False


class HttpHead(Struct, frozen=True):
    """What a writer reads in the head of a response."""

    size: int
    """Up to the payload; 0 if programs would not agree where that begins."""
    status: int
    media_type: str


def http_head(first: bytes, head_size: int) -> HttpHead:
    """`first` is the beginning of a response that has `head_size` bytes before its payload.

    Readers of WARC take what follows the first blank line for the payload, some only if it ends
    with CRLF. After an interim response (103) that is not the payload.
    """
    head = first[:head_size]
    blank = _BLANK_LINE.search(head)
    is_clear = blank is not None and blank.end() == head_size and head.endswith(b"\r\n\r\n")
    words = head[:64].split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) == 3 else 0
    found = _MEDIA_TYPE.search(head)
    media_type = found[1].decode("latin-1").lower() if found else ""
    return HttpHead(head_size if is_clear else 0, status, media_type)


def digest_text(digest: bytes) -> str:
    return b32encode(digest).decode("ascii")


def uri(text: str) -> str:
    """As a field's value: without spaces and controls, whatever a site made of it."""
    return _UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", text)


def record_head(
    kind: RecordType,
    *,
    record_id: str,
    at: float,
    content_type: str,
    length: int,
    block_digest: bytes,
    fields: Mapping[str, str],
) -> bytes:
    """The version, the named fields and a blank line. Fields without a value are left out."""
    lines = [
        VERSION,
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: {urn(record_id)}",
        f"WARC-Date: {record_date(at)}",
        *(f"{name}: {value}" for name, value in fields.items() if value),
        f"WARC-Block-Digest: sha1:{digest_text(block_digest)}",
        f"Content-Type: {_CONTROLS.sub(' ', content_type)}",
        f"Content-Length: {length}",
    ]
    return "\r\n".join(lines).encode() + END


def tls_fields(tls: Tls | None) -> dict[str, str]:
    """As most crawlers write them, with versions like `tls/1.3`."""
    if tls is None:
        return {}
    name, _, version = tls.protocol.lower().partition("v")
    version = f"{version}.0" if version.isdigit() else version
    return {"WARC-Protocol": f"{name}/{version}", "WARC-Cipher-Suite": tls.cipher}


def urn(record_id: str) -> str:
    return f"<urn:uuid:{record_id}>" if record_id else ""


def warc_fields(values: Mapping[str, str]) -> bytes:
    """The block of a warcinfo or metadata record, of type `application/warc-fields`."""
    lines = [f"{name}: {_CONTROLS.sub(' ', value)}\r\n" for name, value in values.items()]
    return "".join(lines).encode()


def revisit_fields(original: Original) -> dict[str, str]:
    return {
        "WARC-Profile": IDENTICAL_PAYLOAD,
        "WARC-Refers-To": urn(original.id),
        "WARC-Refers-To-Target-URI": uri(original.url),
        "WARC-Refers-To-Date": record_date(original.at),
    }
