"""The end of this process."""

import os
import sys
from contextlib import suppress
from typing import NoReturn


def end_process(code: int) -> NoReturn:
    """Ends the process at once, when everything of ours is over. Before Python 3.14, a thread of a
    library (obstore has some) that touches Python while that is taken down aborts the process."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, full, or not there at all
            stream.flush()
    os._exit(code)
