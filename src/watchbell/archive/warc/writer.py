"""Writes WARC files: a series of parts, each with whole records only, and their journal."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from isal import isal_zlib
from msgspec import Struct

from watchbell.archive.warc import drafts
from watchbell.archive.warc.drafts import Draft
from watchbell.archive.warc.earlier_payloads import EarlierPayloads
from watchbell.archive.warc.members import member
from watchbell.archive.warc.part_file import OPEN, PartFile
from watchbell.archive.warc.payload_index import PayloadIndex
from watchbell.archive.warc.reader import complete_until
from watchbell.archive.warc.record_journal import RecordJournal
from watchbell.archive.warc.records import Body, Exchange, Original, Written, warc_fields
from watchbell.probes import probe

_INDEXED = ("response", "revisit", "resource")
_RECORD_ID = re.compile(rb"WARC-Record-ID: <urn:uuid:([0-9a-f-]{36})>")


class Position(Struct, frozen=True, order=True):
    """After the last complete record of a series."""

    part: int = 0
    offset: int = 0
    journal: int = 0
    """Where the journal ends."""


class WarcWriter:
    """One caller at a time. A call blocks as long as the disk and the body take: hand a body that
    is not in memory to a thread.

    Parts are named `BASE-00000.warc.gz`; with a `part_size` of 0 there is one file,
    `BASE.warc.gz`. A part is larger than `part_size` only if a single exchange is. Parts before
    `position` are final once it is committed; the last one is called `.open` until `finish`.
    """

    def __init__(
        self,
        folder: Path,
        base: str,
        *,
        info: Mapping[str, str],
        part_size: int = 0,
        earlier: EarlierPayloads | None = None,
    ) -> None:
        self._folder, self._base, self._info, self._part_size = folder, base, info, part_size
        self._number = 0
        self._part: PartFile | None = None
        self._end = Position()
        """Of the part that was completed last."""
        self._warcinfo = ""
        self._first_end = 0
        """Where the warcinfo of the part ends."""
        self._journal = RecordJournal(folder / f"{base}.records")
        self._payloads = PayloadIndex()
        self._earlier = earlier

    @property
    def position(self) -> Position:
        return self._position_in(self._part) if self._part else self._end

    @property
    def journal_path(self) -> Path:
        """The list of what was written, from which the index is made."""
        return self._journal.path

    def path(self, number: int) -> Path:
        """Of a complete part."""
        suffix = f"-{number:05}" if self._part_size else ""
        return self._folder / f"{self._base}{suffix}.warc.gz"

    def write_exchange(self, exchange: Exchange) -> list[Written]:
        """The request, then the response, or a revisit record if the payload is known; then the
        certificates, if they are to be recorded. The index has answers to GET alone: they are what
        its URLs stand for."""
        request = drafts.request(exchange)
        response = drafts.response(exchange, request.id, self._original)
        ready = [request, response, *drafts.certificates(exchange, request.id)]
        return self._write(ready, is_indexed=exchange.request.startswith(b"GET "))

    def write_resource(
        self,
        url: str,
        at: float,
        body: bytes | Body,
        content_type: str,
        *,
        ip: str = "",
        concurrent_to: str = "",
    ) -> Written:
        """What did not come by HTTP: a file by FTP, a log, a screenshot."""
        return self._write([drafts.resource(url, at, body, content_type, ip, concurrent_to)])[0]

    def write_metadata(
        self,
        url: str,
        at: float,
        body: bytes | Body | Mapping[str, str],
        content_type: str = "application/warc-fields",
        *,
        concurrent_to: str = "",
    ) -> Written:
        """What is known about another record: its certificate, the page that linked to it."""
        block = warc_fields(body) if isinstance(body, Mapping) else body
        return self._write([drafts.metadata(url, at, block, content_type, concurrent_to)])[0]

    def surviving(self, position: Position) -> Position:
        """What a power failure has left of the files before a committed position. Reads the whole
        part."""
        if not position.offset:
            return position
        path = self.path(position.part)
        part = next((one for one in (path, path.with_name(path.name + OPEN)) if one.exists()), None)
        end = min(complete_until(part) if part else 0, position.offset)
        last = self._journal.last_line()
        if (last.end if last else 0) >= position.journal:
            return position if end == position.offset else Position(position.part, end)
        record = last.record if last else None
        listed = Position(record.part, record.offset + record.length) if record else Position()
        return min(listed, Position(position.part, end))

    def recover(self, position: Position) -> None:
        """Removes everything after a committed position, before the first write.

        Raises `WarcCut` if the files end before it.
        """
        self._number, self._end = position.part, position
        for path in self._parts_from(position.part + 1 if position.offset else position.part):
            path.unlink()
        if not position.part and not position.offset:
            self._journal.path.unlink(missing_ok=True)
            return
        if position.offset:
            self._part = PartFile(self.path(position.part))
            self._part.reopen(position.offset)
            self._warcinfo, self._first_end = _warcinfo_of(self._part)
        for line in self._journal.reopen(position.part, position.offset, position.journal):
            self._remember(line.record, line.start)

    def sync(self) -> None:
        """Returns when the disk has everything that was written."""
        if self._part:
            self._part.sync()
            self._journal.sync()

    def finish(self) -> list[Path]:
        """Completes the last part. The paths of all parts; some may have been moved before."""
        if not self._part:
            return []
        self.sync()
        self._complete(self._part)
        self._journal.close()
        return [self.path(number) for number in range(self._number + 1)]

    def close(self) -> None:
        """Leaves the files as they are, for `recover`."""
        if self._part:
            self._end = self.position
            self._part.close()
            self._part = None
        self._journal.close()

    def _write(self, ready: Sequence[Draft], *, is_indexed: bool = True) -> list[Written]:
        part = self._part_for(ready)
        begun = part.offset
        written = []
        try:
            for draft in ready:
                written.append(self._append(part, draft))
                probe("warc.record")
            indexed = [record for record in written if is_indexed and record.type in _INDEXED]
            places = self._journal.append(indexed)
        except BaseException:
            part.cut(begun)
            raise
        for record, place in zip(indexed, places, strict=True):
            self._remember(record, place)
        return written

    def _append(self, part: PartFile, draft: Draft) -> Written:
        offset = part.offset
        pieces = member(draft.head(self._warcinfo), draft.block)
        if isinstance(draft.block, bytes):
            pieces = iter([b"".join(pieces)])
        return Written(
            id=draft.id,
            type=draft.type,
            url=draft.url,
            at=draft.at,
            part=self._number,
            offset=offset,
            length=part.append(pieces),
            status=draft.status,
            media_type=draft.media_type,
            digest=draft.digest,
            payload_size=draft.payload_size,
            is_truncated=bool(draft.fields.get("WARC-Truncated")),
        )

    def _position_in(self, part: PartFile) -> Position:
        return Position(self._number, part.offset, self._journal.size)

    def _part_for(self, ready: Sequence[Draft]) -> PartFile:
        part = self._part
        if part and self._part_size and part.offset > self._first_end:
            needed = sum(draft.most_bytes() for draft in ready)
            if part.offset + needed > self._part_size:
                self._complete(part)
                self._number += 1
        if self._part is None:
            self._part = self._new_part(ready[0].at)
        return self._part

    def _complete(self, part: PartFile) -> None:
        self._end = self._position_in(part)
        part.complete()
        self._part = None

    def _new_part(self, at: float) -> PartFile:
        path = self.path(self._number)
        part = PartFile(path)
        part.create()
        try:
            info = drafts.warcinfo(path.name, at, self._info)
            part.append(member(info.head(""), info.block))
            if self._number == 0:
                self._journal.create()
        except BaseException:
            part.close()
            part.open_path.unlink()
            raise
        self._warcinfo, self._first_end = info.id, part.offset
        return part

    def _remember(self, record: Written, place: int) -> None:
        if record.digest and record.type == "response" and not record.is_truncated:
            self._payloads.add(record.digest, place)

    def _original(self, digest: str) -> Original | None:
        place = self._payloads.find(digest)
        if place is not None:
            found = self._journal.read(place)
            if found.digest == digest:
                return Original(id=found.id, url=found.url, at=found.at)
        return self._earlier.find(digest) if self._earlier else None

    def _parts_from(self, number: int) -> list[Path]:
        found: list[Path] = []
        while self._part_size or number == 0:
            path = self.path(number)
            there = [one for one in (path, path.with_name(path.name + OPEN)) if one.exists()]
            if not there:
                break
            found += there
            number += 1
        return found


def _warcinfo_of(part: PartFile) -> tuple[str, int]:
    """The id of the first record of a part, and where that record ends."""
    packed = part.read(0, 1 << 16)
    reader = isal_zlib.decompressobj(31)
    text = reader.decompress(packed)
    found = _RECORD_ID.search(text)
    assert found, "a part begins with its warcinfo"
    return found[1].decode(), len(packed) - len(reader.unused_data)
