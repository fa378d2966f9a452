"""Definitions as YAML that people read, review and keep under version control.

The order is always the same, nothing that changes by itself is in it, and scripts are blocks of
text. Secrets are masked; a mask that is read back stands for what is stored.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import unified_diff
from typing import Any, Protocol

import msgspec
import yaml  # type: ignore[import-untyped]
from msgspec import Struct

from watchbell.errors import Refused
from watchbell.jobs import aliases, parameters, workflow_params, workflow_rules
from watchbell.jobs.imports.found import ORDER, Found, Gathering, Item
from watchbell.jobs.model import AlertDef, Category, Event, Plugin
from watchbell.jobs.parameters import MASK

PLURALS = {"category": "categories"}
_VOLATILE = ("created", "modified", "revision", "username", "stock")
_LAST = ("x", "y")
"""Where a node is drawn; of least interest to who reads it."""
_WIDEST = 100
_LARGEST = 16 << 20
_OTHER_BREAKS = frozenset("\x85\u2028\u2029")
"""Ends of lines that a block of text would not keep."""


class Known(Protocol):
    @property
    def events(self) -> Mapping[str, Event]: ...
    @property
    def plugins(self) -> Mapping[str, Plugin]: ...


def plural(kind: str) -> str:
    return PLURALS.get(kind, f"{kind}s")


def values(record: Struct, known: Known, *, secrets: bool = False) -> dict[str, Any]:
    """A record as it is in a file."""
    shown = record if secrets else _masked(record, known)
    found = msgspec.json.decode(msgspec.json.encode(shown))
    if isinstance(record, Event) and record.workflow is not None:
        del found["plugin"]
        for wire in found["workflow"].get("connections", ()):
            if wire["id"] == workflow_rules.wire_id(wire["source"], wire["dest"]):
                del wire["id"]
    return {name: each for name, each in found.items() if name not in _VOLATILE}


def _masked(record: Struct, known: Known) -> Struct:
    if isinstance(record, Plugin):
        return parameters.without_secrets(record)
    if isinstance(record, Category):
        return parameters.masked_category(record)
    if isinstance(record, AlertDef):
        actions = parameters.masked_actions(record.actions)
        return msgspec.structs.replace(record, actions=actions)
    if not isinstance(record, Event):
        return record
    workflow = record.workflow and workflow_params.masked(record.workflow, known)
    plugin = known.plugins.get(record.plugin) if workflow is None else None
    if workflow is None:
        timings = tuple(
            msgspec.structs.replace(one, params=parameters.masked(plugin, one.params))
            for one in record.timings
        )
        params = parameters.masked(plugin, record.params)
    else:
        timings, params = record.timings, record.params
    return msgspec.structs.replace(
        record,
        params=params,
        timings=timings,
        actions=parameters.masked_actions(record.actions),
        workflow=workflow,
    )


def dump(found: Mapping[str, Iterable[Mapping[str, Any]]]) -> str:
    """The text of a file with these records, by their kinds."""
    return _dumped({plural(kind): list(found[kind]) for kind in ORDER if kind in found})


def _dumped(value: Mapping[str, Any]) -> str:
    text: str = yaml.dump(
        _ordered(value),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDEST,
    )
    return text


def difference(old: Mapping[str, Any] | None, new: Mapping[str, Any], name: str) -> str:
    """What differs between two versions of a record, as `diff -u` shows it; empty if nothing
    does."""
    before = [] if old is None else _dumped(old).splitlines()
    after = _dumped(new).splitlines()
    return "\n".join(unified_diff(before, after, f"{name}, stored", f"{name}, file", lineterm=""))


def load(text: str) -> Found:
    """What a file defines. Raises Refused."""
    document, kinds = _document(text), {plural(kind): kind for kind in ORDER}
    gathering, places = Gathering(items=[], omissions=[]), dict[tuple[str, str], str]()
    for name, records in document.items():
        if name not in kinds:
            raise Refused(f"{name!r} is no list of definitions; expected {', '.join(kinds)}")
        if not isinstance(records, list):
            raise Refused(f"{name}: expected a list")
        for place, one in enumerate(records):
            field = f"{name}[{place}]"
            item = _item(kinds[name], field, one)
            before = places.setdefault((item.kind, item.values["id"]), field)
            if before != field:
                raise Refused(f"{item.values['id']!r} is defined by {before} already", field=field)
            gathering.items.append(item)
    return gathering.found()


def _document(text: str) -> dict[Any, Any]:
    if len(text) > _LARGEST:
        raise Refused(f"the file is larger than {_LARGEST >> 20} MiB")
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 it derives from the safe one
    except yaml.MarkedYAMLError as error:
        raise Refused(f"it is no valid YAML: {_where(error)}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Refused(f"it is no valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise Refused(f"expected lists named {', '.join(map(plural, ORDER))}")
    return document


def _where(error: Any) -> str:
    mark = error.problem_mark or error.context_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return place + " ".join(str(error.problem or error.context).split())


def _item(kind: str, field: str, value: Any) -> Item:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise Refused("expected an object with an id", field=field)
    return Item(kind, aliases.canonical(kind, value))


def unmasked(value: Any, stored: Any) -> Any:
    """The value with what is stored in place of masks; a mask of nothing is left out."""
    if isinstance(value, dict):
        known = stored if isinstance(stored, dict) else {}
        return {
            name: unmasked(each, known.get(name))
            for name, each in value.items()
            if each != MASK or known.get(name) is not None
        }
    if isinstance(value, list):
        known = _by_name(stored)
        return [unmasked(each, known.get(_name(each, place))) for place, each in enumerate(value)]
    return stored if value == MASK else value


def _by_name(stored: Any) -> dict[object, Any]:
    found = stored if isinstance(stored, list) else []
    return {_name(each, place): each for place, each in enumerate(found)}


def _name(value: Any, place: int) -> object:
    """By what an item of a list is found again."""
    return value["id"] if isinstance(value, dict) and "id" in value else place


def _ordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        names = [name for name in value if name not in _LAST] + [n for n in _LAST if n in value]
        return {name: _ordered(value[name]) for name in names}
    if isinstance(value, list):
        return [_ordered(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:  # noqa: ARG002 as yaml calls it
        return super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else None
    if _OTHER_BREAKS.intersection(value):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: Any, value: list[Any]) -> Any:
    """Short lists of plain values in one line."""
    is_plain = all(not isinstance(one, dict | list) and "\n" not in str(one) for one in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_plain)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Dates, times such as 12:30, numbers with a leading zero, infinities and all keys stay texts,
    no key is there twice, and an anchor is no way to make much of little."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="aliases are not supported", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            key.tag = f"{_TAG}str"
            if key.value in seen:
                reason = f"{key.value!r} is there twice"
                raise yaml.MarkedYAMLError(problem=reason, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


_TAG = "tag:yaml.org,2002:"
_INT = r"[-+]?(?:0|[1-9][0-9_]*|0b[01_]+|0x[0-9a-fA-F_]+)"
_FLOAT = r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
_READ_BY_US = [f"{_TAG}{name}" for name in ("timestamp", "int", "float")]
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag not in _READ_BY_US]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _kind, _pattern in (("float", _FLOAT), ("int", _INT)):
    _whole = re.compile(f"(?:{_pattern})$")
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", _whole, list("-+.0123456789"))
