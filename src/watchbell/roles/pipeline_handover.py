"""What the process of a pipeline gets from its parent, which does not load what crawls need."""

from typing import Any

import msgspec
from msgspec import Struct

from watchbell.settings import Archive, Files, Secret, decode
from watchbell.store.url import StoreURL

MODULE = "watchbell.roles.pipeline_process"


class Handed(Struct, frozen=True):
    store: StoreURL
    archive: Archive
    files: Files
    data: str
    level: str

    def packed(self) -> bytes:
        return msgspec.json.encode(self, enc_hook=_plain) + b"\n"


def unpacked(line: bytes) -> Handed:
    return msgspec.json.decode(line, type=Handed, dec_hook=decode)


def _plain(value: Any) -> str:
    return value.reference if isinstance(value, Secret) else str(value)
