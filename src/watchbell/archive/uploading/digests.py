"""Digests of a file, all from one reading."""

import hashlib
from pathlib import Path

from msgspec import Struct

from watchbell.files.objects import part_size

_PIECE = 1 << 20


class Digests(Struct, frozen=True):
    sha256: str
    md5: str
    etag: str
    """What S3 computes of a file that arrives in parts."""


def digests_of(path: Path) -> Digests:
    size = path.stat().st_size
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    parts, part = [], hashlib.md5(usedforsecurity=False)
    most, filled = part_size(size), 0
    with path.open("rb") as file:
        while piece := file.read(min(_PIECE, most - filled)):
            sha256.update(piece)
            md5.update(piece)
            part.update(piece)
            filled += len(piece)
            if filled == most:
                parts.append(part.digest())
                part, filled = hashlib.md5(usedforsecurity=False), 0
    if filled:
        parts.append(part.digest())
    joined = hashlib.md5(b"".join(parts), usedforsecurity=False).hexdigest()
    return Digests(sha256.hexdigest(), md5.hexdigest(), f"{joined}-{len(parts)}")
