"""The settings: defaults, one TOML file, WATCHBELL_* variables, options; the later win."""

import difflib
import json
import os
import re
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


class Tables:
    """Named tables whose fields a later floor knows. Until that one reads them nothing of their
    content is shown, since any of it may be a secret."""

    __slots__ = ("content",)

    def __init__(self, content: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.content = content or {}

    def __repr__(self) -> str:
        return f"Tables({', '.join(self.content)})"


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


class Delivery(Struct, frozen=True, kw_only=True):
    give_up_hours: Annotated[int, Meta(ge=1, le=8_760)] = 24
    """Hours for which an alert that can't be delivered is tried again."""
    failed_days: Annotated[int, Meta(ge=1, le=36_500)] = 30
    """Days for which alerts that were given up are kept."""
    templates: str = ""
    """The folder of templates that take the place of the built-in ones."""
    link_url: str = ""
    """Where people reach the page on `link_port`; with it, messages have links to acknowledge."""
    link_port: Port = 0
    """The loopback port of the page on which a link is confirmed; 0 for none."""


class Oobetet(Struct, frozen=True, kw_only=True):
    check: str = ""
    """The check, ENTITY:CHECK, of which problems and recoveries must come through."""
    max_latency: Annotated[int, Meta(ge=1, le=86_400)] = 300
    """Seconds within which one of each must come."""
    medium: str = "jabber"
    """The medium whose account listens in `room`."""
    room: str = ""
    """The room in which alerts are heard."""
    listen: str = "127.0.0.1"
    """The address on which webhooks are received, in place of a room."""
    port: Port = 0
    """The port of these; 0 for none."""
    secret: Secret = field(default_factory=Secret)
    """What they are signed with; without one, nothing is asked for."""
    alarm_medium: str = ""
    """The medium by which the alarm is raised."""
    alarm_address: str = ""
    """Whom it reaches."""


class Cron(Struct, frozen=True, kw_only=True):
    capacity: Annotated[int, Meta(ge=1, le=10_000)] = 100
    """Runs that an instance has at once, at the most."""
    job_shell: str = "/bin/bash"
    """The shell that is given each command."""
    timezone: str = "UTC"
    """The time zone of schedules that name none."""
    missed_grace: Seconds = 60
    """Seconds by which a fire may be late and be run all the same."""
    kill_after: Annotated[int, Meta(ge=0, le=3_600)] = 10
    """Seconds from SIGTERM to SIGKILL for a run that has to end."""
    stop_wait: Annotated[int, Meta(ge=0, le=86_400)] = 10
    """Seconds that runs are given to end by themselves when their instance is stopped."""
    orphans: Literal["end", "adopt"] = "end"
    """What becomes of the runs of an instance that was killed: they are ended, or go on and are
    adopted by the next instance with the same data folder."""
    heartbeat: Annotated[int, Meta(ge=1, le=3_600)] = 30
    """Seconds between signs of life; a run without one for half as long again is frozen."""
    output_limit: Annotated[int, Meta(ge=1, le=1_024)] = 10
    """MiB up to which a run's output is complete; then the newest lines are kept."""
    last_lines: Annotated[int, Meta(ge=1, le=1_000)] = 10
    """Lines of its output that are kept with a run's result."""
    results: Annotated[int, Meta(ge=1, le=10_000_000)] = 10_000
    """Successes, and failures, that are listed over all jobs."""
    job_results: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Successes, and failures, that are kept of each job."""
    upstream_data: bool = False
    """Whether runs are written as instances of Cronken write them."""
    upstream_weekdays: bool = False
    """Whether 0 is Monday in a cronstring, as it is for instances of Cronken."""


class Web(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    """The address on which pages and API are served."""
    port: Port = 8180
    """The port of these; 0 for none."""
    url: str = ""
    """Where people reach them, for links; empty for host and port as they are."""
    tls_cert: str = ""
    """The file of a TLS certificate with its chain; without one, plain HTTP is spoken."""
    tls_key: str = ""
    """The file of its key."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` and `-Proto` are believed."""
    session_idle_hours: Annotated[int, Meta(ge=1, le=8_760)] = 12
    """Hours without a request after which somebody has to sign in again."""
    session_days: Annotated[int, Meta(ge=1, le=365)] = 7
    """Days after which they have to in any case."""
    intake_rate: Annotated[int, Meta(ge=0, le=10_000_000)] = 20_000
    """Check events a second that one API key may post, over ten seconds; 0 for no limit."""
    sns_topics: tuple[str, ...] = ()
    """ARNs of the SNS topics that are taken, and confirmed by themselves; `*` stands for anything.
    Without any, all are taken that somebody confirmed."""
    sns_hosts: tuple[str, ...] = ()
    """Hosts, with their ports, that stand in for Amazon's SNS and are believed as it is."""


class Settings(Struct, frozen=True, kw_only=True):
    data: Path
    """The folder of the embedded store and of everything else that is kept on this machine."""
    store: Store = field(default_factory=Store)
    log: Log = field(default_factory=Log)
    alerting: Alerting = field(default_factory=Alerting)
    delivery: Delivery = field(default_factory=Delivery)
    oobetet: Oobetet = field(default_factory=Oobetet)
    cron: Cron = field(default_factory=Cron)
    web: Web = field(default_factory=Web)
    gateways: Tables = field(default_factory=Tables)
    """A table for each medium by which people are told."""
    fault: Fault = ""
    """For tests of survival: a probe point, `NAME` or `NAME:N`, at which a process kills itself."""


class Loaded(Struct, frozen=True):
    settings: Settings
    origins: dict[str, str]
    """Setting to where its value comes from, in words."""

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
        settings = msgspec.convert(tree, Settings, dec_hook=decode)
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
    """The value itself, once it is known to fit: it is converted with all the others."""
    try:
        msgspec.convert(value, type_, dec_hook=decode)
    except msgspec.ValidationError:
        given = "***" if type_ in (Secret, Tables) else _shown(name, value)
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
        value = msgspec.convert(text, type_, strict=False, dec_hook=decode)
    except msgspec.ValidationError:
        value = text
    return _checked(type_, text if isinstance(value, Secret | Path) else value, name, where)


def decode(type_: type, value: Any) -> Any:
    """The hook with which msgspec makes our own types; see its `dec_hook`."""
    if type_ is Secret and isinstance(value, str):
        return Secret(value)
    if type_ is Path and isinstance(value, str) and value and "\0" not in value:
        return Path(value)
    if type_ is Tables and isinstance(value, dict) and all(map(_is_table, value.items())):
        return Tables(value)
    raise msgspec.ValidationError(f"not a {type_.__name__.lower()}")


def _is_table(item: tuple[str, Any]) -> bool:
    return re.fullmatch("[a-z][a-z0-9_]*", item[0]) is not None and isinstance(item[1], dict)


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
        Tables: "tables, each with a name of small letters, digits and _",
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
    return redacted(str(value)) if name == "store.url" else shown(value)


def shown(value: Any) -> str | int:
    """A value as it may be shown to anybody."""
    if isinstance(value, Secret):
        return value.shown()
    if isinstance(value, Tables):
        return ", ".join(value.content)
    if isinstance(value, tuple | list):
        return ", ".join(str(shown(one)) for one in value)
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
