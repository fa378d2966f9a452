"""The embedded store's append-only files: where they are damaged, and how to cut that off.

A crash can leave the last command of the last file unfinished: a torn tail, which was never
acknowledged with `always` and is the last second with `everysec`. Everything else is damage.
"""

import mmap
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

from msgspec import Struct

from watchbell.errors import EmbeddedFailed
from watchbell.settings import environment, for_children

FOLDER = "appendonlydir"
_MANIFEST = "appendonly.aof.manifest"

_UNKNOWN = re.compile(r"append only file.*? unknown command '(\S+?)'|Unknown command '(\S+?)'")
_FILE = re.compile(r'^file "?([^"\n]+?)"? seq (\d+) type ([bi])\b', re.MULTILINE)
_ARRAY, _BULK = re.compile(rb"\*(\d{1,9})\r\n"), re.compile(rb"\$(\d{1,10})\r\n")
_HEADER_MOST = 13
_HEADER_BEGUN = re.compile(rb"(?:[*$](?:\d{1,10}\r?)?)?\Z")
_ANNOTATION = re.compile(rb"#[^\r\n]{0,1024}\r\n")
_COMMAND_AFTER = re.compile(rb"(?<=\r\n)\*\d{1,9}\r\n\$\d{1,10}\r\n")
_SHOWN = 20

Bytes = bytes | mmap.mmap


class Kind(Enum):
    TORN = "an unfinished command at the end"
    BAD = "no valid command"
    UNKNOWN = "a command that the store does not know"
    SNAPSHOT = "a damaged snapshot"


class Damage(Struct, frozen=True):
    kind: Kind
    file: Path
    offset: int
    """Where the first byte stands that can't be used."""
    size: int
    """Of the file."""
    later: tuple[Path, ...] = ()
    """Files that hold what was written after this one."""
    found: str = ""

    @property
    def lost(self) -> int:
        """Bytes that a repair drops."""
        return self.size - self.offset + sum(file.stat().st_size for file in self.later)

    def describe(self) -> str:
        share = 100 * (self.size - self.offset) / max(self.size, 1)
        found = f" ({self.found})" if self.found else ""
        more = f" and {len(self.later)} later files" if self.later else ""
        return (
            f"{self.file} holds {self.kind.value} at offset {self.offset:,}{found}; "
            f"{self.lost:,} bytes would be lost: {share:.0f} % of the file{more}"
        )


class _Unfinished(Exception):
    """The file ends within a command."""


class _Bad(Exception):
    """There is no command here."""


def find_damage(folder: Path, binary: Path, server_log: str = "") -> Damage | None:
    """The first damage in the files of the manifest, in the order in which they are loaded.

    `server_log` is what a server logged that could not load them: it alone knows all commands.
    """
    unknown = next((a or b for a, b in reversed(_UNKNOWN.findall(server_log))), "").encode()
    files = _files(folder)
    for number, file in enumerate(files):
        later = tuple(files[number + 1 :])
        if file.suffix == ".rdb":
            found = _damage_of_snapshot(file, binary, later)
        else:
            found = _damage_of_commands(file, later, unknown)
        if found:
            return found
    return None


def cut(damage: Damage) -> list[Path]:
    """Drops what can't be used and all that follows it, and returns where copies of it are."""
    if damage.kind is Kind.SNAPSHOT:
        raise EmbeddedFailed(f"{damage.file} can't be repaired: {damage.kind.value}")
    # The last file first: a repair that is broken off leaves damage that is found again.
    dropped = [*((file, 0) for file in reversed(damage.later)), (damage.file, damage.offset)]
    return [_cut(file, offset) for file, offset in dropped if file.stat().st_size > offset]


def _cut(file: Path, offset: int) -> Path:
    with file.open("r+b") as whole:
        whole.seek(offset)
        copy = _copied(file, iter(lambda: whole.read(1 << 20), b""))
        whole.truncate(offset)
        os.fsync(whole.fileno())
    return copy


def _copied(file: Path, pieces: Iterator[bytes]) -> Path:
    """A new file beside it; copies of earlier repairs stay as they are."""
    number = 1
    while True:
        copy = file.with_name(f"{file.name}.torn" + (f".{number}" if number > 1 else ""))
        try:
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "wb") as out:
            out.writelines(pieces)
            out.flush()
            os.fsync(descriptor)
        return copy


def _files(folder: Path) -> list[Path]:
    """The base and the increments, in the order in which they are loaded."""
    try:
        manifest = (folder / _MANIFEST).read_text(errors="replace")
    except FileNotFoundError:
        return []
    listed = [(kind != "b", int(number), name) for name, number, kind in _FILE.findall(manifest)]
    return [folder / name for _, _, name in sorted(listed) if (folder / name).is_file()]


def _damage_of_snapshot(file: Path, binary: Path, later: tuple[Path, ...]) -> Damage | None:
    checker = binary.name.replace("-server", "-check-rdb")
    checked = subprocess.run(
        [checker, str(file)],
        executable=binary,
        env=for_children(environment()),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if checked.returncode == 0:
        return None
    report = checked.stdout.partition("ERROR DETECTED")[2]
    found = re.search(r"\[offset (\d+)\] (.+)", report)
    offset, words = (int(found[1]), found[2]) if found else (0, "it can't be read")
    return Damage(Kind.SNAPSHOT, file, offset, file.stat().st_size, later, words)


def _damage_of_commands(file: Path, later: tuple[Path, ...], unknown: bytes) -> Damage | None:
    size = file.stat().st_size
    if not size:
        return None
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = examine(data, unknown)
        if found is None:
            return None
        kind, offset, at = found
        if kind is Kind.TORN and any(one.stat().st_size for one in later):
            kind = Kind.BAD  # a file is left only when it is whole
        words = f"found {bytes(data[at : at + _SHOWN])!r}" if at < size else ""
    return Damage(kind, file, offset, size, later, words)


def examine(data: Bytes, unknown: bytes = b"") -> tuple[Kind, int, int] | None:
    """What is wrong with a file of commands, up to where it can be used, and where that stands.

    A transaction counts as one command: without its end, none of it can be used.
    """
    end = _without_zeros(data)
    at, transaction = 0, None
    while at < end:
        usable = at if transaction is None else transaction
        try:
            after, name = _command(data, at, end)
        except _Bad:
            return Kind.BAD, usable, at
        except _Unfinished:
            kind = Kind.BAD if _holds_commands(data, at, end) else Kind.TORN
            return kind, usable, at
        if unknown and name == unknown:
            return Kind.UNKNOWN, usable, at
        if name.upper() == b"MULTI":
            transaction = at
        elif name.upper() == b"EXEC":
            transaction = None
        at = after
    if transaction is not None:
        return Kind.TORN, transaction, transaction
    return (Kind.TORN, end, end) if end < len(data) else None


def _without_zeros(data: Bytes) -> int:
    """Where the file ends, without the zeros that a power loss may leave behind what was written:
    a whole command ends with a line break."""
    end = len(data)
    while end and not data[end - 1]:
        end -= 1
    return end


def _command(data: Bytes, at: int, end: int) -> tuple[int, bytes]:
    """Where the command that begins here ends, and its name; empty for an annotation."""
    if data[at] == ord("#"):
        annotation = _ANNOTATION.match(data, at, end)
        if annotation is None:
            raise _Unfinished if b"\n" not in data[at:end] else _Bad
        return annotation.end(), b""
    words, at = _header(_ARRAY, data, at, end)
    if words < 1:
        raise _Bad
    name = b""
    for number in range(words):
        length, at = _header(_BULK, data, at, end)
        if at + length + 2 > end:
            raise _Unfinished
        if data[at + length : at + length + 2] != b"\r\n":
            raise _Bad
        if not number:
            name = bytes(data[at : at + length])
        at += length + 2
    return at, name


def _header(pattern: re.Pattern[bytes], data: Bytes, at: int, end: int) -> tuple[int, int]:
    found = pattern.match(data, at, end)
    if found:
        return int(found[1]), found.end()
    rest = data[at : min(end, at + _HEADER_MOST)]
    expected = pattern.pattern[1:2]
    is_begun = _HEADER_BEGUN.match(rest) and rest[:1] in (b"", expected)
    raise _Unfinished if is_begun else _Bad


def _holds_commands(data: Bytes, at: int, end: int) -> bool:
    """Whether whole commands stand in what looks unfinished: then a length is wrong, and it is no
    torn tail, however much it looks like one."""
    return any(_is_whole(data, found.start(), end) for found in _after(data, at + 1, end))


def _after(data: Bytes, at: int, end: int) -> Iterator[re.Match[bytes]]:
    return _COMMAND_AFTER.finditer(data, at, end)


def _is_whole(data: Bytes, at: int, end: int) -> bool:
    try:
        _command(data, at, end)
    except (_Bad, _Unfinished):
        return False
    return True


def names(files: Sequence[Path]) -> str:
    return ", ".join(file.name for file in files)
