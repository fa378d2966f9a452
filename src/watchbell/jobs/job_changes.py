"""What a job changes in its own record by its messages, merged value by value. Pure.

An agent is not trusted: a value of another key, or of a wrong type, is ignored, with a line in the
activity of the job.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from watchbell.fleet.messages import Changes, LimitReached, Result
from watchbell.jobs.model import PUSHED, Action, Activity, JobFile, Limit

MOST_ACTIVITY = 1_000
MOST_PUSHED = 1_000
"""Tags, actions or limits of a job after which no more are added."""
SHARED = "_shared"
"""The field with what a job has changed of the data that all jobs of its workflow share."""
MERGED = ("data", "tags", "actions", "limits", "activity", SHARED)
"""Fields of which the next value depends on the last one."""

_LONGEST = 8 << 20
"""Bytes of a value as JSON."""
_LONGEST_TEXT = 32 << 10
_LONGEST_LINE = 2_000
_REPLACED: dict[str, Any] = {
    "progress": float,
    "status": str,
    "label": str,
    "perf": Any,
    "table": Any,
    "html": Any,
    "text": Any,
    "markdown": Any,
    "update_event": dict[str, Any],
}
_PUSHED: dict[str, Any] = {"tags": str, "actions": Action, "limits": Limit}
_FILE_ID = re.compile(r"\w{1,64}", re.ASCII)
_MOST_FILES, _LARGEST_FILE = 1_000, 1 << 50
_PUSH = "push"
_SHARED_KEY = "workflowData"
_FILES = "files"
"""Of interest to the agent alone, which uploads them before the result."""


class ChangedJob:
    """The fields of a job that have changed, as JSON. `before` has those of `MERGED` as they are in
    the store."""

    def __init__(self, server: str, before: Mapping[str, bytes | None]) -> None:
        self._server, self._before = server, before
        self._lists: dict[str, list[Any]] = {}
        self._data: Any = None
        self._shared: dict[str, Any] | None = None
        self.fields: dict[str, bytes] = {}

    def apply(self, change: Changes) -> None:
        for name, value in change.values.items():
            self._set(name, value, change.at)
        for line in change.activity:
            self.log(change.at, line)

    def log(self, at: float, text: str) -> None:
        line = Activity(epoch=round(time_of(at), 3), msg=text[:_LONGEST_LINE], server=self._server)
        self._append("activity", [msgspec.to_builtins(line)])

    def _set(self, name: str, value: Any, at: float) -> None:
        if name == "data":
            self._merge(value, at)
        elif name == _SHARED_KEY:
            self._share(value, at)
        elif name == _PUSH and isinstance(value, dict):
            for field, items in value.items():
                self._push(field, items, at)
        elif name in _REPLACED:
            self._replace(name, value, at)
        elif name != _FILES:
            self.log(at, f"{name[:100]!r} can't be set by a job; it was ignored")

    def _replace(self, name: str, value: Any, at: float) -> None:
        try:
            found = msgspec.convert(value, _REPLACED[name])
        except msgspec.ValidationError as error:
            self.log(at, f"{name} was ignored: {error}")
            return
        if name == "progress":
            found = min(max(found, 0.0), 1.0)
        elif isinstance(found, str):
            found = found[:_LONGEST_LINE]
        self._store(name, found, at)

    def _merge(self, value: Any, at: float) -> None:
        """Shallow; lists on the first level are joined."""
        if not isinstance(value, dict):
            self.log(at, "data was ignored: it is no object")
            return
        if self._data is None:
            before = _parsed(self._before.get("data"))
            self._data = before if isinstance(before, dict) else {}
        merged = dict(self._data)
        for key, one in value.items():
            old = merged.get(key)
            is_joined = isinstance(old, list) and isinstance(one, list)
            merged[key] = old + one if is_joined else one
        if self._store("data", merged, at):
            self._data = merged

    def _share(self, value: Any, at: float) -> None:
        if not isinstance(value, dict):
            self.log(at, f"{_SHARED_KEY} was ignored: it is no object")
            return
        if self._shared is None:
            before = _parsed(self._before.get(SHARED))
            self._shared = before if isinstance(before, dict) else {}
        merged = {**self._shared, **value}
        if self._store(SHARED, merged, at):
            self._shared = merged

    def _push(self, name: str, items: Any, at: float) -> None:
        if name == _FILES:
            return
        kind = _PUSHED.get(name)
        if kind is None:
            self.log(at, f"{str(name)[:100]!r} can't be pushed; it was ignored")
            return
        good = []
        for item in items if isinstance(items, list | tuple) else [items]:
            try:
                good.append(_checked(item, kind))
            except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
                self.log(at, f"an item of push.{name} was ignored: {error}")
        if name == "tags":
            good = [tag for tag in dict.fromkeys(good) if tag not in self._list(name)]
        room = max(MOST_PUSHED - len(self._list(name)), 0)
        if len(good) > room:
            self.log(at, f"items of push.{name} were ignored: a job has at most {MOST_PUSHED:,}")
        self._append(name, good[:room])

    def _list(self, name: str) -> list[Any]:
        if name not in self._lists:
            before = _parsed(self._before.get(name))
            self._lists[name] = before if isinstance(before, list) else []
        return self._lists[name]

    def _append(self, name: str, items: Sequence[Any]) -> None:
        if not items:
            return
        whole = [*self._list(name), *items]
        self._lists[name] = whole[-MOST_ACTIVITY:] if name == "activity" else whole
        self.fields[name] = msgspec.json.encode(self._lists[name])

    def _store(self, name: str, value: Any, at: float) -> bool:
        try:
            text = msgspec.json.encode(value)
        except (TypeError, ValueError, RecursionError):  # such as keys that are no texts
            self.log(at, f"{name} was ignored: it is no JSON")
            return False
        if len(text) > _LONGEST:
            self.log(at, f"{name} was ignored: it is longer than {_LONGEST:,} bytes")
            return False
        self.fields[name] = text
        return True


def needs_merging(body: Changes | LimitReached) -> bool:
    """Whether the change depends on what is in the store, or may add a line of activity."""
    if isinstance(body, LimitReached) or body.activity:
        return True
    return any(
        name not in _REPLACED or name == "update_event" or not _is_plain(name, value)
        for name, value in body.values.items()
    )


def _is_plain(name: str, value: Any) -> bool:
    if name == "progress":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str) and len(value) < _LONGEST_LINE


def result(given: Result, job: str, server: str) -> Result:
    """The result with only such files as the job itself may have uploaded."""
    return msgspec.structs.replace(
        given,
        description=given.description[:_LONGEST_TEXT],
        files=tuple(_files(given.files, job, server)),
        activity=tuple(line[:_LONGEST_LINE] for line in given.activity[-MOST_ACTIVITY:]),
    )


def time_of(at: float) -> float:
    """A time that an agent has sent; 0 for what is no time."""
    return at if 0 <= at < 1e11 else 0.0


def folder(job: str) -> str:
    """Where the files of a job are."""
    return f"jobs/{job}/files/"


def _checked(item: Any, kind: Any) -> Any:
    found = msgspec.convert(item, kind)
    if isinstance(found, Action):
        found = msgspec.structs.replace(found, source=PUSHED)
    return msgspec.json.decode(msgspec.json.encode(found))


def _files(given: Iterable[Mapping[str, Any]], job: str, server: str) -> Iterable[dict[str, Any]]:
    for one in islice(given, _MOST_FILES):
        try:
            file = msgspec.convert({**one, "job": job, "server": server}, JobFile)
        except msgspec.ValidationError:
            continue
        is_named = _FILE_ID.fullmatch(file.id) and ".." not in file.path
        if is_named and file.path.startswith(folder(job)) and 0 <= file.size < _LARGEST_FILE:
            yield msgspec.to_builtins(msgspec.structs.replace(file, date=time_of(file.date)))


def _parsed(text: bytes | None) -> Any:
    try:
        return None if text is None else msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
