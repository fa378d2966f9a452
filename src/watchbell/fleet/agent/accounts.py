"""Which accounts jobs may run as."""

import grp
import os
import pwd
from collections.abc import Mapping, Sequence
from typing import Any

from watchbell.errors import Refused
from watchbell.fleet.agent.job_folder import JobFolder

_ANY = "*"


def allowed(job: Mapping[str, Any], users: Sequence[str]) -> tuple[str, str]:
    """The account and group that a job runs as, both empty for the agent's own; raises Refused
    unless the settings of this agent allow them."""
    user, group = _name(job.get("uid")), _name(job.get("gid"))
    if not user and not group:
        return "", ""
    entry = _account(user) if user else pwd.getpwuid(os.geteuid())
    is_own = entry.pw_uid == os.geteuid()
    if not is_own and not {_ANY, entry.pw_name, str(entry.pw_uid)} & set(users):
        raise Refused(
            f"this agent runs no jobs as {entry.pw_name}; its setting agent.users has to name it"
        )
    if group:
        gid = _group(group)
        if _ANY not in users and gid not in os.getgrouplist(entry.pw_name, entry.pw_gid):
            raise Refused(f"{entry.pw_name} is not a member of the group {group}")
    return ("" if is_own and not group else entry.pw_name), group


def other_owner(job: Mapping[str, Any]) -> int | None:
    """The account of the job, unless it is the agent's own."""
    user = _name(job.get("uid"))
    try:
        uid = _account(user).pw_uid if user else os.geteuid()
    except Refused:
        return None
    return None if uid == os.geteuid() else uid


def hand_over(user: str, folder: JobFolder) -> None:
    """Lets the account work in the job's folder."""
    entry = _account(user)
    if entry.pw_uid == os.geteuid():
        return
    folder.log.touch(mode=0o600)
    for path in (folder.work, folder.log, folder.script):
        if path.exists():
            os.chown(path, entry.pw_uid, entry.pw_gid)


def _name(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _account(user: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except (KeyError, OverflowError):
        raise Refused(f"this machine has no account {user}") from None


def _group(group: str) -> int:
    try:
        return int(group) if group.isdecimal() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise Refused(f"this machine has no group {group}") from None
