"""Reads the text that Cronicle's `control.sh export` writes: a key and a JSON record per line."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from watchbell.errors import Refused
from watchbell.jobs.imports.found import Found, Gathering, Item, bare

_LINE = re.compile(r"(\w[\w\-./]*)\s+-\s+(\{.*\})\s*")
_PAGE = re.compile(r"global/(\w+)/-?\d+")
_ENDLESS = 1_000_000
"""The length of a queue without a limit."""
_PLUGINS = {"urlplug": "httpplug"}
"""Plugins of Cronicle that have another name here."""
_STOCK = ("shellplug", "urlplug", "testplug")
_GROUPS = {"maingrp": "main", "allgrp": "main"}
"""Groups that every installation of Cronicle has."""
_SIMPLE = ("id", "title", "notes", "username")
_ALGORITHMS = ("random", "round_robin", "least_cpu", "least_mem", "prefer_first", "prefer_last")
_TYPES = ("text", "textarea", "checkbox", "select", "hidden")
_LISTS = {"users": "user", "api_keys": "API key", "servers": "server"}
"""Lists that are not imported."""

Record = Mapping[str, Any]


def read(text: str) -> Found:
    """Raises Refused where the text is no such export."""
    gathering = Gathering()
    records = [*_records(text, gathering)]
    if not records and not gathering.omissions:
        raise Refused("this is no export of Cronicle: no line is a key and a record")
    readers = {
        "server_groups": _group,
        "categories": _category,
        "plugins": _plugin,
        "schedule": _event,
    }
    others: Counter[str] = Counter()
    for name, record in records:
        reader = readers.get(name)
        if reader is not None:
            reader(record, gathering)
        elif name in _LISTS:
            others[_LISTS[name]] += 1
    for what, number in others.items():
        plural = "s are" if number > 1 else " is"
        gathering.omit("the file", f"{number} {what}{plural} not imported")
    return gathering.found()


def _records(text: str, gathering: Gathering) -> Iterator[tuple[str, Record]]:
    """The records of all pages, with the name of their list."""
    for number, line in enumerate(text.split("\n"), 1):
        matched = _LINE.fullmatch(line.strip())
        page = _PAGE.fullmatch(matched[1]) if matched else None
        if not matched or not page:
            continue
        try:
            found = msgspec.json.decode(matched[2], type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            gathering.omit(f"line {number}", "it can't be read as JSON")
            continue
        items = found.get("items")
        for one in items if isinstance(items, list) else []:
            if isinstance(one, dict):
                yield page[1], one


def _subject(kind: str, record: Record) -> str:
    return f"{kind} {record.get('title') or record.get('id')!r}"


def _simple(record: Record) -> dict[str, Any]:
    return {name: record[name] for name in _SIMPLE if record.get(name)}


def _number(record: Record, name: str) -> float:
    value = record.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 16:
        return int(value)
    return value if is_number and value is not None else 0


def _list(record: Record, name: str) -> list[Any]:
    value = record.get(name)
    return value if isinstance(value, list) else []


def _group(record: Record, gathering: Gathering) -> None:
    if record.get("id") in tuple(_GROUPS):
        return
    match = record.get("regexp")
    values = _simple(record) | {"hostname_match": match if isinstance(match, str) else ""}
    gathering.items.append(Item("group", bare(values)))


def _category(record: Record, gathering: Gathering) -> None:
    subject = _subject("category", record)
    if record.get("id") == "general":
        if _limits(record) or _actions(record):
            gathering.omit(subject, "its limits and actions are not imported: the category exists")
        return
    values = _simple(record) | {
        "enabled": bool(record.get("enabled", True)),
        "color": record.get("color"),
        "limits": _limits(record),
        "actions": _actions(record),
    }
    if _number(record, "max_children"):
        reason = "it limits the jobs of all its events together; limit each event instead"
        gathering.omit(subject, reason)
    gathering.items.append(Item("category", bare(values)))


def _plugin(record: Record, gathering: Gathering) -> None:
    if record.get("id") in _STOCK:
        return
    subject = _subject("plugin", record)
    params = [one for one in _list(record, "params") if isinstance(one, dict)]
    values = _simple(record) | {
        "enabled": bool(record.get("enabled", True)),
        "command": record.get("command"),
        "script": record.get("script"),
        "cwd": record.get("cwd"),
        "uid": record.get("uid"),
        "gid": record.get("gid"),
        "env": record.get("env"),
        "params": [made for one in params if (made := _parameter(one, subject, gathering))],
    }
    gathering.items.append(Item("plugin", bare(values)))


def _parameter(record: Record, subject: str, gathering: Gathering) -> dict[str, Any] | None:
    kind, name = record.get("type"), record.get("id")
    if kind not in _TYPES:
        gathering.omit(subject, f"its parameter {name!r} has the type {kind}")
        return None
    value = record.get("value")
    if kind == "select":
        items = [str(one) for one in _list(record, "items")]
        if any("," in one for one in items):
            gathering.omit(subject, f"its parameter {name!r} has choices with commas")
            kind = "text"
        else:
            first = [str(value)] if str(value) in items else []
            value = ", ".join([*first, *(one for one in items if one not in first)])
    if kind == "checkbox":
        value = bool(value)
    return bare({"id": name, "title": record.get("title"), "type": kind, "value": value})


def _event(record: Record, gathering: Gathering) -> None:
    subject = _subject("event", record)
    plugin = record.get("plugin") or "shellplug"
    target = record.get("target")
    params = record.get("params")
    params = dict(params) if isinstance(params, dict) else {}
    if plugin == "testplug" and params.get("action") == "Failure":
        params["action"] = "Error"
    values = _simple(record) | {
        "enabled": bool(record.get("enabled")) and not record.get("multiplex"),
        "category": record.get("category"),
        "plugin": _PLUGINS.get(plugin, plugin) if isinstance(plugin, str) else plugin,
        "params": params,
        "targets": [_GROUPS.get(target, target)] if isinstance(target, str) and target else [],
        "algo": record.get("algo") if record.get("algo") in _ALGORITHMS else "random",
        "timings": [*_timings(record)],
        "limits": _limits(record, with_jobs=True),
        "actions": _actions(record),
    }
    if record.get("multiplex"):
        reason = "it is disabled, because it ran on all servers of its group at once"
        gathering.omit(subject, reason)
    if isinstance(target, str) and "." in target:
        gathering.omit(subject, f"its target {target!r} must be the id of a server or group")
    gathering.items.append(Item("event", bare(values)))


def _timings(record: Record) -> Iterator[dict[str, Any]]:
    timing = record.get("timing")
    if isinstance(timing, dict):
        rules = ("years", "months", "days", "weekdays", "hours", "minutes")
        given = {name: timing[name] for name in rules if timing.get(name)}
        zone = record.get("timezone")
        yield {"type": "schedule", **given, **({"timezone": zone} if zone else {})}
    if record.get("catch_up"):
        yield {"type": "catchup"}
    yield {"type": "manual"}  # every event of Cronicle can be run by hand


def _limits(record: Record, *, with_jobs: bool = False) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if timeout := _number(record, "timeout"):
        found.append({"type": "time", "duration": timeout})
    if size := _number(record, "log_max_size"):
        found.append({"type": "log", "amount": size})
    for kind, name in (("mem", "memory"), ("cpu", "cpu")):
        if amount := _number(record, f"{name}_limit"):
            duration = _number(record, f"{name}_sustain")
            found.append({"type": kind, "amount": amount, "duration": duration})
    if retries := _number(record, "retries"):
        duration = _number(record, "retry_delay")
        found.append({"type": "retry", "amount": retries, "duration": duration})
    jobs = _number(record, "max_children") if with_jobs else 0
    if jobs:
        found.append({"type": "job", "amount": jobs})
    if jobs and record.get("queue"):
        found.append({"type": "queue", "amount": _number(record, "queue_max") or _ENDLESS})
    return found


def _actions(record: Record) -> list[dict[str, Any]]:
    found = [
        {"trigger": trigger, "type": "email", "email": record[name]}
        for trigger, name in (("success", "notify_success"), ("error", "notify_fail"))
        if record.get(name)
    ]
    found += [
        {"trigger": trigger, "type": "web_hook", "url": record["web_hook"]}
        for trigger in ("start", "complete")
        if record.get("web_hook")
    ]
    found += [
        {"trigger": trigger, "type": "run_event", "event_id": record[name]}
        for trigger, name in (("success", "chain"), ("error", "chain_error"))
        if record.get(name)
    ]
    return found
