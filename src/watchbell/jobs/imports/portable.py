"""Reads definitions as JSON: our own exports, and those of xyOps (portable data, backups, answers
of its API)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec

from watchbell.errors import Refused
from watchbell.jobs import action_rules, aliases, limit_rules, timing_rules, validation
from watchbell.jobs.imports.found import ORDER, Found, Gathering, Item, bare
from watchbell.jobs.model import Algorithm, Parameter
from watchbell.jobs.monitoring_stock import ALERTS, MONITORS
from watchbell.jobs.value_readers import Reader

OURS = "watchbell"
"""The property that our own exports have."""
_STOCK: dict[str, frozenset[str]] = {
    "plugin": frozenset({"shellplug", "httpplug", "hookplug", "testplug"}),
    "monitor": frozenset(one.id for one in MONITORS),
    "alert": frozenset(one.id for one in ALERTS),
}
"""What every store has."""
_LISTS = {f"{kind}s" if kind != "category" else "categories": kind for kind in (*ORDER, "web_hook")}
_FORGOTTEN = ("created", "modified", "revision", "sort_order", "stock", "marketplace", "keywords")
_GROUP = ("id", "title", "icon", "notes", "hostname_match", "max_jobs_per_server")
_NOTIFYING = ("time", "log", "mem", "cpu")
"""Limits that in xyOps abort a job only where they say so."""
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)

Record = Mapping[str, Any]


def read(text: str | bytes) -> Found:
    """Raises Refused where the text is no such file."""
    pairs, is_ours = _pairs(text)
    if not pairs:
        raise Refused("this file has no events or other definitions")
    hooks = {
        one["id"]: one.get("url", "")
        for kind, one in pairs
        if kind == "web_hook" and isinstance(one.get("id"), str)
    }
    gathering = Gathering()
    others: Counter[str] = Counter()
    for kind, record in pairs:
        if kind in ORDER:
            _Carrier(kind, record, hooks, gathering, is_ours=is_ours).carry()
        elif kind != "web_hook":
            others[kind] += 1
    for kind, number in others.items():
        gathering.omit("the file", f"{number} of the kind {kind} not imported")
    return gathering.found()


def _pairs(text: str | bytes) -> tuple[list[tuple[str, Record]], bool]:
    """Kinds and records, and whether the file is an export of ours."""
    try:
        found = msgspec.json.decode(text)
    except _UNREADABLE:
        return [*_backup(text)], False
    is_ours = isinstance(found, dict) and OURS in found
    return [(kind, one) for kind, one in _listed(found) if isinstance(one, dict)], is_ours


def _listed(found: Any) -> Iterator[tuple[str, Any]]:
    """A list of events or one event, a file of portable data, or an answer of the API."""
    if isinstance(found, list):
        found = {"rows": found}
    if not isinstance(found, dict):
        return
    wrapped = [found] if isinstance(found.get("data"), dict) else []
    items, rows = found.get("items", wrapped), found.get("rows")
    named = [(kind, found[kind]) for kind in ORDER if isinstance(found.get(kind), dict)]
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and isinstance(item.get("type"), str):
            yield item["type"], item.get("data")
    yield from (("event", one) for one in (rows if isinstance(rows, list) else []))
    yield from named
    if not items and rows is None and not named and "title" in found:
        yield "event", found


def _backup(text: str | bytes) -> Iterator[tuple[str, Record]]:
    """The records of a backup: each line has the key and the value of a page of a list."""
    shown = text if isinstance(text, str) else text.decode(errors="replace")
    for line in shown.split("\n"):
        if not line.startswith("{"):
            continue
        try:
            entry = msgspec.json.decode(line, type=dict[str, Any])
        except _UNREADABLE:
            continue
        key, value = entry.get("key"), entry.get("value")
        parts = key.split("/") if isinstance(key, str) else []
        if len(parts) == 3 and parts[0] == "global" and isinstance(value, dict):
            items = value.get("items")
            for one in items if isinstance(items, list) else []:
                if isinstance(one, dict):
                    yield _LISTS.get(parts[1], parts[1]), one


class _Carrier:
    """Carries one record over: what we do not have is left out, and reported."""

    def __init__(
        self,
        kind: str,
        record: Record,
        hooks: Mapping[str, str],
        gathering: Gathering,
        *,
        is_ours: bool,
    ) -> None:
        self._kind, self._hooks, self._gathering = kind, hooks, gathering
        self._is_ours = is_ours or "timings" in record
        self._record = record
        self._subject = f"{kind} {record.get('title') or record.get('id')!r}"

    def _omit(self, reason: str) -> None:
        self._gathering.omit(self._subject, reason)

    def carry(self) -> None:
        name = self._record.get("id")
        is_stock = isinstance(name, str) and name in _STOCK.get(self._kind, ())
        if is_stock and not self._is_ours:
            return
        try:
            values = aliases.canonical(self._kind, self._with_hooks())
        except Refused as error:
            self._omit(str(error))
            return
        values = {name: each for name, each in values.items() if name not in _FORGOTTEN}
        if self._kind == "event" and values.get("algo", "random") not in get_args(Algorithm):
            self._omit(f"the algorithm {values.pop('algo')!r} is not supported; it is random now")
        for name, part in (
            ("timings", self._timing),
            ("actions", self._action),
            ("limits", self._limit),
        ):
            if isinstance(values.get(name), list):
                values[name] = [made for one in values[name] if (made := part(one)) is not None]
        if self._kind == "plugin" and isinstance(values.get("params"), list):
            made_params = (self._parameter(one) for one in values["params"])
            values["params"] = [one for one in made_params if one is not None]
        known = _GROUP if self._kind == "group" else validation.properties(self._kind)
        self._gathering.items.append(Item(self._kind, bare(self._known("", values, known))))

    def _with_hooks(self) -> dict[str, Any]:
        """The record with the URLs of web hooks in place of their ids."""
        found = dict(self._record)
        for name in ("actions", "limits"):
            if isinstance(found.get(name), list):
                found[name] = [self._with_hook(one) for one in found[name]]
        return self._with_hook(found) if self._kind == "channel" else found

    def _with_hook(self, value: Any) -> Any:
        hook = value.get("web_hook") if isinstance(value, dict) else None
        if not isinstance(hook, str) or not hook or hook.startswith(("http://", "https://")):
            return value
        if not self._hooks.get(hook):
            self._omit(f"the web hook {hook!r} is not in the file; enter its URL")
        return {**value, "web_hook": self._hooks.get(hook, "")}

    def _known(self, path: str, values: Record, names: Any) -> dict[str, Any]:
        for name, each in values.items():
            if name not in names and each not in (None, "", [], {}, False, 0):
                self._omit(f"its property {path}{name} is not supported")
        return {name: each for name, each in values.items() if name in names}

    def _part(self, what: str, value: Any, names: Any, reader: Reader) -> Record | None:
        """The part, if it is valid."""
        try:
            reader(what, value)
        except Refused as error:
            self._omit(f"one of its {what}s is left out: {error}")
            return None
        return bare(self._known(f"{what}.", value, names))

    def _timing(self, value: Any) -> Record | None:
        kind = value.get("type") if isinstance(value, dict) else None
        names = timing_rules.properties(kind)
        return self._part("timing", value, names, timing_rules.reader(strict=False))

    def _action(self, value: Any) -> Record | None:
        names = action_rules.PROPERTIES
        reader = action_rules.reader(strict=False, of_alert=self._kind == "alert")
        return self._part("action", value, names, reader)

    def _limit(self, value: Any) -> Record | None:
        kind = value.get("type") if isinstance(value, dict) else None
        if kind in _NOTIFYING and not self._is_ours:
            value = {**value, "abort": bool(value.get("abort"))}
        names = limit_rules.properties(kind)
        return self._part("limit", value, names, limit_rules.reader(strict=False))

    def _parameter(self, value: Any) -> Record | None:
        kind = value.get("type") if isinstance(value, dict) else None
        if kind not in get_args(Parameter.__annotations__["type"]):
            name = value.get("id") if isinstance(value, dict) else value
            self._omit(f"its parameter {name!r} has the type {kind!r}")
            return None
        return bare(self._known("params.", value, Parameter.__struct_fields__))
