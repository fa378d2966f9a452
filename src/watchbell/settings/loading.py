"""How settings are read: defaults, one TOML file, variables, options; and where each comes from."""

import difflib
import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_origin

import msgspec
from msgspec import Struct

from watchbell.errors import BadSettings
from watchbell.settings.sections import Settings
from watchbell.settings.values import Secret, Tables, decode, expected, in_unit, redacted, shown

PREFIX = "WATCHBELL_"


class Loaded(Struct, frozen=True):
    settings: Settings
    origins: dict[str, str]
    """Setting to where its value comes from, in words."""
    file: Path | None = None
    """The file that was read, if there was one."""

    def shown(self) -> dict[str, str | int]:
        """Each setting with its value as it may be shown to anybody."""
        return {name: _shown(name, _value(self.settings, name)) for name in self.origins}


def as_shown(settings: Settings) -> dict[str, str | int]:
    """Each setting with its value as it may be shown to anybody."""
    return Loaded(settings, dict.fromkeys(dict(_leaves(Settings)), "")).shown()


def environment() -> dict[str, str]:
    return dict(os.environ)


def load(
    file: Path | None, environ: Mapping[str, str], options: Mapping[str, str | None]
) -> Loaded:
    """The effective settings. `options` are dotted names; those with None were not given."""
    leaves = dict(_leaves(Settings))
    values: dict[str, Any] = {"data": str(_data_folder(environ))}
    origins = dict.fromkeys(leaves, "default")
    path = file or (Path(environ[PREFIX + "CONFIG"]) if PREFIX + "CONFIG" in environ else None)
    found = path or next((p for p in _usual_files(environ) if _is_file(p)), None)
    if found is not None:
        for name, value, where in _from_file(found, leaves):
            values[name], origins[name] = value, where
    for name, value, where in _from_environment(environ, leaves):
        values[name], origins[name] = value, where
    for name, option in options.items():
        if option is not None:
            where = f"option --{name.rpartition('.')[2] if name != 'store.url' else 'store'}"
            values[name], origins[name] = _parsed(leaves[name], option, name, where), where
    return Loaded(_built(values, origins), origins, found)


def usual_file(environ: Mapping[str, str]) -> Path:
    """Where the user's own file is looked for."""
    return next(_usual_files(environ))


def _built(values: dict[str, Any], origins: dict[str, str]) -> Settings:
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *sections, leaf = name.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[leaf] = value
    try:
        settings = msgspec.convert(tree, Settings, dec_hook=decode)
    except msgspec.ValidationError as error:
        raise BadSettings(f"the settings contradict each other: {error}") from error
    for name in origins:
        value = _value(settings, name)
        if isinstance(value, Secret):
            value.reveal()
    try:
        data = settings.data.expanduser().absolute()
    except RuntimeError as error:
        raise BadSettings(
            f"{origins['data']}: data is {settings.data}, but there is no such home folder; "
            "name a folder with --data"
        ) from error
    return msgspec.structs.replace(settings, data=data)


def _leaves(struct: type[Struct], above: str = "") -> Iterator[tuple[str, Any]]:
    for one in msgspec.structs.fields(struct):
        name = above + one.name
        if isinstance(one.type, type) and issubclass(one.type, Struct):
            yield from _leaves(one.type, name + ".")
        else:
            yield name, one.type


def _from_file(path: Path, leaves: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"the settings file {path} can't be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadSettings(f"{path} is not valid TOML: {error}") from error
    lines = _lines(text, leaves)
    for name, value in _flattened(table, leaves):
        where = f"{path}, line {lines[name]}"
        if _is_section(name, leaves):
            raise BadSettings(f"{where}: {name} is a section; write [{name}] above its settings")
        if name not in leaves:
            raise BadSettings(f"{where}: there is no setting {name}{_nearest(name, leaves)}")
        yield name, _checked(leaves[name], value, name, where), where


def _flattened(
    table: dict[str, Any], leaves: dict[str, Any], above: str = ""
) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = above + key
        is_section = _is_section(name, leaves)
        if isinstance(value, dict) and name not in leaves and (is_section or value):
            yield from _flattened(value, leaves, name + ".")
        elif not (is_section and isinstance(value, dict)):
            yield name, value


def _is_section(name: str, leaves: dict[str, Any]) -> bool:
    return any(leaf.startswith(name + ".") for leaf in leaves)


def _from_environment(
    environ: Mapping[str, str], leaves: dict[str, Any]
) -> Iterator[tuple[str, Any, str]]:
    variables = {
        PREFIX + name.replace(".", "_").upper(): name
        for name, type_ in leaves.items()
        if type_ is not Tables  # written in the file alone, where a secret can be `env:NAME`
    }
    for variable, value in environ.items():
        if not variable.startswith(PREFIX) or variable == PREFIX + "CONFIG":
            continue
        where = f"environment, {variable}"
        if variable not in variables:
            nearest = _nearest(variable, [*variables, PREFIX + "CONFIG"])
            raise BadSettings(f"{where}: there is no such setting{nearest}")
        name = variables[variable]
        yield name, _parsed(leaves[name], value, name, where), where


def _checked(type_: Any, value: Any, name: str, where: str) -> Any:
    """The value as its section stores it. It is not converted yet: that happens with all others."""
    value = in_unit(type_, value)
    try:
        msgspec.convert(value, type_, dec_hook=decode)
    except msgspec.ValidationError:
        given = "***" if type_ in (Secret, Tables) else _shown(name, value)
        raise BadSettings(
            f"{where}: {name} is {json.dumps(given, default=str)}; expected {expected(type_)}"
        ) from None
    return value


def _parsed(type_: Any, text: str, name: str, where: str) -> Any:
    if get_origin(type_) is tuple:
        return _checked(
            type_, [part.strip() for part in text.split(",") if part.strip()], name, where
        )
    try:
        value = msgspec.convert(in_unit(type_, text), type_, strict=False, dec_hook=decode)
    except msgspec.ValidationError:
        value = text
    return _checked(type_, text if isinstance(value, Secret | Path) else value, name, where)


def _nearest(name: str, names: Mapping[str, Any] | list[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def _lines(text: str, leaves: dict[str, Any]) -> dict[str, int]:
    """The line on which each name of the file is set, found by parsing ever more of its lines."""
    lines = text.split("\n")
    found: dict[str, int] = {}
    begins = 1
    for number, line in enumerate(lines, 1):
        if begins != number or line.strip()[:1] not in ("", "#"):
            try:
                table = tomllib.loads("\n".join(lines[:number]))
            except tomllib.TOMLDecodeError:
                continue  # within a value of several lines
            for name, _ in _flattened(table, leaves):
                found.setdefault(name, begins)
        begins = number + 1
    return found


def _value(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _shown(name: str, value: Any) -> str | int:
    return redacted(str(value)) if name == "store.url" else shown(value)


def _data_folder(environ: Mapping[str, str]) -> Path:
    home = _home(environ)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "watchbell"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "watchbell"


def _usual_files(environ: Mapping[str, str]) -> Iterator[Path]:
    home = _home(environ)
    yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "watchbell" / "watchbell.toml"
    yield Path("/etc/watchbell/watchbell.toml")


def _home(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or "~")
    with suppress(RuntimeError):  # a user without a home, as containers have them
        return home.expanduser()
    return home


def _is_file(path: Path) -> bool:
    with suppress(OSError):  # in a folder that we may not enter
        return path.is_file()
    return False
