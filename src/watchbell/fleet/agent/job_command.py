"""How the process of a job is started: its program, environment and input."""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from watchbell import __version__
from watchbell.errors import Refused
from watchbell.fleet.messages import Order

STOCK = "watchbell-plugin"
"""The program of a stock plugin; its argument is the plugin."""
_PLUGINS = ("http", "hook", "test")
_SHELL = "/bin/sh"
_MOST_VALUE = 100_000
"""Bytes of a variable; no Linux takes more than 128 KiB."""
_MOST_ENVIRONMENT = 1 << 20
_PERMISSIONS = 0o700
_BYTES = 4
"""Of a character, at most."""
_NO_NAME = re.compile(r"\W", re.ASCII)
_encode = msgspec.json.Encoder().encode


def is_shell(job: Mapping[str, Any]) -> bool:
    return str(job.get("command", "")).split() == [STOCK, "shell"]


def reads_messages(job: Mapping[str, Any]) -> bool:
    return not is_shell(job) or _params(job).get("json", True) is not False


def annotates(job: Mapping[str, Any]) -> bool:
    return is_shell(job) and _params(job).get("annotate") is True


def script_of(job: Mapping[str, Any]) -> str:
    """The script that is written to a file for the job."""
    script = _params(job).get("script") if is_shell(job) else job.get("script")
    return script if isinstance(script, str) else ""


def argv(job: Mapping[str, Any], script: Path) -> list[str]:
    """Program and arguments. `script` is where its script is, if it has one."""
    command = job.get("command")
    text = command if isinstance(command, str) else ""
    if is_shell(job):
        content = script_of(job)
        if not content.strip():
            raise Refused("the script is empty")
        return [str(script)] if content.startswith("#!") else [_SHELL, str(script)]
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Refused(f"the command {text!r} can't be read: {error}") from error
    if not words:
        raise Refused("its plugin has no command")
    if words[0] == STOCK:
        words = _stock(words[1:])
    return [*words, str(script)] if script_of(job) else words


def _stock(words: list[str]) -> list[str]:
    if len(words) != 1 or words[0] not in _PLUGINS:
        raise Refused(f"there is no stock plugin {' '.join(words)!r}")
    return [sys.executable, "-P", "-m", f"watchbell.fleet.agent.plugins.{words[0]}"]


def write_script(job: Mapping[str, Any], path: Path) -> None:
    """The file is empty, or has the same content. It is not emptied: ext4 writes a file to the disk
    as soon as it is closed after that."""
    content = script_of(job)
    if content:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, _PERMISSIONS), "wb") as file:
            file.write(content.replace("\r\n", "\n").encode(errors="surrogateescape"))
            os.fchmod(file.fileno(), _PERMISSIONS)


def environment(order: Order, folder: Path, log: Path) -> dict[str, str]:
    """The variables of the job. Ours win over parameters, so that nothing can be forged."""
    job = order.job
    found: dict[str, str] = {}
    data = _mapping(_mapping(job.get("input")).get("data"))
    parent = _mapping(_mapping(job.get("parent")).get("data"))
    for name, value in {**parent, **data}.items():
        found[_name(f"data_{name}")] = _value(value)
    for name, value in _params(job).items():
        found[_name(name)] = _value(value)
    found |= {str(name): _value(value) for name, value in _mapping(job.get("env")).items()}
    found |= order.secrets
    found = _within_limits(found)
    return found | {
        "WATCHBELL": __version__,
        "XYOPS": __version__,
        "JOB_ID": str(job.get("id", "")),
        "JOB_EVENT": str(job.get("event", "")),
        "JOB_LOG": str(log),
        "JOB_NOW": str(int(job.get("now") or 0)),
        "JOB_BASE_URL": order.base_url,
        "PWD": str(folder),
    }


def stdin(order: Order, folder: Path) -> bytes:
    """One line of JSON: the job."""
    more = {
        "xy": 1,
        "type": "event",
        "secrets": order.secrets,
        "base_url": order.base_url,
        "temp_dir": str(folder),
        "activity": None,
    }
    return _encode({**order.job, **more}) + b"\n"


def _params(job: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(job.get("params"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _name(text: str) -> str:
    return text if text.isascii() and text.isidentifier() else _NO_NAME.sub("_", text)


def _value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return value if isinstance(value, str) else _encode(value).decode()


def _within_limits(found: Mapping[str, str]) -> dict[str, str]:
    """Leaves out what no process can get, the longest values first; all are in its input."""
    valid = {name: value for name, value in found.items() if _is_valid(name, value)}
    if sum(map(len, (*valid, *valid.values()))) * _BYTES <= _MOST_ENVIRONMENT:
        return valid
    total = 0
    kept = {}
    for name, value in sorted(valid.items(), key=lambda item: len(item[1])):
        total += len(name) + len(value.encode(errors="surrogateescape"))
        if total <= _MOST_ENVIRONMENT:
            kept[name] = value
    return kept


def _is_valid(name: str, value: str) -> bool:
    if not name or "=" in name or "\0" in name + value or name.startswith("WB_"):
        return False
    if name.isascii() and value.isascii():
        return len(value) <= _MOST_VALUE
    try:
        return len(value.encode(errors="surrogateescape")) <= _MOST_VALUE and bool(name.encode())
    except UnicodeEncodeError:
        return False
