"""Commands as they are said on the channel: what each is called, and what it is told."""

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
    """As the action wants them: a text, a tuple of texts, for `add` a pair of name and definition,
    for `trigger` a pair of name and id."""


def parse(raw: bytes) -> Command:
    """Raises Refused for whatever is no command."""
    if len(raw) > MOST_BYTES:
        raise Refused(f"a command is at most {MOST_BYTES:,} bytes long, this has {len(raw):,}")
    try:
        said = msgspec.json.decode(raw)
    except UNREADABLE as error:
        raise Refused(f"this is not JSON: {error}") from error
    if not isinstance(said, dict) or "action" not in said:
        refuse("a command", "an object with action and args", said)
    action = said["action"]
    if not isinstance(action, str) or action not in _ACTIONS:
        refuse("action", f"one of {', '.join(_ACTIONS)}", action)
    args = _ACTIONS[action](said.get("args"))
    return Command(action, (args, _id(said.get("id"))) if action == "trigger" else args)


def said(action: str, args: Any) -> bytes:
    """The command as it is published."""
    return msgspec.json.encode({"action": action, "args": args})


def triggered(job: str, trigger: str) -> bytes:
    """The command to run a job, with an id for the answer; other programs ignore the id."""
    return msgspec.json.encode({"action": "trigger", "args": job, "id": trigger})


def _id(given: object) -> str:
    """Empty where there is none, or one that we did not make."""
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


def _nothing(args: object) -> None:  # noqa: ARG001 whatever is said with it
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
