"""Validates what people define: JSON becomes a record, or is refused with the field that is wrong.

A record is read in two steps: each property by its reader, then what properties demand of each
other and of other records.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.errors import Refused, refuse_for
from watchbell.fleet.model import Monitor, OutputFormat
from watchbell.fleet.monitoring import trial
from watchbell.jobs import (
    action_rules,
    aliases,
    dashboard_rules,
    limit_rules,
    monitoring_rules,
    parameters,
    timing_rules,
    workflow_graph,
    workflow_params,
    workflow_rules,
)
from watchbell.jobs import value_readers as read_value
from watchbell.jobs.dashboards import Dashboard
from watchbell.jobs.model import (
    KINDS,
    Action,
    AlertDef,
    Algorithm,
    Category,
    Channel,
    Event,
    Limit,
    Parameter,
    Plugin,
    Tag,
)
from watchbell.jobs.record_readers import COMMON, ENABLED, IDS, NAMES, record_reader, regex
from watchbell.jobs.value_readers import LARGEST, Reader
from watchbell.jobs.workflow_model import PLUGIN as WORKFLOW_PLUGIN
from watchbell.jobs.workflow_model import Workflow
from watchbell.schedule.fields import refuse

LONGEST_COMMAND = 50
"""Seconds that a monitor may take: it runs every minute."""

Record = Event | Category | Plugin | Channel | Tag | Monitor | AlertDef | Dashboard


class Known(Protocol):
    """The records that others may refer to."""

    @property
    def events(self) -> Mapping[str, Event]: ...
    @property
    def categories(self) -> Mapping[str, Category]: ...
    @property
    def plugins(self) -> Mapping[str, Plugin]: ...
    @property
    def channels(self) -> Mapping[str, Channel]: ...
    @property
    def monitors(self) -> Mapping[str, Monitor]: ...


def read(
    kind: str,
    value: object,
    known: Known | None = None,
    *,
    current: Record | None = None,
    is_admin: bool = True,
) -> Record:
    """The record. `current` is the one it replaces. Raises Refused, and nothing else, whatever the
    value; it has all that is wrong, as far as the value can be read. Without `known`, references
    and parameters are not checked."""
    stored = read_value.plain(current) if current is not None else None
    plain = read_value.mapping("", read_value.plain(value))
    record: Record = _READERS[True][kind]("", aliases.canonical(kind, plain, stored))
    if isinstance(record, Event):
        timing_rules.check_together(record.timings)
        record = _checked_type(record)
        _check_graph(record, known)
    if isinstance(record, Monitor):
        trial.check_monitor(record)
    if isinstance(record, AlertDef):
        trial.check_alert(record)
    return record if known is None else _checked(record, known, current, is_admin=is_admin)


def stored(kind: str, raw: bytes) -> Record:
    """A record from the store, where unknown properties are ignored. Raises Refused."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Refused(f"it is not JSON: {error}") from None
    given = read_value.mapping("", value)
    if any(word in raw for word in aliases.WORDS):
        given = aliases.canonical(kind, given)
    record: Record = _READERS[False][kind]("", given)
    return record


def action(value: object, field: str = "", *, strict: bool = False) -> Action:
    """An action alone, as a job pushes it. Raises Refused."""
    found: Action = action_rules.reader(strict=strict)(
        field, aliases.action(read_value.plain(value))
    )
    return found


def alert_action(value: object, field: str = "", *, strict: bool = False) -> Action:
    """An action of an alert alone. Raises Refused."""
    found: Action = action_rules.reader(strict=strict, of_alert=True)(
        field, aliases.action(read_value.plain(value))
    )
    return found


def limit(value: object, field: str = "", *, strict: bool = False) -> Limit:
    """A limit alone, as a job pushes it. Raises Refused."""
    found: Limit = limit_rules.reader(strict=strict)(field, aliases.limit(read_value.plain(value)))
    return found


def _checked(record: Record, known: Known, current: Record | None, *, is_admin: bool) -> Record:
    """The record as other records demand it."""
    wrong = list[Refused]()
    if isinstance(record, Event):
        try:
            record = _checked_event(record, known, current, is_admin=is_admin)
        except Refused as error:
            wrong += error.every
    refuse_for([*wrong, *_missing_references(record, known, current)])
    return record


def _checked_type(event: Event) -> Event:
    """A workflow has no plugin of its own, and every workflow has nodes."""
    if event.type == "workflow":
        return replace(event, plugin=WORKFLOW_PLUGIN, workflow=event.workflow or Workflow())
    if event.workflow is not None:
        raise Refused("only an event of the type workflow has one", field="workflow")
    return event


def _check_graph(event: Event, known: Known | None) -> None:
    if event.workflow is None:
        return
    events = known.events if known is not None else {}
    found = workflow_graph.problems(event.workflow, event.id, event.timings, events)
    refuse_for([Refused(one.reason, field=one.field) for one in found if not one.is_warning])


def _checked_event(event: Event, known: Known, current: Record | None, *, is_admin: bool) -> Event:
    limits = [*event.limits]
    category = known.categories.get(event.category)
    limits += category.limits if category else ()
    enabled = {one.type for one in limits if one.enabled}
    for place, one in enumerate(event.limits):
        if one.enabled and one.type == "queue" and "job" not in enabled:
            reason = "a queue limit needs a job limit, which decides when jobs are queued"
            raise Refused(reason, field=f"limits[{place}].type")
    before = current if isinstance(current, Event) else Event(id=event.id, title=event.title)
    if event.workflow is not None:
        workflow = workflow_params.checked(
            event.workflow, before.workflow, known, is_admin=is_admin
        )
        return replace(event, workflow=workflow)
    plugin = known.plugins.get(event.plugin)
    if plugin is not None and plugin.type != "event" and event.plugin != before.plugin:
        reason = f"{plugin.title} is a plugin of type {plugin.type}, which no event can use"
        raise Refused(reason, field="plugin")
    return _with_params(event, plugin, before, is_admin=is_admin)


def _with_params(event: Event, plugin: Plugin | None, before: Event, *, is_admin: bool) -> Event:
    """The event with its parameters as its plugin reads them."""
    if plugin is None:
        return replace(event, params=parameters.unmasked(event.params, before.params))
    params = parameters.checked(plugin, event.params, is_admin=is_admin, stored=before.params)
    timings = list(event.timings)
    for place, timing in enumerate(timings):
        stored = before.timings[place].params if place < len(before.timings) else {}
        given = parameters.checked(
            plugin,
            timing.params,
            is_admin=is_admin,
            stored=stored,
            partial=True,
            path=f"timings[{place}].params",
        )
        if given != timing.params:
            timings[place] = replace(timing, params=given)
    return replace(event, params=params, timings=tuple(timings))


def _missing_references(record: Record, known: Known, current: Record | None) -> Iterator[Refused]:
    """A reference that was there before is not refused, although what it named is gone."""
    accepted = {reference[1:] for reference in references(current)} if current else set()
    if isinstance(record, Event):
        accepted.add(("event", record.id))
    for field, kind, name in references(record):
        if (kind, name) not in accepted and name not in named(known, kind):
            yield Refused(f"there is no {kind} {name!r}", field=field)


def named(known: Known, kind: str) -> Mapping[str, Struct]:
    """The records of a kind that others may refer to."""
    found: dict[str, Mapping[str, Any]] = {
        "event": known.events,
        "plugin": known.plugins,
        "channel": known.channels,
        "monitor": known.monitors,
    }
    return found[kind]


def properties(kind: str) -> tuple[str, ...]:
    """The properties that a kind of record has."""
    return KINDS[kind].__struct_fields__


def _of_event(event: Event) -> Iterable[tuple[str, str, str]]:
    if event.workflow is not None:
        return workflow_graph.references(event.workflow)
    return [("plugin", "plugin", event.plugin)]


def _of_actions(actions: Iterable[Action]) -> Iterator[tuple[str, str, str]]:
    for place, one in enumerate(actions):
        if one.type == "run_event":
            yield f"actions[{place}].event_id", "event", one.event_id
        if one.type == "channel":
            yield f"actions[{place}].channel_id", "channel", one.channel_id


def references(record: Record) -> Iterator[tuple[str, str, str]]:
    """What a record refers to: field, kind and id. A category is created where there is none, and
    targets may come and go, so they are not among them."""
    if isinstance(record, Event):
        yield from _of_event(record)
    if isinstance(record, AlertDef) and record.monitor_id:
        yield "monitor_id", "monitor", record.monitor_id
    if isinstance(record, Dashboard):
        yield from dashboard_rules.references(record)
    if isinstance(record, Event | Category | AlertDef):
        yield from _of_actions(record.actions)
    if isinstance(record, Channel) and record.run_event:
        yield "run_event", "event", record.run_event


# The readers of each kind.


def _targets(field: str, value: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = read_value.array(read_value.target)(field, value)
    if not found:
        raise Refused("enter at least one server or group", field=field)
    return found


def _command(field: str, value: Any) -> str:
    command = read_value.text(field, value)
    try:
        shlex.split(command)
    except ValueError as error:
        refuse(field, f"a program and its arguments ({error})", value)
    return command


def _tag_id(field: str, value: Any) -> str:
    found = read_value.identifier(field, value)
    if found.startswith("_"):
        refuse(field, "an id that does not begin with _, as those of the system do", value)
    return found


def _event_type(field: str, value: Any) -> str:
    """`event` is what xyOps calls one that is no workflow."""
    return "" if value in ("", "event") else read_value.one_of(("event", "workflow"))(field, value)


def _event(*, strict: bool) -> Reader:
    readers: dict[str, Reader] = {
        **ENABLED,
        "type": _event_type,
        "workflow": workflow_rules.reader(strict=strict),
        "category": read_value.identifier,
        "plugin": read_value.identifier,
        "params": read_value.mapping,
        "tags": IDS,
        "targets": _targets,
        "algo": read_value.one_of(get_args(Algorithm)),
        "actions": read_value.items(action_rules.reader(strict=strict)),
        "limits": read_value.items(limit_rules.reader(strict=strict)),
        "timings": read_value.items(timing_rules.reader(strict=strict)),
    }
    return record_reader(Event, readers, strict=strict)


def _category(*, strict: bool) -> Reader:
    readers: dict[str, Reader] = {
        **ENABLED,
        "color": read_value.line(),
        "sort_order": read_value.whole(-LARGEST, LARGEST),
        "actions": read_value.items(action_rules.reader(strict=strict)),
        "limits": read_value.items(limit_rules.reader(strict=strict)),
    }
    return record_reader(Category, readers, strict=strict)


def _plugin(*, strict: bool) -> Reader:
    readers: dict[str, Reader] = {
        **ENABLED,
        "type": read_value.one_of(get_args(Plugin.__annotations__["type"])),
        "command": _command,
        "script": read_value.text,
        "params": read_value.items(_parameter(strict=strict)),
        "uid": read_value.account,
        "gid": read_value.account,
        "cwd": read_value.line(4_000),
        "env": read_value.environment,
        "kill": read_value.one_of(("none", "parent", "all")),
        "groups": IDS,
        "format": read_value.one_of(get_args(OutputFormat)),
        "timeout": read_value.number(0.1, LONGEST_COMMAND),
        "stock": read_value.yes_or_no,
    }
    plugin = record_reader(Plugin, readers, strict=strict)

    def reader(field: str, value: Any) -> Plugin:
        found: Plugin = plugin(field, value)
        ids = [one.id for one in found.params]
        for place, name in enumerate(ids):
            if name in ids[:place]:
                raise Refused(f"there are two parameters {name!r}", field=f"params[{place}].id")
        if not found.command.strip():
            raise Refused("enter the program to run", field="command")
        return found

    return reader


def _parameter(*, strict: bool) -> Reader:
    readers: dict[str, Reader] = {
        "id": read_value.identifier,
        "type": read_value.one_of(get_args(Parameter.__annotations__["type"])),
        "title": read_value.line(),
        "value": read_value.anything,
        "caption": read_value.text,
        "required": read_value.yes_or_no,
        "locked": read_value.yes_or_no,
        "regex": regex,
        "secret": read_value.yes_or_no,
    }

    def reader(field: str, value: Any) -> Parameter:
        found = read_value.fields(field, read_value.mapping(field, value), readers, strict=strict)
        for name in ("id", "type"):
            if name not in found:
                raise Refused("enter one", field=f"{field}.{name}")
        return Parameter(**found)

    return reader


def _channel(*, strict: bool) -> Reader:
    readers: dict[str, Reader] = {
        **ENABLED,
        "users": NAMES,
        "email": read_value.addresses,
        "url": read_value.url,
        "run_event": read_value.optional_identifier,
        "sound": read_value.line(),
        "max_per_day": read_value.whole(0, LARGEST),
    }
    return record_reader(Channel, readers, strict=strict)


def _tag(*, strict: bool) -> Reader:
    return record_reader(Tag, {**COMMON, "id": _tag_id}, strict=strict)


_BUILDERS: dict[str, Callable[..., Reader]] = {
    "event": _event,
    "category": _category,
    "plugin": _plugin,
    "channel": _channel,
    "tag": _tag,
    "monitor": monitoring_rules.monitor,
    "alert": monitoring_rules.alert,
    "dashboard": dashboard_rules.dashboard,
}
assert set(_BUILDERS) == set(KINDS)
_READERS: dict[bool, dict[str, Reader]] = {
    strict: {kind: build(strict=strict) for kind, build in _BUILDERS.items()}
    for strict in (True, False)
}
