"""Runs a command that ends when the process that started it ends. A script: no imports of ours.

`python tether.py PARENT COMMAND…`: the kernel sends SIGTERM to the command when PARENT dies.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the kernel was asked
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 an argument list, and no shell


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
