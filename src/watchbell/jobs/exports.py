"""Exports definitions as one file: JSON for `imports.portable` and xyOps, or YAML for people."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from watchbell.fleet import grouping, groups
from watchbell.fleet.model import Monitor
from watchbell.jobs import aliases, definition_files, definitions, workflow_params
from watchbell.jobs.imports.found import ORDER
from watchbell.jobs.imports.portable import OURS
from watchbell.jobs.model import AlertDef, Plugin
from watchbell.jobs.monitoring_stock import ALERTS, MONITORS
from watchbell.jobs.workflow_model import Workflow
from watchbell.store.client import Store

VERSION = "1.0"
_MARKS = ("created", "modified", "revision", "username")


class _Known:
    def __init__(self) -> None:
        self.events: dict[str, Any] = {}
        self.plugins: dict[str, Any] = {}


async def export(
    store: Store,
    *,
    kinds: Collection[str] = ORDER,
    events: Collection[str] | None = None,
    secrets: bool = False,
) -> bytes:
    """The definitions of these kinds, or of some events alone. Values of secret parameters,
    parameters of actions and variables of plugins are left out, unless `secrets`. What a new store
    has by itself is left out, unless somebody edited it."""
    known = _Known()
    known.plugins |= await definitions.every(store, "plugin")
    known.events |= await definitions.every(store, "event")
    items: list[dict[str, Any]] = []
    for kind in ORDER:
        if kind not in kinds or (events is not None and kind != "event"):
            continue
        for record in await _records(store, kind):
            if events is not None and record["id"] not in events:
                continue
            shown = record if secrets else _without_secrets(kind, record, known)
            items.append({"type": kind, "data": aliases.both(kind, shown)})
    document = {
        "type": "xypdf",
        "description": "Definitions exported by Watchbell",
        "version": VERSION,
        OURS: VERSION,
        "items": items,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


async def as_yaml(
    store: Store, *, events: Collection[str] | None = None, secrets: bool = False
) -> str:
    """The definitions of all kinds, or some events alone, for `definition_files.load`. Secrets are
    masked, unless `secrets`."""
    known = _Known()
    known.plugins |= await definitions.every(store, "plugin")
    known.events |= await definitions.every(store, "event")
    kinds = ORDER if events is None else ("event",)
    found = {
        kind: [
            definition_files.values(one, known, secrets=secrets)
            for one in await _edited(store, kind)
            if events is None or one.id in events
        ]
        for kind in kinds
    }
    return definition_files.dump({kind: some for kind, some in found.items() if some})


async def _records(store: Store, kind: str) -> list[dict[str, Any]]:
    return [_plain(one) for one in await _edited(store, kind)]


async def _edited(store: Store, kind: str) -> list[Any]:
    """By their ids, without what a new store has by itself."""
    found: Mapping[str, Any]
    if kind == "group":
        found = {one.id: one for one in await groups.every(store) if one.id != grouping.MAIN}
    else:
        found = await definitions.every(store, kind)
    return [found[name] for name in sorted(found) if not _is_stock(found[name])]


def _plain(record: Any) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(record))
    return {name: each for name, each in values.items() if name not in _MARKS}


def _is_stock(record: Any) -> bool:
    if isinstance(record, Monitor | AlertDef):
        known = {one.id for one in (*MONITORS, *ALERTS)}
        return record.id in known and record.revision == 1
    return isinstance(record, Plugin) and record.stock and record.revision == 1


def _without_secrets(kind: str, record: dict[str, Any], known: _Known) -> dict[str, Any]:
    if kind == "plugin":
        params = [_without_default(one) for one in record.get("params", ())]
        shown = {name: each for name, each in record.items() if name != "env"}
        return {**shown, "params": params} if params else shown
    if "actions" in record:
        record = {**record, "actions": [_without_own(one) for one in record["actions"]]}
    if kind != "event":
        return record
    if "workflow" in record:
        workflow = msgspec.convert(record["workflow"], Workflow)
        bare = workflow_params.without_secrets(workflow, known)
        record = {**record, "workflow": msgspec.to_builtins(bare)}
    plugin = known.plugins.get(record.get("plugin", "shellplug"))
    secret = {one.id for one in plugin.params if one.secret} if plugin else set()
    timings = [_without_params(one, secret) for one in record.get("timings", ())]
    return {**_without_params(record, secret), "timings": timings}


def _without_own(action: dict[str, Any]) -> dict[str, Any]:
    """Which of its parameters are secret, only the plugin of the event that it runs knows."""
    return {name: each for name, each in action.items() if name != "params"}


def _without_default(parameter: dict[str, Any]) -> dict[str, Any]:
    return {**parameter, "value": ""} if parameter.get("secret") else parameter


def _without_params(owner: dict[str, Any], secret: Collection[str]) -> dict[str, Any]:
    params = owner.get("params")
    if not params:
        return owner
    return {**owner, "params": {k: each for k, each in params.items() if k not in secret}}
