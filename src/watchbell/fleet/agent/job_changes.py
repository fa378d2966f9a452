"""Reads the messages of a job: what they change, what they ask for, and what they may not set."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import structs

from watchbell.fleet.agent import limits
from watchbell.fleet.agent.job_messages import KEYS
from watchbell.fleet.agent.journal import JobState

MOST_SAID = 16 << 20
"""Bytes of all messages of a job; the rest is ignored."""
MOST_WARNINGS = 100
MOST_FILES = 1_000
_LONGEST_TEXT = 1_000
_SHOWN = 200
_encode = msgspec.msgpack.Encoder().encode

UNKNOWN = "unknown"


class Spoken:
    """What the messages of a chunk say together."""

    def __init__(self, state: JobState) -> None:
        self.state = state
        self.values: dict[str, Any] = {}
        """What goes into the report of changes."""
        self.activity: list[str] = []
        self.limits: list[dict[str, Any]] = []
        """Limits that were pushed."""

    def warn(self, text: str) -> None:
        count = self.state.warnings + 1
        if count > MOST_WARNINGS:
            return
        self.state = structs.replace(self.state, warnings=count)
        self.activity.append(text)
        if count == MOST_WARNINGS:
            self.activity.append("More warnings about its messages are not shown.")

    def add(self, message: Mapping[str, Any]) -> None:
        if self.state.code is not None:
            self.warn("A message was ignored: the job had reported its completion before.")
            return
        try:
            size = len(_encode(message))
        except (OverflowError, UnicodeEncodeError, RecursionError, TypeError):
            self.warn("A message was ignored: it has a number or text that can't be stored.")
            return
        if self.state.said + size > MOST_SAID:
            self.warn(f"A message was ignored: all messages have more than {MOST_SAID:,} bytes.")
            return
        self.state = structs.replace(self.state, said=self.state.said + size)
        others = [key for key in message if key not in KEYS and key != "xy"]
        if others:
            self.warn(f"A job can't set {_listed(others)}; the rest of its message counts.")
        for key, read in _READERS.items():
            if key in message:
                read(self, message[key])
        if "code" in message or message.get("complete"):
            self._complete(message)

    def _complete(self, message: Mapping[str, Any]) -> None:
        self.state = structs.replace(self.state, code=code_of(message.get("code")))

    def keep(self, **changes: Any) -> None:
        self.state = structs.replace(self.state, **changes)


def code_of(value: Any) -> int | float | str:
    """A code as it is stored: 0, another number, or a word."""
    if isinstance(value, str):
        return re.sub(r"\W", "_", value.lower(), flags=re.ASCII)[:_LONGEST_TEXT] or 0
    if value is None or value is False:
        return 0
    if isinstance(value, int | float) and value is not True:
        return value
    return UNKNOWN


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))[:_SHOWN]


def _progress(spoken: Spoken, value: Any) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        spoken.values["progress"] = min(max(float(value), 0.0), 1.0)
    else:
        spoken.warn("progress was ignored; expected a number from 0 to 1.")


def _text(name: str) -> Callable[[Spoken, Any], None]:
    def read(spoken: Spoken, value: Any) -> None:
        spoken.values[name] = str(value)[:_LONGEST_TEXT]

    return read


def _description(spoken: Spoken, value: Any) -> None:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    spoken.keep(description=text[: _LONGEST_TEXT * 10])


def _shown(name: str) -> Callable[[Spoken, Any], None]:
    def read(spoken: Spoken, value: Any) -> None:
        if isinstance(value, Mapping | str):
            spoken.values[name] = value
        else:
            spoken.warn(f"{name} was ignored; expected an object or text.")

    return read


def _data(spoken: Spoken, value: Any) -> None:
    if not isinstance(value, Mapping):
        spoken.warn("data was ignored; expected an object.")
        return
    spoken.values["data"] = merged(spoken.values.get("data", {}), value)


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """New values replace old ones; lists are appended."""
    result = dict(old)
    for name, value in new.items():
        before = result.get(name)
        both = isinstance(before, list) and isinstance(value, list)
        result[name] = [*before, *value] if both else value  # type: ignore[misc]
    return result


def _files(spoken: Spoken, value: Any) -> None:
    spoken.keep(files=())
    _add_files(spoken, value)


def _add_files(spoken: Spoken, value: Any) -> None:
    items = value if isinstance(value, list) else [value]
    valid = tuple(item for item in items if isinstance(item, str | list | dict))
    if len(valid) < len(items):
        spoken.warn("Some of its files were ignored; expected a path, a list or an object.")
    files = (*spoken.state.files, *valid)
    if len(files) > MOST_FILES:
        spoken.warn(f"Only the first {MOST_FILES:,} of its files are uploaded.")
    spoken.keep(files=files[:MOST_FILES])


def _push(spoken: Spoken, value: Any) -> None:
    if not isinstance(value, Mapping):
        spoken.warn("push was ignored; expected an object.")
        return
    others = [key for key in value if key not in ("tags", "actions", "limits", "files")]
    if others:
        spoken.warn(f"A job can't push {_listed(others)}.")
    if "files" in value:
        _add_files(spoken, value["files"])
    valid = {
        "tags": [tag for tag in _list(value.get("tags")) if isinstance(tag, str)],
        "actions": [one for one in _list(value.get("actions")) if isinstance(one, Mapping)],
        "limits": list(_pushed_limits(spoken, _list(value.get("limits")))),
    }
    pushed = spoken.values.get("push", {})
    pushed = merged(pushed, {name: items for name, items in valid.items() if items})
    if pushed:
        spoken.values["push"] = pushed


def _pushed_limits(spoken: Spoken, items: Iterable[Any]) -> Iterable[Any]:
    for item in items:
        problem = limits.problem(item)
        if problem:
            spoken.warn(f"A limit that the job pushed was ignored: {problem}.")
            continue
        spoken.limits.append(dict(item))
        spoken.keep(limits=(*spoken.state.limits, dict(item)))
        yield item


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _update_event(spoken: Spoken, value: Any) -> None:
    if isinstance(value, Mapping):
        spoken.values["update_event"] = {**spoken.values.get("update_event", {}), **value}
    else:
        spoken.warn("update_event was ignored; expected an object.")


def _workflow_data(spoken: Spoken, value: Any) -> None:
    if isinstance(value, Mapping):
        spoken.values["workflowData"] = {**spoken.values.get("workflowData", {}), **value}
    else:
        spoken.warn("workflowData was ignored; expected an object.")


_READERS: dict[str, Callable[[Spoken, Any], None]] = {
    "progress": _progress,
    "status": _text("status"),
    "label": _text("label"),
    "description": _description,
    "perf": _shown("perf"),
    "table": _shown("table"),
    "html": _shown("html"),
    "text": _shown("text"),
    "markdown": _shown("markdown"),
    "data": _data,
    "files": _files,
    "push": _push,
    "update_event": _update_event,
    "workflowData": _workflow_data,
}
