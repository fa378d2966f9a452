"""The data folder is narrowed to its owner, or refused, and nobody else's folder is touched."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.logged import logged
from watchbell.errors import EmbeddedFailed
from watchbell.store import data_folder


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def left_empty(_: Path) -> None:
    """As somebody made it."""


def used_by_a_store(folder: Path) -> None:
    (folder / "store.lock").touch()


@pytest.mark.parametrize("prepare", [left_empty, used_by_a_store])
@pytest.mark.parametrize("before", [0o755, 0o750, 0o704])
def test_a_folder_of_ours_that_others_can_read_is_narrowed(
    tmp_path: Path, prepare: Callable[[Path], None], before: int
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    prepare(folder)
    folder.chmod(before)
    with logged() as lines:
        data_folder.make(folder)
        data_folder.make(folder)
    assert mode(folder) == 0o700
    (line,) = lines.all()
    assert (line["level"], line["mode_before"]) == ("warning", f"{before:o}")


def test_a_folder_with_other_files_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(EmbeddedFailed, match=r"holds other files .* \(mode 755\); choose a folder"):
        data_folder.make(tmp_path)
    assert mode(tmp_path) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused_if_others_can_read_it(tmp_path: Path) -> None:
    os.chown(tmp_path, 65_534, 65_534)
    tmp_path.chmod(0o755)
    with pytest.raises(EmbeddedFailed, match="belongs to another user"):
        data_folder.make(tmp_path)
    tmp_path.chmod(0o700)
    data_folder.make(tmp_path)
    assert mode(tmp_path) == 0o700


def test_a_new_folder_is_private_from_the_start(tmp_path: Path) -> None:
    data_folder.make(tmp_path / "a" / "data")
    assert mode(tmp_path / "a" / "data") == 0o700


def test_a_folder_that_is_not_there_is_not_made_by_narrowing(tmp_path: Path) -> None:
    data_folder.make_private(tmp_path / "data")
    assert not (tmp_path / "data").exists()
