"""Python's sleep under libfaketime: `suite.py --at` puts this folder on PYTHONPATH.

libfaketime 0.9.10 takes a deadline of monotonic time for one of the wall clock, and
`clock_nanosleep`, which `time.sleep` calls, fails with EINVAL. `select` waits for a span.
"""

import select
import time


def sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = sleep  # type: ignore[assignment]
