"""Saves output and results that could not be written before the process ended, for the next one."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from watchbell.runs.writer import Result, Unwritten

R = TypeVar("R", bound=Result)


def save(folder: Path, name: str, items: Sequence[Unwritten[R]]) -> Path:
    """Writes a file of this name, which appears complete or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.results"
    fresh = file.with_suffix(".new")
    fresh.write_bytes(msgspec.msgpack.encode(items))
    fresh.rename(file)
    return file


def load(folder: Path, kind: type[R]) -> list[tuple[Path, list[Unwritten[R]]]]:
    """Files of earlier processes and their items. The caller deletes a file once they are written.

    A file that can't be read is renamed, and kept.
    """
    found, decoder = [], msgspec.msgpack.Decoder(list[Unwritten[kind]])  # type: ignore[valid-type]
    for file in sorted(folder.glob("*.results")):
        try:
            found.append((file, decoder.decode(file.read_bytes())))
        except (msgspec.MsgspecError, OSError):
            file.rename(file.with_suffix(".unreadable"))
    return found
