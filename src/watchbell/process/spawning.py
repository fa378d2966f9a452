"""Starting one process with its settings. Used by the warden, so standard library only.

Popen uses vfork, which costs what posix_spawn does, unless something is to be done before the
command begins; then it forks, which from a process as small as the warden costs a millisecond.
"""

import errno
import grp
import os
import pwd
import resource
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

Steps = list[tuple[str, Callable[[], object]]]


def spawned(wish: dict[str, Any], environment: dict[str, str], given: int, output: int) -> int:
    """The pid of a new process that leads a session of its own."""
    steps = changes(wish)
    told, tell = os.pipe() if steps else (-1, -1)

    def change() -> None:
        for what, step in steps:
            try:
                step()
            except (OSError, ValueError) as error:  # ValueError is how a limit is refused
                os.write(tell, f"{getattr(error, 'errno', errno.EPERM)} {what}".encode())
                raise

    try:
        process = subprocess.Popen(
            wish["argv"],
            stdin=given,
            stdout=output,
            stderr=output,
            cwd=wish["folder"] or None,
            umask=-1 if wish["umask"] is None else wish["umask"],
            env=environment,
            start_new_session=True,
            close_fds=False,  # none is inheritable
            preexec_fn=change if steps else None,  # noqa: PLW1509 without it, vfork is used
        )
    except subprocess.SubprocessError:
        number, _, what = os.read(told, 1 << 12).decode().partition(" ")
        raise OSError(int(number), os.strerror(int(number)), what) from None
    finally:
        if steps:
            os.close(told)
            os.close(tell)
    process.returncode = 0  # `wait4` will tell; `Popen` need not ask
    return process.pid


def changes(wish: dict[str, Any]) -> Steps:
    """The steps of a process before it becomes the command, each with its name."""
    steps: Steps = []
    for name, most in wish["limits"].items():
        which = getattr(resource, f"RLIMIT_{name.upper()}")
        steps.append((f"limit {name}", partial(resource.setrlimit, which, (most, most))))
    if wish["nice"] is not None:
        become = partial(os.setpriority, os.PRIO_PROCESS, 0, wish["nice"])
        steps.append((f"nice {wish['nice']}", become))
    gid = None
    if wish["group"]:
        gid = looked_up("group", wish["group"], grp.getgrnam, grp.getgrgid).gr_gid
    if wish["user"]:
        return steps + user_changes(account(wish["user"]), gid)
    if gid is not None:
        steps.append((f"group {gid}", partial(os.setgid, gid)))
    return steps


def user_changes(entry: pwd.struct_passwd, gid: int | None) -> Steps:
    name, uid = entry.pw_name, entry.pw_uid
    gid = entry.pw_gid if gid is None else gid
    if (uid, gid) == (os.geteuid(), os.getegid()):
        return []
    return [
        (f"groups of user {name}", partial(os.setgroups, os.getgrouplist(name, gid))),
        (f"group {gid}", partial(os.setgid, gid)),
        (f"user {name}", partial(os.setuid, uid)),
    ]


def account(user: str) -> pwd.struct_passwd:
    entry: pwd.struct_passwd = looked_up("user", user, pwd.getpwnam, pwd.getpwuid)
    return entry


def looked_up(
    kind: str, name: str, by_name: Callable[[str], Any], by_number: Callable[[int], Any]
) -> Any:
    try:
        return by_number(int(name)) if name.isdecimal() else by_name(name)
    except (KeyError, OverflowError):
        raise OSError(0, f"there is no such {kind}", f"{kind} {name}") from None


def reason(error: OSError) -> str:
    if error.errno == errno.E2BIG:
        return "its arguments and environment are too long"
    name = error.filename or ""
    if error.errno == errno.ENOENT and "/" in name and os.path.isfile(name):  # noqa: PTH113
        return "the interpreter that its first line names does not exist"
    return error.strerror or str(error)
