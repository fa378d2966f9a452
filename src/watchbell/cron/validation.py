"""Validates definitions: turns JSON into a job, or into a list of errors."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import msgspec

from watchbell.cron.model import (
    UNREADABLE,
    Daemons,
    DefinitionError,
    Invalid,
    Job,
    Overlap,
    RunOptions,
    parsed,
)
from watchbell.cron.reading import AS_USUAL, Reading
from watchbell.cron.retries import LONGEST_DELAY, MOST_RETRIES
from watchbell.errors import Refused
from watchbell.process.command import LIMITS
from watchbell.schedule import cron_args
from watchbell.schedule.due import Missed
from watchbell.schedule.fields import BadValue, refuse

EVERYBODY = "all"
"""No job may have this name, because it means every job in `pause` and `resume`."""
LONGEST_NAME = 500
LONGEST_CMD = 100_000
"""Bytes; the system accepts no argument longer than 128 KiB."""
LONGEST_TIME = 366 * 86_400
LONGEST_HOST = 253
LONGEST_GRACE = 3_600
"""Seconds from SIGTERM to SIGKILL."""
MOST_NAMES = 100
"""The most hosts, or tags, of one job."""

_NO_OPTIONS = RunOptions()


def read(name: bytes | str, raw: bytes, reading: Reading = AS_USUAL) -> Job | Invalid:
    """Never raises, whatever the bytes."""
    shown = name if isinstance(name, str) else name.decode(errors="backslashreplace")
    try:
        definition = msgspec.json.decode(raw)
    except UNREADABLE as error:
        return Invalid(shown, (_error(Refused(f"the definition is not JSON: {error}")),))
    if not isinstance(definition, dict):
        return Invalid(shown, (_error(Refused("the definition is not a JSON object")),))
    return from_fields(name, definition, reading)


def from_fields(
    name: bytes | str, definition: Mapping[str, Any], reading: Reading = AS_USUAL
) -> Job | Invalid:
    errors: list[DefinitionError] = []
    text = name if isinstance(name, str) else name.decode(errors="backslashreplace")

    def each(part: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return part(*arguments)
        except Refused as error:
            errors.append(_error(error))
            return None

    each(_name, name)
    schedule = each(_schedule, definition.get("cron_args"), reading)
    args = each(_object, "job_args", definition.get("job_args")) or {}
    cmd = each(_cmd, args.get("cmd"))
    lock = each(_lock, args.get("lock"), text)
    ttl = each(_ttl, args.get("ttl"), lock != "")
    state = each(_object, "job_state", definition.get("job_state") or {}) or {}
    is_paused = each(_yes_or_no, "job_state.paused", state.get("paused") or False)
    options = _options(definition.get("watchbell"), each)
    if options.overlap == "queue" and lock == "":
        reason = "a job without a lock can't queue; give it a lock, or use 'skip' or 'allow'"
        errors.append(_error(Refused(reason, field="watchbell.overlap")))
    if errors:
        return Invalid(text, tuple(errors))
    return Job(
        name=text,
        cmd=cmd,
        lock=lock,
        ttl=ttl,
        schedule=schedule,
        fingerprint=_fingerprint(definition["cron_args"], reading),
        is_paused=is_paused,
        options=options,
    )


def _error(error: Refused) -> DefinitionError:
    bare = error.expected if isinstance(error, BadValue) else error.reason
    return DefinitionError(error.field, error.reason, bare)


def _name(name: bytes | str) -> None:
    try:
        raw = name if isinstance(name, bytes) else name.encode()
        text = raw.decode()
    except UnicodeError:
        refuse("name", "UTF-8", name)
    if not text.strip() or not text.isprintable() or len(text) > LONGEST_NAME:
        refuse("name", f"1 to {LONGEST_NAME} printable characters", text)
    if text == EVERYBODY:
        refuse("name", f"another, since {EVERYBODY!r} means every job", text)


def _schedule(value: object, reading: Reading) -> Any:
    if value is None:
        raise Refused("enter when it runs: cronstring or single fields", field="cron_args")
    return cron_args.from_cron_args(
        value, reading.zone, upstream_weekdays=reading.upstream_weekdays
    )


def _fingerprint(cron_args: Mapping[str, Any], reading: Reading) -> str:
    parts = [sorted(cron_args.items()), reading.zone.key, reading.upstream_weekdays]
    return f"{zlib.crc32(msgspec.json.encode(parts)):08x}"


def _object(field: str, value: object) -> Mapping[str, Any]:
    if value is None:
        raise Refused("enter an object", field=field)
    if not isinstance(value, dict):
        refuse(field, "an object", value)
    return value


def _cmd(value: object) -> str:
    if value is None:
        raise Refused("enter the command to run", field="job_args.cmd")
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        refuse("job_args.cmd", "the command to run, as text without NUL", value)
    if len(value.encode()) > LONGEST_CMD:
        refuse("job_args.cmd", f"at most {LONGEST_CMD:,} bytes; put it into a script", value)
    return value


def _lock(value: object, name: str) -> str:
    if value is None:
        raise Refused("enter true, false or the name of a lock", field="job_args.lock")
    if isinstance(value, bool):
        return name if value else ""
    if not isinstance(value, str):
        refuse("job_args.lock", "true, false or the name of a lock", value)
    return value


def _ttl(value: object, is_locked: bool) -> int:
    if value is None:
        raise Refused("enter for how many seconds a dead lock is kept", field="job_args.ttl")
    number = _whole(value)
    least = 1 if is_locked else 0
    if number is None or not least <= number <= LONGEST_TIME:
        refuse("job_args.ttl", f"a whole number of seconds from {least} to {LONGEST_TIME}", value)
    return number


def _whole(value: object) -> int | None:
    """Also accepts text, and a number such as 60.0, as instances of Cronken do."""
    if isinstance(value, str) and len(value) < 20 and value.strip().isdecimal():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _yes_or_no(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        refuse(field, "true or false", value)
    return value


def _options(given: object, each: Callable[..., Any]) -> RunOptions:
    if given is None:
        return _NO_OPTIONS
    parts = each(_object, "watchbell", given) or {}
    read = {}
    for name, value in parts.items():
        reader = _OPTIONS.get(name)
        if reader is None:
            each(refuse, "watchbell", f"only {', '.join(_OPTIONS)}", name)
        elif value is not None or name == "linger":
            read[name] = each(reader, f"watchbell.{name}", value)
    return RunOptions(**read)


def _one_of(words: tuple[str, ...]) -> Callable[[str, object], str]:
    def reader(field: str, value: object) -> str:
        if not isinstance(value, str) or value not in words:
            refuse(field, f"one of {', '.join(words)}", value)
        return value

    return reader


def _number(least: float, most: float) -> Callable[[str, object], float]:
    def reader(field: str, value: object) -> float:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= most
        ):
            refuse(field, f"a number of seconds from {least:g} to {most:g}", value)
        return value

    return reader


def _factor(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 100:
        refuse(field, "a number from 1 to 100", value)
    return value


def _names(field: str, value: object) -> tuple[str, ...]:
    """Sorts the names, and removes duplicates."""
    if not isinstance(value, list) or len(value) > MOST_NAMES or not all(map(_is_name, value)):
        refuse(field, f"a list of at most {MOST_NAMES} names without spaces and commas", value)
    return tuple(sorted(set(value)))


def _is_name(value: object) -> bool:
    fits = isinstance(value, str) and 0 < len(value) <= LONGEST_HOST and value.isprintable()
    return fits and not set(str(value)) & {" ", ","}


def _integer(least: int, most: int) -> Callable[[str, object], int]:
    def reader(field: str, value: object) -> int:
        number = _whole(value)
        if number is None or not least <= number <= most:
            refuse(field, f"a whole number from {least} to {most}", value)
        return number

    return reader


def _linger(field: str, value: object) -> float | None:
    return None if value is None else _number(0, LONGEST_TIME)(field, value)


def _text(field: str, value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        refuse(field, "text without NUL", value)
    return value


def _environment(field: str, value: object) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(map(_is_variable, value.items())):
        refuse(field, "an object of names and texts, without = in a name", value)
    return value


def _is_variable(item: tuple[str, object]) -> bool:
    name, value = item
    fits = isinstance(value, str) and "\0" not in name + value
    return fits and bool(name) and "=" not in name


def _limits(field: str, value: object) -> Mapping[str, int]:
    if not isinstance(value, dict) or not set(value) <= set(LIMITS):
        refuse(field, f"an object with some of {', '.join(LIMITS)}", value)
    return dict(_each_limit(field, value))


def _each_limit(field: str, limits: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    for name, value in limits.items():
        yield name, _integer(0, (1 << 63) - 1)(f"{field}.{name}", value)


_OPTIONS: dict[str, Callable[[str, object], Any]] = {
    "alert": _yes_or_no,
    "missed": _one_of(get_args(Missed)),
    "grace": _integer(0, LONGEST_TIME),
    "overlap": _one_of(get_args(Overlap)),
    "time_limit": _number(0.001, LONGEST_TIME),
    "kill_after": _number(0, LONGEST_GRACE),
    "linger": _linger,
    "daemons": _one_of(get_args(Daemons)),
    "environment": _environment,
    "folder": _text,
    "user": _text,
    "group": _text,
    "nice": _integer(-20, 19),
    "limits": _limits,
    "output_limit": _integer(1, 1_024),
    "retries": _integer(0, MOST_RETRIES),
    "retry_delay": _number(1, LONGEST_DELAY),
    "retry_factor": _factor,
    "hosts": _names,
    "tags": _names,
}


def with_state(raw: bytes, **state: object) -> bytes | None:
    """The definition with these values in its `job_state`; a value of None removes its field.

    Returns None if nothing would change, or `job_state` is not an object.
    """
    definition: Any = parsed(raw, object)
    known = definition.get("job_state") or {} if isinstance(definition, dict) else None
    if not isinstance(known, dict):
        return None
    new = {name: value for name, value in (known | state).items() if value is not None}
    if new == known:
        return None
    definition["job_state"] = new
    if not new:
        del definition["job_state"]
    return msgspec.json.encode(definition)
