"""The charset of a document: by its byte order mark, its header, its own words, or its bytes."""

import codecs
import re

_MARKS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]
_IN_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_IN_BODY = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)")
_LOOKED_AT = 1_024
_AS_BROWSERS_READ = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254"}


def charset_of(body: bytes, content_type: str) -> str:
    """A codec of Python that can read text."""
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return charset
    if found := _IN_HEADER.search(content_type):
        charset = _codec(found[1])
        if charset:
            return charset
    head = body[:_LOOKED_AT].lower()
    declared = _IN_BODY.search(head) if b"charset" in head or b"encoding" in head else None
    if declared:
        charset = _codec(declared[1].decode("ascii", "replace"))
        if charset:
            # What says so in ASCII is not UTF-16.
            return "utf-8" if charset.startswith("utf-16") else charset
    return "utf-8" if _is_utf8(body) else "cp1252"


def decoded(body: bytes, charset: str) -> str:
    """Broken bytes are replaced; a byte order mark is left out."""
    return body.decode(charset, "replace").removeprefix("\ufeff")


def _codec(label: str) -> str:
    try:
        name = codecs.lookup(label).name
        b"text".decode(name, "replace")  # raises unless it is about text
    except (LookupError, ValueError):
        return ""
    if name in {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"}:
        return ""
    return _AS_BROWSERS_READ.get(name, name)


def _is_utf8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)  # it may end within a character
    except UnicodeDecodeError:
        return False
    return True
