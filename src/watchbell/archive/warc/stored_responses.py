"""Responses as WARC files have them, found by index."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from watchbell.archive.fetching.chunks import Chunks
from watchbell.archive.fetching.model import FetchFailed
from watchbell.archive.warc.cdxj import Capture, IndexLine, index_files
from watchbell.archive.warc.dates import read_record_date, timestamp
from watchbell.archive.warc.index_lookup import IndexLookup
from watchbell.archive.warc.reader import WarcDamaged, WarcReader, WarcRecord
from watchbell.errors import Refused

_TRIES = 10
_LONGEST_HEAD = 1 << 20

Headers = tuple[tuple[str, str], ...]


class Payload(Struct, frozen=True):
    """Where the bytes of a payload are, as they were sent."""

    path: Path
    offset: int
    start: int
    """In the block."""

    def pieces(self) -> Iterator[bytes]:
        left = self.start
        with WarcReader(self.path, self.offset) as reader:
            reader.next()
            for piece in reader.pieces():
                if len(piece) > left:
                    yield piece[left:]
                left = max(left - len(piece), 0)


class StoredResponse(Struct, frozen=True, kw_only=True):
    url: str
    timestamp: str
    status: int
    reason: str
    headers: Headers
    payload: Payload

    def header(self, name: str) -> str:
        """All values of that name, with commas between them."""
        return ", ".join(value for key, value in self.headers if key.lower() == name)

    @property
    def media_type(self) -> str:
        return self.header("content-type").partition(";")[0].strip().lower()

    def body(self) -> Iterator[bytes]:
        """Without the transfer coding; broken chunks end it."""
        if self.header("transfer-encoding").lower() != "chunked":
            yield from self.payload.pieces()
            return
        chunks = Chunks()
        chunks.carried = []
        for piece in self.payload.pieces():
            try:
                chunks.take(piece, 0)
            except FetchFailed:
                return
            yield from chunks.carried


class StoredResponses:
    def __init__(self, warcs: Sequence[Path], indexes: Sequence[Path]) -> None:
        self._files = {path.name: path for path in warcs}
        self.lookup = IndexLookup(indexes)

    def find(self, url: str, at: str) -> StoredResponse | None:
        """The one nearest to a timestamp that can be read."""
        try:
            lines = self.lookup.closest(url, at)
        except ValueError:  # no timestamp, or a damaged index
            return None
        for line in lines[:_TRIES]:
            found = self.read(line)
            if found:
                return found
        return None

    def read(self, line: IndexLine) -> StoredResponse | None:
        """None if the file is not here, is damaged, or refers to a record that is not here."""
        try:
            place = self.place_of(line.capture)
            return self._read(*place, line) if place else None
        except (WarcDamaged, OSError, ValueError):
            return None

    def place_of(self, capture: Capture) -> tuple[Path, int] | None:
        """The file with a record, and where it begins in it; None if it is not here."""
        path = self._files.get(capture.filename)
        return (path, int(capture.offset)) if path else None

    def _read(self, path: Path, offset: int, line: IndexLine) -> StoredResponse | None:
        with WarcReader(path, offset) as reader:
            record = reader.next()
            if not record:
                return None
            head = _head(reader) if record.is_http else b""
        status, reason, headers = _parsed(head)
        payload: Payload | None = Payload(path, offset, len(head))
        if not record.is_http:
            status, reason = 200, "OK"
            headers = (("Content-Type", record.fields.get("content-type", "")),)
        if record.type == "revisit":
            payload = self._original(record)
        if not payload:
            return None
        return StoredResponse(
            url=line.capture.url,
            timestamp=line.timestamp,
            status=status,
            reason=reason,
            headers=headers,
            payload=payload,
        )

    def _original(self, revisit: WarcRecord) -> Payload | None:
        url = revisit.fields.get("warc-refers-to-target-uri", revisit.url)
        date = revisit.fields.get("warc-refers-to-date") or revisit.fields.get("warc-date", "")
        digest = revisit.fields.get("warc-payload-digest", "")
        for line in self.lookup.closest(url, timestamp(read_record_date(date))):
            if line.capture.digest == digest and line.capture.mime != "warc/revisit":
                found = self.read(line)
                return found.payload if found else None
        return None


def _head(reader: WarcReader) -> bytes:
    """Up to the blank line; all of a block that has none."""
    head = b""
    for piece in reader.pieces():
        head += piece
        ends = [end + 2 for end in (head.find(b"\n\r\n") + 1, head.find(b"\n\n")) if end > 0]
        if ends:
            return head[: min(ends)]
        if len(head) > _LONGEST_HEAD:
            break
    return head


def _parsed(head: bytes) -> tuple[int, str, Headers]:
    first, *lines = head.decode("latin-1").splitlines() or [""]
    words = first.split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdecimal() else 0
    pairs = (line.partition(":") for line in lines if ":" in line)
    headers = tuple((name.strip(), value.strip()) for name, _, value in pairs)
    return status, words[2] if len(words) > 2 else "", headers


def opened(paths: Sequence[Path], scratch: Path) -> StoredResponses:
    """Of WARC, CDXJ and WACZ files. WARC files that come without an index get one in `scratch`."""
    warcs = [path for path in paths if path.name.endswith((".warc", ".warc.gz"))]
    indexes = [path for path in paths if path.suffix == ".cdxj"]
    packages = [path for path in paths if path.suffix == ".wacz"]
    unknown = set(paths) - {*warcs, *indexes, *packages}
    if unknown:
        names = ", ".join(sorted(str(path) for path in unknown))
        raise Refused(f"{names}: expected files that end in .warc.gz, .warc, .cdxj or .wacz")
    for path in packages:
        warcs += _unpacked(path, scratch)
    if warcs and (not indexes or packages):
        index = scratch / "index.cdxj"
        index_files(warcs, index)
        indexes = [index]
    return StoredResponses(warcs, indexes)


def _unpacked(package: Path, scratch: Path) -> list[Path]:
    found = []
    with zipfile.ZipFile(package) as archive:
        for entry in archive.infolist():
            folder, _, name = entry.filename.rpartition("/")
            if folder != "archive" or not name.endswith((".warc", ".warc.gz")):
                continue
            target = scratch / name
            with archive.open(entry) as source, target.open("wb") as file:
                while piece := source.read(1 << 19):
                    file.write(piece)
            found.append(target)
    return found
