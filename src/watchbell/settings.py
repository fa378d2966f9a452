"""The settings: defaults, one TOML file, WATCHBELL_* variables, options; the later win."""

import difflib
import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import unquote_plus

import msgspec
from msgspec import Meta, Struct, field

from watchbell.errors import BadSettings

PREFIX = "WATCHBELL_"

Port = Annotated[int, Meta(ge=0, le=65535)]
Fault = Annotated[str, Meta(pattern="^([^:]+(:[1-9][0-9]{0,8})?)?$", title="NAME or NAME:N")]


class Secret:
    """A value that is never shown: given as it is, or by reference as `file:PATH` or `env:NAME`."""

    __slots__ = ("reference",)

    def __init__(self, reference: str = "") -> None:
        self.reference = reference

    def __bool__(self) -> bool:
        return bool(self.reference)

    def __repr__(self) -> str:
        return f"Secret({self.shown()!r})"

    def shown(self) -> str:
        by_reference = self.reference.startswith(("file:", "env:"))
        return self.reference if by_reference else "***" if self else ""

    def reveal(self) -> str:
        kind, _, name = self.reference.partition(":")
        if kind == "file":
            try:
                value = Path(name).expanduser().read_text(encoding="utf-8").strip()
            except UnicodeDecodeError:
                raise BadSettings(f"the secret {self.reference} is not UTF-8 text") from None
            except (OSError, RuntimeError, ValueError) as error:
                raise BadSettings(f"the secret {self.reference} can't be read: {error}") from error
        elif kind == "env":
            if name not in os.environ:
                raise BadSettings(f"the secret {self.reference} names a variable that is not set")
            value = os.environ[name]
        else:
            return self.reference
        if not value:
            raise BadSettings(f"the secret {self.reference} is empty")
        return value


class Store(Struct, frozen=True, kw_only=True):
    url: str = ""
    """Where the store is; empty for the embedded one."""
    port: Port = 6380
    """The loopback port of the embedded store; 0 for none, so that only its Unix socket serves."""
    password: Secret = field(default_factory=Secret)
    """Asked for by the embedded store, or given to the one at `url` where the URL has none."""
    appendfsync: Literal["everysec", "always"] = "everysec"
    """How soon the embedded store's writes are on disk: within a second, or before each answer."""
    max_memory: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    """MiB that the embedded store may use before it refuses writes; 0 for no limit."""

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["url"] = redacted(self.url)
        return f"Store({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class Log(Struct, frozen=True, kw_only=True):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "text", "json"] = "auto"
    """`auto` is text on a terminal and JSON elsewhere."""


Seconds = Annotated[int, Meta(ge=0, le=1 << 40)]


class Alerting(Struct, frozen=True, kw_only=True):
    initial_failure_delay: Seconds = 30
    """Seconds a failure must last before anybody is told."""
    repeat_failure_delay: Seconds = 60
    """Seconds before the same failure is told again."""
    initial_recovery_delay: Seconds = 0
    """Seconds a recovery must last before anybody is told."""
    new_check_maintenance: Seconds = 0
    """Seconds of scheduled maintenance that a check begins its life with."""
    new_check_ignore_tags: tuple[str, ...] = ()
    """Tags with which a new check begins its life without maintenance."""
    timezone: str = "UTC"
    """The time zone of contacts that have none."""
    archive: bool = True
    """Whether copies of events are kept for a while."""
    archive_seconds: Seconds = 10_800
    """How long."""
    rejected_days: Annotated[int, Meta(ge=1, le=36_500)] = 7
    """Days for which rejected events are kept."""
    history_days: Annotated[int, Meta(ge=1, le=36_500)] = 365
    """Days for which changes of state, maintenance and notifications are kept."""
    history_changes: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Changes of state that are kept of each check, at the most."""
    alert_days: Annotated[int, Meta(ge=1, le=36_500)] = 90
    """Days for which alerts are kept."""


class Settings(Struct, frozen=True, kw_only=True):
    data: Path
    """The folder of the embedded store and of everything else that is kept on this machine."""
    store: Store = field(default_factory=Store)
    log: Log = field(default_factory=Log)
    alerting: Alerting = field(default_factory=Alerting)
    fault: Fault = ""
    """For tests of survival: a probe point, `NAME` or `NAME:N`, at which a process kills itself."""


class Loaded(Struct, frozen=True):
    settings: Settings
    origins: dict[str, str]
    """Setting to where its value comes from, in words."""

    def shown(self) -> dict[str, str | int]:
        """Each setting with its value as it may be shown to anybody."""
        return {name: _shown(name, _value(self.settings, name)) for name in self.origins}


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
    return Loaded(_built(values, origins), origins)


def redacted(url: str) -> str:
    """The URL without its passwords, also where it is none that could be used."""
    scheme, separator, rest = url.partition("://")
    if not separator or ":" in scheme or "@" in scheme:
        scheme, separator, rest = "", "", url
    rest, mark, query = rest.partition("?")
    if "@" in query:  # a password with a bare ? in it, perhaps
        return f"{scheme}{separator}***"
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    options = "&".join(map(_option_shown, query.split("&")))
    return f"{scheme}{separator}{user}{':***' if colon else ''}{at}{place}{mark}{options}"


def _option_shown(option: str) -> str:
    name, equals, value = option.partition("=")
    return f"{name}{equals}{'***' if 'password' in unquote_plus(name) else value}"


def _built(values: dict[str, Any], origins: dict[str, str]) -> Settings:
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *sections, leaf = name.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[leaf] = value
    try:
        settings = msgspec.convert(tree, Settings, dec_hook=_decode)
    except msgspec.ValidationError as error:
        raise BadSettings(f"the settings don't fit together: {error}") from error
    for name in origins:
        value = _value(settings, name)
        if isinstance(value, Secret):
            value.reveal()
    try:
        data = settings.data.expanduser().absolute()
    except RuntimeError as error:
        raise BadSettings(
            f"{origins['data']}: data is {settings.data}, and nobody knows that home; "
            "choose a folder with --data"
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
        raise BadSettings(f"{path}: this is not TOML: {error}") from error
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
    variables = {PREFIX + name.replace(".", "_").upper(): name for name in leaves}
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
    """The value itself, once it is known to fit: it is converted with all the others."""
    try:
        msgspec.convert(value, type_, dec_hook=_decode)
    except msgspec.ValidationError:
        given = _shown(name, value) if type_ is not Secret else "***"
        raise BadSettings(
            f"{where}: {name} is {json.dumps(given, default=str)}; expected {_expected(type_)}"
        ) from None
    return value


def _parsed(type_: Any, text: str, name: str, where: str) -> Any:
    if get_origin(type_) is tuple:
        return _checked(
            type_, [part.strip() for part in text.split(",") if part.strip()], name, where
        )
    try:
        value = msgspec.convert(text, type_, strict=False, dec_hook=_decode)
    except msgspec.ValidationError:
        value = text
    return _checked(type_, text if isinstance(value, Secret | Path) else value, name, where)


def _decode(type_: type, value: Any) -> Any:
    if type_ is Secret and isinstance(value, str):
        return Secret(value)
    if type_ is Path and isinstance(value, str) and value and "\0" not in value:
        return Path(value)
    raise msgspec.ValidationError(f"not a {type_.__name__.lower()}")


def _expected(type_: Any) -> str:
    if get_origin(type_) is Literal:
        return "one of " + ", ".join(get_args(type_))
    if get_origin(type_) is Annotated:
        base, *rest = get_args(type_)
        limits = next(meta for meta in rest if isinstance(meta, Meta))
        return limits.title or f"{_expected(base)} from {limits.ge} to {limits.le}"
    words: dict[Any, str] = {
        int: "a whole number",
        str: "text",
        bool: "true or false",
        Path: "a path",
        Secret: "text, file:PATH or env:NAME",
        tuple[str, ...]: "a list of texts",
    }
    return words.get(type_, str(type_))


def _nearest(name: str, names: Mapping[str, Any] | list[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def _lines(text: str, leaves: dict[str, Any]) -> dict[str, int]:
    """The line on which each name of the file is set: the text is read again, ever more of it."""
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
    if isinstance(value, Secret):
        return value.shown()
    if name == "store.url":
        return redacted(str(value))
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    # A path may have bytes that are not text.
    return value if isinstance(value, int) else str(value).encode(errors="replace").decode()


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
