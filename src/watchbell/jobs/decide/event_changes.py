"""Which changes of its event a job may ask for.

The server that runs a job is not trusted with others: a job can't change what its event runs, where
it runs, or what it sets off.
"""

from collections.abc import Mapping
from typing import Any

ALLOWED = frozenset(
    ("enabled", "title", "icon", "notes", "tags", "algo", "limits", "timings", "triggers")
)


def refusal(changes: Mapping[str, Any]) -> str:
    """Why the event is not changed like this; empty if it is."""
    beyond = sorted(changes.keys() - ALLOWED)
    if beyond:
        return f"a job can't change {beyond[0][:100]!r} of its event"
    for name in ("timings", "triggers"):
        timings = changes.get(name)
        for timing in timings if isinstance(timings, list) else ():
            if isinstance(timing, dict) and timing.get("params"):
                return "a job can't change the parameters of its event"
    return ""
