"""Runs a command that ends when the process that started it ends. A script: no imports of ours.

`python die_with_parent.py PARENT COMMAND…`: the kernel sends SIGTERM to the command when PARENT
dies.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
ALLOCATOR = "libjemalloc.so.2"
"""What the command's memory comes from, where the machine has it. A server without an allocator of
its own spends a third of its time in the C library's; the loader passes over what it can't find."""
CLOCK = "libfaketime"
"""A preloaded clock that the allocator can't be combined with: each waits for the other to start,
and the server hangs."""


def main(parent: int, command: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the kernel was asked
        sys.exit(1)
    inherited = os.environ  # noqa: TID251 it is what the command inherits
    preloaded = inherited.get("LD_PRELOAD", "")
    if CLOCK not in preloaded:
        preloaded = f"{preloaded} {ALLOCATOR}".strip()
    os.execve(  # noqa: S606 an argument list, and no shell
        command[0], command, {**inherited, "LD_PRELOAD": preloaded}
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
