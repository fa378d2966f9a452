"""Commands on the channel: their names, their arguments, and their JSON."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.cron.model import UNREADABLE
from watchbell.errors import Refused
from watchbell.schedule.fields import refuse

MOST_BYTES = 8 << 20


class Command(Struct, frozen=True):
    action: str
    args: Any
    """Depends on the action: text, a tuple of texts, name and definition for `add`, name and id for
    `trigger`."""


def parse(raw: bytes) -> Command:
    """Raises Refused for anything that is not a command."""
    if len(raw) > MOST_BYTES:
        raise Refused(f"a command has at most {MOST_BYTES:,} bytes, not {len(raw):,}")
    try:
        command = msgspec.json.decode(raw)
    except UNREADABLE as error:
        raise Refused(f"the command is not JSON: {error}") from error
    if not isinstance(command, dict) or "action" not in command:
        refuse("command", "an object with action and args", command)
    action = command["action"]
    if not isinstance(action, str) or action not in _ACTIONS:
        refuse("action", f"one of {', '.join(_ACTIONS)}", action)
    args = _ACTIONS[action](command.get("args"))
    return Command(action, (args, _id(command.get("id"))) if action == "trigger" else args)


def encoded(action: str, args: Any) -> bytes:
    """The command as it is published."""
    return msgspec.json.encode({"action": action, "args": args})


def encoded_trigger(job: str, trigger: str) -> bytes:
    """The command to run a job, with an id for the answer; other programs ignore the id."""
    return msgspec.json.encode({"action": "trigger", "args": job, "id": trigger})


def _id(given: object) -> str:
    """Empty if there is none, or it does not have the form of our ids."""
    return given if isinstance(given, str) and re.fullmatch(r"\w{1,64}", given) else ""


def _name(args: object) -> str:
    if not isinstance(args, str) or not args:
        refuse("args", "a name", args)
    return args


def _names(args: object) -> tuple[str, ...]:
    if isinstance(args, str):
        return (args,)
    if not isinstance(args, list) or not all(isinstance(name, str) for name in args):
        refuse("args", "an array of names", args)
    return tuple(args)


def _job(args: object) -> tuple[str, bytes]:
    if not isinstance(args, dict):
        refuse("args", "an object with job_name and job_def", args)
    definition = args.get("job_def")
    if not isinstance(definition, dict):
        refuse("args.job_def", "an object", definition)
    return _name(args.get("job_name")), msgspec.json.encode(definition)


def _nothing(args: object) -> None:  # noqa: ARG001 whatever comes with it
    return None


_ACTIONS: dict[str, Callable[[object], Any]] = {
    "pause": _name,
    "resume": _name,
    "terminate_run": _name,
    "kill_run": _name,
    "add": _job,
    "remove": _name,
    "reload": _nothing,
    "trigger": _name,
    "validate": _names,
    "drain_nodes": _names,
}
