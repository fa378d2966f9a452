"""Check results as Nagios and Icinga write them for graphs: lines of tab-separated fields.

[SERVICEPERFDATA] or [HOSTPERFDATA], time, host, service, state, execution time, latency, output,
performance data and, if there is any, long output in which a newline is written as a backslash
and an n. A latency that is no number is left out: the result matters more.
"""

from watchbell.alerting.event import from_fields, is_number
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.alerting.receivers.hosts import entity_of

HOST_CHECK = "HOST"

_KINDS = ("[HOSTPERFDATA]", "[SERVICEPERFDATA]")
_HOST_STATES = {"up": "ok", "down": "critical", "unreachable": "unknown"}
_FEWEST = 9


def read(line: bytes, now: int) -> CheckEvent | Rejection:
    fields = line.decode(errors="surrogateescape").rstrip("\r\n").split("\t")
    if fields[0] not in _KINDS:
        return Rejection(f"does not begin with {' or '.join(_KINDS)} and a tab")
    if len(fields) < _FEWEST:
        return Rejection(f"has {len(fields)} fields; expected at least {_FEWEST}, cut by tabs")
    kind, time, host, service, state, _, latency, output, perfdata, *rest = fields
    return from_fields(
        {
            "type": "service",
            "state": _HOST_STATES.get(state.lower(), state),
            "entity": entity_of(host),
            "check": HOST_CHECK if kind == "[HOSTPERFDATA]" else service,
            "time": time,
            "summary": output,
            "perfdata": perfdata,
            "details": unescaped("\t".join(rest)),
            "check_latency": latency.strip() if is_number(latency.strip()) else None,
        },
        now,
    )


def unescaped(text: str) -> str:
    return text.replace("\\n", "\n")
