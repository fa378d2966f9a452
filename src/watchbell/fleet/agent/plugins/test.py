"""The stock plugin `testplug`: runs for a while and ends as asked, to try out events.

Parameters: duration (seconds), progress (whether to report it), burn (whether to use a CPU core),
action (Success, Warning, Critical, Error or Crash).
"""

import math
import os
import sys
import time

from watchbell.clock import SYSTEM
from watchbell.fleet.agent.plugins import job_input
from watchbell.fleet.agent.plugins.job_input import finish, is_on, send

_USUAL_DURATION = 10.0
_TICK = 0.1


def main() -> None:
    given = job_input.params(job_input.read())
    seconds = job_input.number(given.get("duration"), _USUAL_DURATION)
    begun = SYSTEM.monotonic()
    print(f"This test runs for {seconds:g} s.", flush=True)
    while (passed := SYSTEM.monotonic() - begun) < seconds:
        if is_on(given.get("progress")):
            send(progress=round(passed / seconds, 3))
        _spend(min(_TICK, seconds - passed), burns=is_on(given.get("burn")))
    print("The test is over.", flush=True)
    _end(str(given.get("action") or "Success"))


def _spend(seconds: float, *, burns: bool) -> None:
    if not burns:
        time.sleep(seconds)
        return
    until = SYSTEM.monotonic() + seconds
    while SYSTEM.monotonic() < until:
        math.factorial(500)


def _end(action: str) -> None:
    match action.lower():
        case "warning":
            finish("warning", "This is a test warning.")
        case "critical":
            finish("critical", "This is a test of a critical error.")
        case "error":
            finish(999, "This is a test error.")
        case "crash":
            print("The test crashes now.", file=sys.stderr, flush=True)
            os.abort()
        case _:
            finish(0, "Success!")


if __name__ == "__main__":
    main()
