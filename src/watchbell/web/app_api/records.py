"""Records as the app API shows them: all properties, in the document's spelling and in xyOps'."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.actors import PRIVILEGES, Privilege
from watchbell.errors import Refused
from watchbell.fleet.model import Group
from watchbell.jobs import aliases, parameters, workflow_params
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.model import Event, Job, Plugin
from watchbell.jobs.server_status import ServerStatus
from watchbell.jobs.validation import Record

HEAVY = (
    *("actions", "activity", "html", "limits", "procs", "conns", "table", "timelines", "input"),
    *("data", "files"),
)
"""Properties of jobs that lists leave out unless they are asked for."""
_NESTED = ("actions", "limits", "timings")
_ELSEWHERE = frozenset(
    f"{verb}_{noun}"
    for verb in ("create", "edit", "delete")
    for noun in ("buckets", "commands", "secrets", "tickets", "web_hooks")
) | {"comment_jobs"}
"""Privileges of xyOps that are about nothing here; they are ignored."""


def properties(record: Struct) -> dict[str, Any]:
    """All of them, by the names that they have in JSON."""
    found = {one.encode_name: getattr(record, one.name) for one in msgspec.structs.fields(record)}
    for name in _NESTED:
        if name in found:
            found[name] = [{"enabled": one.enabled, **_builtins(one)} for one in found[name]]
    return {name: _builtins(value) for name, value in found.items()}


def _builtins(value: Any) -> Any:
    return msgspec.to_builtins(value)


def event(record: Event, known: Catalogue, *, is_masked: bool) -> dict[str, Any]:
    found = properties(record)
    if record.workflow is None:
        del found["workflow"], found["type"]
    if is_masked:
        plugin = known.plugins.get(record.plugin)
        if record.workflow is not None:
            found["workflow"] = _builtins(workflow_params.masked(record.workflow, known))
        found["params"] = parameters.masked(plugin, record.params)
        for timing in found["timings"]:
            if "params" in timing:
                timing["params"] = parameters.masked(plugin, timing["params"])
    return aliases.both("event", found)


def definition(kind: str, record: Record, *, is_masked: bool = False) -> dict[str, Any]:
    """A category, plugin, channel or tag."""
    if is_masked and isinstance(record, Plugin):
        record = parameters.without_secrets(record)
    found = properties(record)
    if kind == "channel":
        found["web_hook"] = found["url"]
    return aliases.both(kind, found)


def job(record: Job, catalogue: Catalogue, *, is_masked: bool) -> dict[str, Any]:
    found = {name: value for name, value in properties(record).items() if value is not None}
    if is_masked:
        found["params"] = parameters.masked(catalogue.plugins.get(record.plugin), record.params)
        if record.workflow is not None:
            shown = workflow_params.masked_run(record.workflow, catalogue)
            found["workflow"] = _builtins(shown)
        found["env"] = dict.fromkeys(record.env, parameters.MASK)
        found["script"] = parameters.MASK if record.script else ""
    event = catalogue.events.get(record.event)
    found["title"] = event.title if event else record.event
    found["type"] = record.type or "event"
    found["final"] = record.state == "complete"
    if not record.input:
        del found["input"]
    return aliases.both("job", found)


def without(found: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    left_out = set(names)
    return {name: value for name, value in found.items() if name not in left_out}


def server(status: ServerStatus) -> dict[str, Any]:
    record = status.server
    found = properties(record)
    info: dict[str, Any] = found["info"]
    info["os"] = {
        "platform": record.info.platform,
        "arch": record.info.arch,
        **record.info.os,
    }
    found["keywords"] = ",".join(keywords(status))
    if status.link is not None:
        found["socket_id"] = status.link.session
    return found


def keywords(status: ServerStatus) -> list[str]:
    """By what people search for a server."""
    record = status.server
    system = (record.info.platform, record.info.os.get("distro", ""), record.info.arch)
    return [
        one
        for one in (record.id, record.hostname, record.title, record.ip, *record.groups, *system)
        if one
    ]


def sample(status: ServerStatus) -> dict[str, Any]:
    """What a server uses now, where it has sent no full sample: as much as is known of what xyOps
    calls its monitoring data."""
    one = status.sample
    if one is None:
        return {"jobs": status.jobs}
    return {
        "date": one.at,
        "cpu": {"currentLoad": one.cpu, **status.server.info.cpu},
        "load": list(one.load),
        "memory": {"total": one.memory_total, "used": one.memory},
        "disk": {"total": one.disk_total, "used": one.disk},
        "network": {"rx": one.network_in, "tx": one.network_out},
        "jobs": status.jobs,
    }


def group(record: Group) -> dict[str, Any]:
    return properties(record)


def privileges(names: Iterable[Privilege]) -> dict[str, bool]:
    return dict.fromkeys(sorted(names), True)


def privileges_given(value: Any, field: str = "privileges") -> tuple[Privilege, ...]:
    """Those that are set in an object, or listed in an array."""
    if isinstance(value, dict):
        value = [name for name, is_set in value.items() if is_set]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Refused("expected an object or an array of privileges", field=field)
    known = {one: one for one in PRIVILEGES}
    for name in value:
        if name not in known and name not in _ELSEWHERE:
            raise Refused(f"there is no privilege {name[:40]!r}", field=field)
    return tuple(dict.fromkeys(known[one] for one in value if one in known))


def ids_given(value: Any, field: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Refused("expected an array of ids", field=field)
    return tuple(value)
