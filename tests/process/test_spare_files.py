"""Files of outputs that are used again."""

import os
from pathlib import Path

from watchbell.process.output_chunks import ChunkFile
from watchbell.process.spare_files import SpareFiles


def filled(folder: Path, spare: SpareFiles, name: str, size: int = 6) -> ChunkFile:
    """A file with so many bytes of output."""
    file = ChunkFile(folder / name, spare)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    for first in range(0, size, 4096):
        os.write(writing, b"x" * min(size - first, 4096))
        file.move(reading)
    os.close(writing)
    os.close(reading)
    return file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_of_an_output_is_used_for_the_next_one_and_is_empty(tmp_path: Path) -> None:
    spare = SpareFiles(tmp_path)
    first = filled(tmp_path, spare, "1", 6)
    inode = (tmp_path / "1").stat().st_ino
    first.remove()
    assert names(tmp_path) == ["spare-1"]
    second = filled(tmp_path, spare, "2", 3)
    assert (tmp_path / "2").stat().st_ino == inode
    assert (tmp_path / "2").read_bytes() == b"xxx"
    assert second.size == 3
    second.remove()


def test_a_large_file_is_deleted(tmp_path: Path) -> None:
    filled(tmp_path, SpareFiles(tmp_path), "1", (256 << 10) + 1).remove()
    assert names(tmp_path) == []


def test_a_file_that_was_closed_before_is_deleted(tmp_path: Path) -> None:
    file = filled(tmp_path, SpareFiles(tmp_path), "1")
    file.close()
    file.remove()
    assert names(tmp_path) == []


def test_removing_a_file_closes_it(tmp_path: Path) -> None:
    before = len(names(Path("/dev/fd")))
    filled(tmp_path, SpareFiles(tmp_path), "1").remove()
    assert len(names(Path("/dev/fd"))) == before
