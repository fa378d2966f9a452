"""Exports definitions as one JSON file, which `imports.portable` reads back, and xyOps as well."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from watchbell.fleet import grouping, groups
from watchbell.jobs import aliases, definitions
from watchbell.jobs.imports.found import ORDER
from watchbell.jobs.imports.portable import OURS
from watchbell.jobs.model import Plugin
from watchbell.store.client import Store

VERSION = "1.0"
_MARKS = ("created", "modified", "revision", "username")


async def export(
    store: Store,
    *,
    kinds: Collection[str] = ORDER,
    events: Collection[str] | None = None,
    secrets: bool = False,
) -> bytes:
    """The definitions of these kinds, or of some events alone. Parameters that are secret are left
    out, unless `secrets`. What a new store has by itself is left out, unless somebody edited it."""
    plugins = await definitions.every(store, "plugin")
    items: list[dict[str, Any]] = []
    for kind in ORDER:
        if kind not in kinds or (events is not None and kind != "event"):
            continue
        for record in await _records(store, kind):
            if events is not None and record["id"] not in events:
                continue
            is_masked = kind == "event" and not secrets
            shown = _without_secrets(record, plugins) if is_masked else record
            items.append({"type": kind, "data": aliases.both(kind, shown)})
    document = {
        "type": "xypdf",
        "description": "Definitions exported by Watchbell",
        "version": VERSION,
        OURS: VERSION,
        "items": items,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


async def _records(store: Store, kind: str) -> list[dict[str, Any]]:
    found: Mapping[str, Any]
    if kind == "group":
        found = {one.id: one for one in await groups.every(store) if one.id != grouping.MAIN}
    else:
        found = await definitions.every(store, kind)
    return [_plain(found[name]) for name in sorted(found) if not _is_stock(found[name])]


def _plain(record: Any) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(record))
    return {name: each for name, each in values.items() if name not in _MARKS}


def _is_stock(record: Any) -> bool:
    return isinstance(record, Plugin) and record.stock and record.revision == 1


def _without_secrets(event: dict[str, Any], plugins: Mapping[str, Any]) -> dict[str, Any]:
    plugin = plugins.get(event.get("plugin", "shellplug"))
    if not isinstance(plugin, Plugin) or not event.get("params"):
        return event
    secret = {one.id for one in plugin.params if one.secret}
    params = {name: each for name, each in event["params"].items() if name not in secret}
    return {**event, "params": params}
