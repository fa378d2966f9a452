"""Append-only files: a torn tail is told from damage, and what is cut off is kept."""

from pathlib import Path

import pytest

from watchbell.errors import EmbeddedFailed
from watchbell.store import aof
from watchbell.store.aof import Damage, Kind, examine
from watchbell.store.embedded import find_binary

MULTI, EXEC = ("MULTI",), ("EXEC",)
MANIFEST = "appendonly.aof.manifest"
BASE, FIRST, SECOND = (f"appendonly.aof.{n}" for n in ("1.base.aof", "1.incr.aof", "2.incr.aof"))


def command(*words: str) -> bytes:
    parts = [f"*{len(words)}\r\n", *(f"${len(word.encode())}\r\n{word}\r\n" for word in words)]
    return "".join(parts).encode()


UNITS = [
    command("SELECT", "0"),
    b"#TS:1700000000\r\n",
    command("SET", "a", "grüße\r\n$3\r\n*"),
    command(*MULTI) + command("SET", "b", "") + command("DEL", "a") + command(*EXEC),
    command("SET", "c", "x" * 300),
]
WHOLE = b"".join(UNITS)
ENDS = [sum(map(len, UNITS[: n + 1])) for n in range(len(UNITS))]


def test_a_file_that_ends_anywhere_is_whole_or_torn_after_its_last_whole_unit() -> None:
    for size in range(1, len(WHOLE) + 1):
        usable = max((end for end in [0, *ENDS] if end <= size), default=0)
        found = examine(WHOLE[:size])
        assert (found[:2] if found else None) == (None if usable == size else (Kind.TORN, usable))


@pytest.mark.parametrize("cut", [0, 1, 7, 100])
def test_zeros_behind_the_end_are_part_of_the_torn_tail(cut: int) -> None:
    data = WHOLE[: len(WHOLE) - cut] + bytes(5000)
    found = examine(data)
    assert found
    assert found[:2] == (Kind.TORN, ENDS[-1] if not cut else ENDS[-2])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b"$6\r\nSELECT", b"$7\r\nSELECT", id="a length that is wrong by one"),
        pytest.param(b"$1\r\na\r\n", b"$9999\r\na\r\n", id="a length beyond the end of the file"),
        pytest.param(b"*3\r\n$3\r\nSET\r\n$1\r\na", b"*9\r\n$3\r\nSET\r\n$1\r\na", id="a count"),
        pytest.param(b"*3\r\n$3\r\nSET\r\n$1\r\na", b"?3\r\n$3\r\nSET\r\n$1\r\na", id="no command"),
        pytest.param(b"*2\r\n$6", b"\0\0\0\0\0\0", id="zeros in the middle"),
        pytest.param(b"*2\r\n$3\r\nDEL", b"*2\r\n$3x\nDEL", id="within a transaction"),
    ],
)
def test_damage_before_whole_commands_is_no_torn_tail(before: bytes, after: bytes) -> None:
    assert before in WHOLE
    found = examine(WHOLE.replace(before, after, 1))
    assert found
    kind, usable, _ = found
    assert kind is Kind.BAD
    assert usable in [0, *ENDS]
    assert usable <= WHOLE.index(before)


def test_a_command_that_the_server_did_not_know_is_found() -> None:
    assert examine(WHOLE.replace(b"\nDEL\r", b"\nXEL\r"), b"XEL")[:2] == (  # type: ignore[index]
        Kind.UNKNOWN,
        ENDS[2],
    )


def put(folder: Path, **files: bytes) -> dict[str, Path]:
    """A folder with these files, named in the manifest in another order than they are loaded."""
    kinds = {
        "base": (BASE, "1 type b"),
        "first": (FIRST, "1 type i"),
        "second": (SECOND, "2 type i"),
    }
    lines: list[str] = []
    for name, data in files.items():
        file, what = kinds[name]
        (folder / file).write_bytes(data)
        lines.insert(0, f"file {file} seq {what}\n")
    (folder / MANIFEST).write_text("".join(lines))
    return {name: folder / kinds[name][0] for name in files}


def damage_in(folder: Path) -> Damage:
    found = aof.find_damage(folder, find_binary())
    assert found is not None
    return found


def test_whole_files_have_no_damage(tmp_path: Path) -> None:
    put(tmp_path, base=WHOLE, first=WHOLE, second=b"")
    assert aof.find_damage(tmp_path, find_binary()) is None


def test_only_the_last_file_has_a_torn_tail(tmp_path: Path) -> None:
    torn = WHOLE[:-5]
    files = put(tmp_path, base=WHOLE, first=WHOLE, second=torn)
    assert (damage_in(tmp_path).kind, damage_in(tmp_path).file) == (Kind.TORN, files["second"])
    files = put(tmp_path, base=WHOLE, first=torn, second=WHOLE)
    found = damage_in(tmp_path)
    assert (found.kind, found.file, found.later) == (Kind.BAD, files["first"], (files["second"],))
    assert found.lost == len(torn) - ENDS[-2] + len(WHOLE)
    put(tmp_path, base=WHOLE, first=torn, second=b"")
    assert damage_in(tmp_path).kind is Kind.TORN


def test_a_cut_keeps_what_it_drops_and_every_earlier_copy(tmp_path: Path) -> None:
    files = put(tmp_path, base=WHOLE, first=b"?" + WHOLE, second=WHOLE)
    kept = tmp_path / f"{FIRST}.torn"
    kept.write_bytes(b"earlier")
    copies = aof.cut(damage_in(tmp_path))
    assert {copy.name: copy.read_bytes() for copy in copies} == {
        f"{SECOND}.torn": WHOLE,
        f"{FIRST}.torn.2": b"?" + WHOLE,
    }
    assert kept.read_bytes() == b"earlier"
    assert [file.read_bytes() for file in files.values()] == [WHOLE, b"", b""]
    assert aof.find_damage(tmp_path, find_binary()) is None


def test_a_damaged_snapshot_is_found_and_not_cut(tmp_path: Path) -> None:
    base = tmp_path / "appendonly.aof.1.base.rdb"
    base.write_bytes(b"REDIS0011" + b"\xff" * 100)
    (tmp_path / MANIFEST).write_text(f"file {base.name} seq 1 type b\n")
    found = damage_in(tmp_path)
    assert found.kind is Kind.SNAPSHOT
    with pytest.raises(EmbeddedFailed, match="can't be repaired"):
        aof.cut(found)
    assert base.stat().st_size == 109
