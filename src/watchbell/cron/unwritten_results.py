"""Results that could not be written before the instance ended, kept on disk for its successor."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from watchbell.cron.result_writer import Unwritten

_decoder = msgspec.msgpack.Decoder(list[Unwritten])


def save(folder: Path, instance: str, items: Sequence[Unwritten]) -> Path:
    """A file of its own, which appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{instance}.results"
    fresh = file.with_suffix(".new")
    fresh.write_bytes(msgspec.msgpack.encode(items))
    fresh.rename(file)
    return file


def load(folder: Path) -> list[tuple[Path, list[Unwritten]]]:
    """What instances before us left, and in which file; delete that once it is written."""
    found = []
    for file in sorted(folder.glob("*.results")):
        try:
            found.append((file, _decoder.decode(file.read_bytes())))
        except (msgspec.MsgspecError, OSError):
            file.rename(file.with_suffix(".unreadable"))
    return found
