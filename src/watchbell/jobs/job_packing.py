"""How the record of a job is written: a hash of JSON values while the job is in progress, and one
compressed value once it is complete."""

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from watchbell.jobs.big_numbers import bounded
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.model import Job

_FIELDS = frozenset(Job.__struct_fields__)
_RECORD, _VERSION = msgspec.json.Decoder(Job), b"\x01"
_NAMES = (
    "actions activity algo category code command completed cpu cwd data description disk "
    "elapsed env event files gid groups html icon id input jobs key kill label launched limits "
    "log_file log_file_size markdown mem net notes now params parent perf pid plugin priority "
    "progress reason reconnected remote retried retry_count retry_ok retry_prev script server "
    "source started state status table tags targets test text uid until update_event updated "
    "username"
)
"""Not the fields of today's `Job`: what is stored was compressed with these."""
_LONGEST = 64 << 20
"""Bytes that a record may have once it is unpacked; more is no record of ours."""


class Packed(Struct, frozen=True, array_like=True):
    """The record of a finished job, with its output where that is short."""

    job: Job
    log: tuple[Chunk, ...] = ()


def fields(job: Job) -> dict[str, bytes]:
    """The fields of a job's hash."""
    raw = msgspec.json.decode(msgspec.json.encode(job), type=dict[str, Raw])
    return {name: bytes(value) for name, value in raw.items()}


def from_fields(found: Mapping[bytes, bytes]) -> Job | None:
    """The job of a hash. What can't be read is left out; None where too little is left."""
    known = {
        name: value
        for raw, value in found.items()
        if (name := raw.decode(errors="replace")) in _FIELDS
    }
    try:
        return _RECORD.decode(_object(known.items()))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _salvaged(known)


def _salvaged(known: Mapping[str, bytes]) -> Job | None:
    """As much of a spoiled record as can be read."""
    needed = {name: known.get(name, b"") for name in ("id", "event", "state")}
    readable = [pair for pair in known.items() if _is_readable(needed, *pair)]
    try:
        return _RECORD.decode(_object(readable))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _is_readable(needed: Mapping[str, bytes], name: str, value: bytes) -> bool:
    try:
        _RECORD.decode(_object({**needed, name: value}.items()))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _object(pairs: Iterable[tuple[str, bytes]]) -> bytes:
    return b"{" + b",".join(b'"%b":%b' % (name.encode(), value) for name, value in pairs) + b"}"


def _sample() -> bytes:
    """What records have in common, most frequent last, for the compression."""
    job = dict.fromkeys(_NAMES.split(), "")
    often: dict[str, Any] = {
        "enabled": True,
        "trigger": "error",
        "type": "email",
        "source": "settings",
        "tags": ["_files", "_test", "_retried", "_error", "_last", "_success"],
        "targets": ["main"],
        "state": "complete",
        "plugin": "shellplug",
        "category": "general",
        "command": "python -m watchbell.fleet.agent.plugins.shell",
        "params": {"annotate": False, "script": "#!/bin/sh\n"},
        "cpu": {"min": 0.0, "max": 0.0, "total": 0.0, "count": 1, "current": 0.0},
        "mem": {"min": 0.0, "max": 0.0, "total": 0.0, "count": 1, "current": 0.0},
        "disk": {"total": 0.0, "count": 0},
        "net": {"total": 0.0, "count": 0},
        "activity": [{"epoch": 1.0, "msg": "The job was started on ", "server": ""}],
    }
    return msgspec.msgpack.encode([job, often])


# Records in the store are compressed with it: a change needs another version beside it.
_DICTIONARY = _sample()


def pack(job: Job, log: Iterable[Chunk] = ()) -> bytes:
    try:
        plain = msgspec.msgpack.encode(Packed(job, tuple(log)))
    except OverflowError:
        plain = msgspec.msgpack.encode(Packed(_bounded(job), tuple(log)))
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=_DICTIONARY)
    return _VERSION + squeezer.compress(plain) + squeezer.flush()


def _bounded(job: Job) -> Job:
    """The job without numbers that can't be packed."""
    found = bounded(msgspec.to_builtins(job))
    numbers = {name: 0 for name, each in found.items() if _is_beyond(getattr(job, name), each)}
    return msgspec.convert({**found, **numbers}, Job)


def _is_beyond(before: object, after: object) -> bool:
    return isinstance(before, int) and not isinstance(after, int)


def unpack(value: bytes) -> Packed | None:
    """None for what is no record."""
    if value[:1] != _VERSION:
        return None
    try:
        opened = zlib.decompressobj(-15, zdict=_DICTIONARY)
        plain = opened.decompress(value[1:], _LONGEST)
        return msgspec.msgpack.decode(plain, type=Packed) if opened.eof else None
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
