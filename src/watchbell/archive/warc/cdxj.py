"""Indexes of WARC files in the format CDXJ: sorted lines of key, timestamp and JSON."""

import heapq
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from watchbell.archive.warc import record_journal
from watchbell.archive.warc.dates import read_record_date, read_timestamp, timestamp
from watchbell.archive.warc.reader import WarcDamaged, WarcReader, WarcRecord
from watchbell.archive.warc.records import Written, http_head
from watchbell.archive.warc.url_keys import url_key

LINES_IN_MEMORY = 50_000
_INDEXED = ("response", "revisit", "resource")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_encoder = msgspec.json.Encoder()


class Capture(Struct, frozen=True, kw_only=True, omit_defaults=True, order=True):
    """What a line says about one record. Numbers are texts, as other programs expect."""

    url: str
    mime: str = ""
    status: str = ""
    digest: str = ""
    length: str = "0"
    offset: str
    filename: str
    record: str = ""
    """Its UUID; a field of ours, by which later crawls refer to it."""


_decoder = msgspec.json.Decoder(Capture)


class IndexLine(Struct, frozen=True, order=True):
    key: str
    timestamp: str
    capture: Capture

    def encode(self) -> bytes:
        json = _encoder.encode(self.capture)
        return f"{self.key} {self.timestamp} ".encode() + json + b"\n"


def read_line(line: bytes) -> IndexLine:
    """Raises ValueError."""
    try:
        key, at, json = line.split(b" ", 2)
        read_timestamp(at[:14].decode())
        return IndexLine(key.decode(), at[:14].decode(), _decoder.decode(json))
    except (ValueError, msgspec.MsgspecError) as error:
        raise ValueError(f"this is no line of an index: {line[:80]!r}") from error


def line_of(written: Written, filename: str) -> IndexLine:
    is_revisit = written.type == "revisit"
    capture = Capture(
        url=written.url,
        mime="warc/revisit" if is_revisit else written.media_type,
        status=str(written.status or ""),
        digest=f"sha1:{written.digest}" if written.digest else "",
        length=str(written.length),
        offset=str(written.offset),
        filename=filename,
        record=written.id,
    )
    return IndexLine(url_key(written.url), timestamp(written.at), capture)


def write_index(journal: Path, target: Path, name_of: Callable[[int], str]) -> int:
    """From the journal of a writer; `name_of` gives the file's name of a part. How many lines.

    The index appears under its name when it is complete.
    """
    records = (line.record for line in record_journal.lines(journal))
    return _write_sorted((line_of(one, name_of(one.part)).encode() for one in records), target)


def index_files(paths: Sequence[Path], target: Path) -> int:
    """From the files themselves. How many lines; raises WarcDamaged."""
    return _write_sorted((line.encode() for path in paths for line in lines_of(path)), target)


def lines_of(path: Path) -> Iterator[IndexLine]:
    with WarcReader(path) as reader:
        while record := reader.next():
            first = next(reader.pieces(), b"")
            reader.finish()
            if record.type in _INDEXED:
                yield _line_of_record(path, record, first, reader.position - record.offset)


def _line_of_record(path: Path, record: WarcRecord, first: bytes, length: int) -> IndexLine:
    media_type, status = record.fields.get("content-type", "").partition(";")[0], 0
    if record.is_http:
        blank = _BLANK_LINE.search(first)
        head = http_head(first, blank.end() if blank else len(first))
        media_type, status = head.media_type, head.status
    digest = record.fields.get("warc-payload-digest") or record.fields.get("warc-block-digest", "")
    capture = Capture(
        url=record.url,
        mime="warc/revisit" if record.type == "revisit" else media_type,
        status=str(status or ""),
        digest=digest,
        length=str(length),
        offset=str(record.offset),
        filename=path.name,
        record=record.id.removeprefix("<urn:uuid:").removesuffix(">"),
    )
    try:
        at = read_record_date(record.fields.get("warc-date", ""))
    except ValueError as error:
        raise WarcDamaged(path, record.offset, str(error)) from error
    return IndexLine(url_key(record.url), timestamp(at), capture)


def _write_sorted(lines: Iterable[bytes], target: Path) -> int:
    """Sorts runs of lines in memory and merges them, since an index may have millions."""
    count = 0
    with ExitStack() as stack:
        runs: list[IO[bytes]] = []
        for run in _runs(lines):
            count += len(run)
            file = stack.enter_context(tempfile.TemporaryFile(dir=target.parent))
            file.writelines(run)
            file.seek(0)
            runs.append(file)
        unfinished = target.with_name(target.name + ".open")
        with unfinished.open("wb") as out:
            out.writelines(heapq.merge(*runs))
            out.flush()
            os.fsync(out.fileno())
        unfinished.rename(target)
    return count


def _runs(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    run: list[bytes] = []
    for line in lines:
        run.append(line)
        if len(run) == LINES_IN_MEMORY:
            yield sorted(run)
            run = []
    if run:
        yield sorted(run)
