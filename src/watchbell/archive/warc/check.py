"""Checks WARC files against the standard, and says what is wrong where."""

import hashlib
import re
from base64 import b32encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from watchbell.archive.warc.dates import read_record_date
from watchbell.archive.warc.reader import WarcDamaged, WarcReader, WarcRecord

MOST_FAULTS = 1000
_HAS_TARGET = {"response", "resource", "request", "revisit", "conversion", "continuation"}
_ALGORITHMS = {"md5", "sha1", "sha256", "sha512"}
_BLANK_LINE = re.compile(rb"\n\r?\n")
_LONGEST_HTTP_HEAD = 1 << 20
_RECORD_ID = re.compile(r"<[^<>\s]+>")


class WarcFault(Struct, frozen=True):
    path: Path
    offset: int
    """Of the record."""
    record: str
    """Its id; empty if it has none."""
    reason: str

    def __str__(self) -> str:
        record = f" {self.record}" if self.record else ""
        return f"{self.path}, record{record} at {self.offset}: {self.reason}"


class WarcChecked(Struct, frozen=True):
    records: int
    size: int
    faults: tuple[WarcFault, ...]
    """The first ones."""
    fault_count: int


class Progress(Struct, frozen=True):
    path: Path
    read: int
    """Bytes of all files so far."""
    size: int
    records: int


def check(paths: Sequence[Path], progress: Callable[[Progress], None] | None = None) -> WarcChecked:
    """Of files that belong together, in the order of their parts. `progress` may raise to stop."""
    checker = _Checker(paths, progress)
    for path in paths:
        checker.check_file(path)
    return checker.result()


class _Checker:
    def __init__(self, paths: Sequence[Path], progress: Callable[[Progress], None] | None) -> None:
        self._size = sum(path.stat().st_size for path in paths)
        self._progress = progress
        self._done = 0
        self._records = 0
        self._faults: list[WarcFault] = []
        self._fault_count = 0
        self._seen: set[int] = set()
        """Of each record id, 64 bits: a file may have millions."""
        self._unseen: dict[int, WarcFault] = {}
        """By the id that a record names: what is wrong if none has it."""

    def check_file(self, path: Path) -> None:
        with WarcReader(path) as reader:
            while True:
                try:
                    if not self._check_record(path, reader):
                        break
                except WarcDamaged as damage:
                    self._fault(WarcFault(path, damage.offset, "", damage.reason))
                    if not _has_skipped(reader):
                        break
                if self._progress:
                    read = self._done + reader.position
                    self._progress(Progress(path, read, self._size, self._records))
        self._done += path.stat().st_size

    def result(self) -> WarcChecked:
        for fault in self._unseen.values():
            self._fault(fault)
        return WarcChecked(self._records, self._size, tuple(self._faults), self._fault_count)

    def _check_record(self, path: Path, reader: WarcReader) -> bool:
        record = reader.next()
        if not record:
            return False
        self._records += 1
        reasons = [*field_faults(record), *self._id_faults(path, record)]
        reasons += digest_faults(record, reader.pieces())
        reasons += reader.finish()
        for reason in reasons:
            self._fault(WarcFault(path, record.offset, record.id, reason))
        return True

    def _id_faults(self, path: Path, record: WarcRecord) -> list[str]:
        faults = []
        if record.id:
            own = hash(record.id)
            if own in self._seen:
                faults.append("WARC-Record-ID is that of an earlier record")
            self._seen.add(own)
            self._unseen.pop(own, None)
        for named in record.fields.get("warc-concurrent-to", "").splitlines():
            if hash(named) not in self._seen:
                reason = f"WARC-Concurrent-To names {named}, which no record has"
                self._unseen[hash(named)] = WarcFault(path, record.offset, record.id, reason)
        return faults

    def _fault(self, fault: WarcFault) -> None:
        self._fault_count += 1
        if len(self._faults) < MOST_FAULTS:
            self._faults.append(fault)


def _has_skipped(reader: WarcReader) -> bool:
    """Whether it can go on after the record that could not be read."""
    if not reader.is_packed:
        return False
    try:
        reader.skip()
    except WarcDamaged:
        return False
    return True


def field_faults(record: WarcRecord) -> Iterator[str]:
    fields = record.fields
    for name in ("WARC-Type", "WARC-Record-ID", "WARC-Date"):
        if not fields.get(name.lower()):
            yield f"{name} is missing"
    if record.id and not _RECORD_ID.fullmatch(record.id):
        yield f"WARC-Record-ID is {record.id!r}, which is no URI in angle brackets"
    if record.type in _HAS_TARGET and not record.url:
        yield "WARC-Target-URI is missing"
    if record.type == "revisit" and not fields.get("warc-profile"):
        yield "WARC-Profile is missing"
    for name in ("WARC-Date", "WARC-Refers-To-Date"):
        date = fields.get(name.lower())
        if date and not _is_date(date):
            yield f"{name} is {date!r}, which is no date"


def _is_date(text: str) -> bool:
    try:
        read_record_date(text)
    except ValueError:
        return False
    return True


def digest_faults(record: WarcRecord, pieces: Iterator[bytes]) -> list[str]:
    """Reads the whole block. Digests by an algorithm that we don't know count as right."""
    block = _Digest(record.fields.get("warc-block-digest", ""))
    payload = _Digest(record.fields.get("warc-payload-digest", ""))
    has_payload = payload.value and record.type != "revisit"
    head: bytes | None = b"" if record.is_http else None
    for piece in pieces:
        block.update(piece)
        if not has_payload:
            continue
        if head is None:
            payload.update(piece)
            continue
        head += piece
        blank = _BLANK_LINE.search(head)
        if blank or len(head) > _LONGEST_HTTP_HEAD:
            payload.update(head[blank.end() if blank else 0 :])
            head = None
    faults = []
    if not block.is_right:
        faults.append(f"WARC-Block-Digest is {block.value}, but the block has {block.found}")
    if has_payload and not payload.is_right:
        faults.append(
            f"WARC-Payload-Digest is {payload.value}, but the payload has {payload.found}"
        )
    return faults


class _Digest:
    def __init__(self, field: str) -> None:
        algorithm, _, self.value = field.partition(":")
        algorithm = algorithm.lower().replace("-", "")
        is_known = algorithm in _ALGORITHMS
        self._hash = hashlib.new(algorithm, usedforsecurity=False) if is_known else None

    def update(self, piece: bytes) -> None:
        if self._hash:
            self._hash.update(piece)

    @property
    def found(self) -> str:
        if not self._hash:
            return self.value
        is_hex = len(self.value) == self._hash.digest_size * 2
        return self._hash.hexdigest() if is_hex else self._base_32()

    @property
    def is_right(self) -> bool:
        if not self._hash:
            return True
        value = self.value.rstrip("=").lower()
        return value in (self._hash.hexdigest(), self._base_32().lower())

    def _base_32(self) -> str:
        assert self._hash
        return b32encode(self._hash.digest()).decode("ascii").rstrip("=")
