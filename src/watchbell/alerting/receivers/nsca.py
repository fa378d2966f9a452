"""Passive check results as they are written to the command pipe of Nagios.

`[TIME] PROCESS_SERVICE_CHECK_RESULT;HOST;SERVICE;CODE;OUTPUT`, and the same without SERVICE for
PROCESS_HOST_CHECK_RESULT. OUTPUT is what a plugin prints: a line, performance data after a bar,
further lines after a backslash and an n.
"""

import re

from watchbell.alerting.event import from_fields
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.alerting.receivers.hosts import entity_of
from watchbell.alerting.receivers.nagios import HOST_CHECK, unescaped

# The arguments before the output, by command.
_ARGUMENTS = {"PROCESS_SERVICE_CHECK_RESULT": 3, "PROCESS_HOST_CHECK_RESULT": 2}
_SERVICE_STATES = {0: "ok", 1: "warning", 2: "critical"}
_HOST_STATES = {0: "ok", 1: "critical"}  # up and down; 2 is unreachable
_LINE = re.compile(r"\[([0-9]+)\][ \t]*([A-Z_]+)(?:;(.*))?", re.DOTALL)
_CODE = re.compile(r"\s*-?[0-9]{1,9}\s*")


def read(line: bytes, now: int) -> CheckEvent | Rejection:
    found = _LINE.fullmatch(line.decode(errors="surrogateescape").rstrip("\r\n"))
    if not found:
        return Rejection("is not a command of the form [TIME] COMMAND;ARGUMENT;…")
    time, command, rest = found[1], found[2], found[3] or ""
    if command not in _ARGUMENTS:
        return Rejection(f"{command[:60]} is none of {', '.join(_ARGUMENTS)}")
    count = _ARGUMENTS[command]
    arguments = rest.split(";", count)
    if len(arguments) < count:
        return Rejection(f"{command} has {len(arguments)} arguments; expected at least {count}")
    is_host = count == 2
    host, service = arguments[0], HOST_CHECK if is_host else arguments[1]
    code = arguments[count - 1]
    if not _CODE.fullmatch(code):
        return Rejection(f"the code is {code[:60]!r}; expected 0, 1, 2 or 3")
    states = _HOST_STATES if is_host else _SERVICE_STATES
    summary, perfdata, details = output_of(arguments[count] if len(arguments) > count else "")
    return from_fields(
        {
            "type": "service",
            "state": states.get(int(code), "unknown"),  # so Nagios takes a code it has no word for
            "entity": entity_of(host),
            "check": service,
            "time": time,
            "summary": summary,
            "perfdata": perfdata,
            "details": details,
        },
        now,
    )


def output_of(text: str) -> tuple[str, str, str]:
    """Summary, performance data and details of what a plugin printed."""
    first, _, rest = text.partition("\\n")
    summary, _, perfdata = first.partition("|")
    details, _, more = rest.partition("|")
    return summary, " ".join([*perfdata.split(), *unescaped(more).split()]), unescaped(details)
