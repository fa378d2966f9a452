"""What /proc knows about processes: their children, and the marks that they carry.

For the warden too, so nothing but the standard library is imported.
"""

import contextlib
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

PROC = Path("/proc")
MARKS = ("WB_RUN", "WB_OWNER", "WB_SUPERVISOR", "WB_ESCAPED")
"""Variables that every process of a run inherits."""


def dead_children() -> Iterator[tuple[int, int, resource.struct_rusage]]:
    with contextlib.suppress(ChildProcessError):
        while (found := os.wait4(-1, os.WNOHANG))[0]:
            yield found


def children() -> list[int]:
    """All of our children, where the system knows them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:  # noqa: PTH123
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def marks_of(pid: int) -> dict[str, str]:
    """The marks that a process got at its start, or inherited."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            items = file.read().split(b"\0")
    except OSError:  # it is gone, or somebody else's
        return {}
    pairs = (os.fsdecode(item).partition("=") for item in items if item.startswith(b"WB_"))
    return {name: value for name, _, value in pairs if name in MARKS}


_ENV_END = 47
"""Where the end of the environment is, counted after the state of a process."""


def is_starting(pid: int) -> bool:
    """Whether it is just becoming another program: until then, its environment has no place, and
    what is read of it is empty."""
    try:
        with open(f"/proc/{pid}/environ", "rb"):  # noqa: PTH123 of others' processes nothing is known
            stat = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return False
    state, *rest = stat.rpartition(")")[2].split()
    return state not in "ZX" and rest[_ENV_END] == "0"


def name_of(pid: int) -> str:
    """The program of a process, with its pid."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:  # noqa: PTH123
            return f"{file.read().decode(errors='replace').strip()} ({pid})"
    except OSError:
        return f"({pid})"


def mark_of(pid: int) -> str:
    """Identifies a living process among all that ever have its pid; empty where there is none."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return ""
    state, *rest = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else f"{pid}:{rest[18]}"  # the time at which it began


def own_mark() -> str:
    """The mark of this process, with its pid namespace, in which alone it is valid."""
    return f"{mark_of(os.getpid())}:{_namespace()}"


def is_dead(supervisor: str) -> bool:
    """Whether the process with this `own_mark` has ended; of one in a container that we can look
    into, or whose container we are in, we do not know."""
    mark, _, namespace = supervisor.rpartition(":")
    pid = mark.partition(":")[0]
    return namespace == _namespace() and pid.isdecimal() and mark_of(int(pid)) != mark


def _namespace() -> str:
    try:
        return str((PROC / "self" / "ns" / "pid").stat().st_ino)
    except OSError:
        return ""


def sent(send: Callable[[int, int], None], whom: int, number: int) -> bool:
    """Whether there was a process that we may signal."""
    try:
        send(whom, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


def session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1
