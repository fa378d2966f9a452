"""Validates what people and agents say about servers and groups."""

import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec.structs import fields

from watchbell.alerting import expressions
from watchbell.errors import Refused
from watchbell.fleet import command_values, grouping
from watchbell.fleet.machine_sample import MachineSample
from watchbell.fleet.model import Group, Quick, Sample, Server, ServerInfo

ID = re.compile("[a-z0-9_]{1,50}")
_HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?")
_SERVER_FIELDS = frozenset(
    ("hostname", "title", "icon", "enabled", "groups", "autoGroup", "userData", "maxJobs", "notes")
)
_GROUP_FIELDS = frozenset(
    (
        *("title", "icon", "notes", "hostname_match", "max_jobs_per_server", "sort_order"),
        "alert_actions",
    )
)
_MOST_ACTIONS = 100
_MOST_SLOTS = 10_000
_LONGEST = {"title": 100, "icon": 50, "notes": 20_000, "hostname_match": 500}
_MOST_INFO = 16 << 10
_MOST_USER_DATA = 64 << 10
_MOST_GROUPS = 100
_MOST_FIGURE = 1 << 60
MOST_MACHINE = 2 << 20
"""Bytes of a full sample."""
MOST_QUICK = 60
"""Quick values that are kept of a server: one of each second of a minute."""

_machine = msgspec.msgpack.Decoder(MachineSample)

R = TypeVar("R", Server, Group)
N = TypeVar("N", int, float)


def hostname(text: str) -> str:
    """In lower case, since hostnames ignore it."""
    name = text.strip().rstrip(".").lower()
    if not _HOSTNAME.fullmatch(name):
        raise Refused(f"{text[:100]!r} is no hostname", field="hostname")
    return name


def info(given: ServerInfo) -> ServerInfo:
    if len(msgspec.json.encode(given)) > _MOST_INFO:
        raise Refused(f"what the agent says about its machine is longer than {_MOST_INFO:,} bytes")
    return given


def sample(given: Sample) -> Sample:
    """The sample with figures that can be added up, whatever the agent has sent."""
    figures = msgspec.structs.asdict(given)
    one, five, fifteen = (_figure(each) for each in figures.pop("load"))
    within = {name: _figure(each) for name, each in figures.items()}
    return Sample(**within, load=(one, five, fifteen))


def quick(given: Sequence[Quick], now: float) -> list[Quick]:
    """The newest of these values, by our clock: the last one is of now."""
    kept = given[-MOST_QUICK:]
    if not kept:
        return []
    shift = now - kept[-1].date if isfinite(kept[-1].date) else 0.0
    found = []
    for one in kept:
        _, *values = msgspec.structs.astuple(one)
        date = one.date + shift if isfinite(one.date) else now
        date = round(min(max(date, now - MOST_QUICK), now), 2)
        found.append(Quick(date, *(_figure(value) for value in values)))
    return found


def machine(packed: bytes, hostname: str, now: float) -> MachineSample:
    """A full sample, by our clock. Raises Refused for what is none, whatever an agent has sent."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, MOST_MACHINE)
        if unpacking.unconsumed_tail:
            raise Refused(f"a sample is longer than {MOST_MACHINE >> 10:,} KiB")
        given = _machine.decode(content)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"a sample was not understood: {error}"[:500]) from None
    for output in given.commands.values():
        command_values.check(output)
    return msgspec.structs.replace(given, hostname=hostname, date=round(now, 3))


def _figure(given: N) -> N:
    """0 for what can't be a figure of a machine."""
    return given if 0 <= given < _MOST_FIGURE else type(given)(0)


def changed_server(server: Server, changes: Mapping[str, Any], groups: Collection[str]) -> Server:
    """The server with these fields, by the document's names. Groups that are given are kept, so
    they turn `autoGroup` off."""
    whole = _changed(server, changes, _SERVER_FIELDS)
    if whole.max_jobs is not None and not 0 <= whole.max_jobs <= _MOST_SLOTS:
        raise Refused(f"expected 0 to {_MOST_SLOTS:,}", field="maxJobs")
    if len(msgspec.json.encode(whole.user_data)) > _MOST_USER_DATA:
        raise Refused(f"it is longer than {_MOST_USER_DATA:,} bytes", field="userData")
    whole = msgspec.structs.replace(whole, hostname=hostname(whole.hostname))
    if "groups" not in changes:
        return whole
    chosen = tuple(dict.fromkeys(whole.groups))
    check_groups(chosen, groups)
    is_auto = bool(changes.get("autoGroup", False)) or not chosen
    return msgspec.structs.replace(whole, groups=chosen, auto_group=is_auto)


def check_groups(chosen: Collection[str], known: Collection[str]) -> None:
    if len(chosen) > _MOST_GROUPS:
        raise Refused(f"expected at most {_MOST_GROUPS} groups", field="groups")
    for id_ in chosen:
        if id_ not in known and id_ != grouping.MAIN:
            raise Refused(f"there is no group {id_[:100]!r}", field="groups")


def changed_group(group: Group, changes: Mapping[str, Any]) -> Group:
    whole = _changed(group, changes, _GROUP_FIELDS)
    if not whole.title.strip():
        raise Refused("a group needs a title", field="title")
    if whole.hostname_match:
        check_hostname_match(whole.hostname_match)
    if whole.max_jobs_per_server is not None and not 0 <= whole.max_jobs_per_server <= _MOST_SLOTS:
        raise Refused(f"expected 0 to {_MOST_SLOTS:,}", field="max_jobs_per_server")
    if len(whole.alert_actions) > _MOST_ACTIONS:
        raise Refused(f"expected at most {_MOST_ACTIONS} actions", field="alert_actions")
    return whole


def check_hostname_match(expression: str) -> None:
    try:
        expressions.compiled(expression)
    except Refused as error:
        raise Refused(error.reason, field="hostname_match") from None


def _changed(record: R, changes: Mapping[str, Any], allowed: Collection[str]) -> R:
    kinds = get_type_hints(type(record))
    names = {one.encode_name: one.name for one in fields(record)}
    values: dict[str, Any] = {}
    for field, value in changes.items():
        if field not in allowed:
            raise Refused("there is no such field that can be changed", field=field[:100])
        values[names[field]] = _value(field, value, kinds[names[field]])
    return msgspec.structs.replace(record, **values)


def _value(field: str, value: Any, kind: Any) -> Any:
    try:
        found = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Refused(str(error).replace("`", ""), field=field) from None
    if isinstance(found, str) and len(found) > _LONGEST.get(field, 500):
        raise Refused(f"it is longer than {_LONGEST.get(field, 500):,} characters", field=field)
    return found
