"""A process that starts the children of one supervisor, and answers for them.

It is small, the standard library and five modules of ours, so a process is started from it at
little cost however large the supervisor is. All that runs descends from it, and what loses its
parent becomes its child (it is a subreaper): nothing gets away unseen. When the supervisor dies, in
whatever way, the warden ends everything, and then itself.

Requests, a JSON list a line, and answers:
  start NUMBER WISH      started NUMBER PID, or failed NUMBER WHAT REASON; with the request come
                         descriptors of the output and of the input
                         exited NUMBER STATUS SECONDS USER SYSTEM PEAK LEFT, as the main process
                         ends; where LEFT, other processes of the run go on
                         gone NUMBER USER SYSTEM PEAK, once none of them does
  signal NUMBER SIGNAL   to every process of the run, also those yet to be found
  lease NUMBER SECONDS   lapsed NUMBER, where none follows in time: the run is killed
"""

import ctypes
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from watchbell.clock import SYSTEM
from watchbell.process.desk import Desk
from watchbell.process.family import (
    MARKS,
    children,
    dead_children,
    group_of,
    marks_of,
    sent,
    session_of,
)
from watchbell.process.spawning import account, reason, spawned

PR_SET_CHILD_SUBREAPER = 36
TICK = 0.1  # seconds between looks at leases and at what runs left behind
PATIENCE = 30.0  # seconds for which what survives SIGKILL is waited for before the warden ends

now = SYSTEM.monotonic


class Child:
    """A run: its main process, which leads a session and a group, and what came out of that."""

    def __init__(self, number: int, wish: dict[str, Any], pid: int, begun: float) -> None:
        self.number = number
        self.run = wish["run"]
        self.may_leave = wish["escaped"] == "leave"
        self.pid = pid
        self.begun = begun
        self.lapses = 0.0
        self.orphans: set[int] = set()
        self._told = 0
        self._has_group = True
        self._user = self._system = 0.0
        self._peak = 0

    def count(self, usage: resource.struct_rusage) -> None:
        self._user += usage.ru_utime
        self._system += usage.ru_stime
        self._peak = max(self._peak, usage.ru_maxrss)

    def usage(self) -> tuple[float, float, int]:
        return self._user, self._system, self._peak * (1 if sys.platform == "darwin" else 1024)

    def signal(self, number: int) -> None:
        if self._told != signal.SIGKILL:
            self._told = number
        if self._has_group:
            sent(os.killpg, self.pid, number)
            sent(os.killpg, self.pid, signal.SIGCONT)  # one that is stopped can't end
        self._look_over()
        for pid in self.orphans:
            self.pass_on(pid)

    def pass_on(self, orphan: int) -> None:
        if self._told and group_of(orphan) != self.pid:
            sent(os.kill, orphan, self._told)
            sent(os.kill, orphan, signal.SIGCONT)

    def is_alive(self) -> bool:
        """Whether anything is left now that the main process has ended, that we could end."""
        self._look_over()
        # Once there is no such group, its number may become that of another.
        self._has_group = self._has_group and sent(os.killpg, self.pid, 0)
        return self._has_group or bool(self.orphans)

    def _look_over(self) -> None:
        """Lets go of orphans that became somebody else's, or have left where they may."""
        self.orphans = {pid for pid in self.orphans if sent(os.kill, pid, 0)}
        if self.may_leave:
            self.orphans = {pid for pid in self.orphans if session_of(pid) == self.pid}


class Warden:
    def __init__(self, desk: Desk, owner: str, mark: str, grace: float) -> None:
        self._desk = desk
        self._grace = grace
        self._marks = {"WB_OWNER": owner, "WB_SUPERVISOR": mark}
        inherited = os.environ.items()  # noqa: TID251 it is what children inherit
        self._inherited = {name: value for name, value in inherited if name not in MARKS}
        self._runs: dict[int, Child] = {}
        self._named: dict[str, Child] = {}
        self._sessions: dict[int, Child] = {}
        self._mains: dict[int, Child] = {}
        self._leftovers: dict[int, Child] = {}
        self._leased: dict[int, Child] = {}
        self._orphans: dict[int, Child | None] = {}

    def serve(self) -> None:
        requests: dict[str, Callable[..., None]] = {
            "start": self._start,
            "signal": self._signal,
            "lease": self._lease,
        }
        while not self._desk.is_cut:
            waits = TICK if self._leftovers or self._leased else None
            for name, *arguments in self._desk.requests(waits):
                requests[name](*arguments)
            self._reap()
            self._end_lapsed()
            self._desk.flush()
        self._end_all()

    def _start(self, number: int, wish: dict[str, Any]) -> None:
        output = self._desk.descriptor()
        given = self._desk.descriptor()
        begun = now()
        try:
            pid = spawned(wish, self._environment(wish), given, output)
        except OSError as error:
            self._desk.say("failed", number, error.filename or "", reason(error))
        else:
            child = Child(number, wish, pid, begun)
            self._runs[number] = self._named[child.run] = child
            self._sessions[pid] = self._mains[pid] = child
            self._desk.say("started", number, pid)
        finally:
            os.close(output)
            os.close(given)
        self._desk.flush()

    def _environment(self, wish: dict[str, Any]) -> dict[str, str]:
        environment = dict(self._inherited) if wish["inherit"] else {}
        if wish["user"]:
            entry = account(wish["user"])
            name = entry.pw_name
            environment |= {"HOME": entry.pw_dir, "USER": name, "LOGNAME": name}
        leave = {"WB_ESCAPED": "leave"} if wish["escaped"] == "leave" else {}
        return {**environment, **wish["environment"], "WB_RUN": wish["run"], **self._marks, **leave}

    def _signal(self, number: int, which: int) -> None:
        child = self._runs.get(number)
        if child:
            child.signal(which)

    def _lease(self, number: int, seconds: float) -> None:
        child = self._runs.get(number)
        if child:
            child.lapses = now() + seconds
            self._leased[number] = child

    def _end_lapsed(self) -> None:
        for number, child in list(self._leased.items()):
            if child.lapses < now():
                del self._leased[number]
                self._desk.say("lapsed", number)
                child.signal(signal.SIGKILL)

    def _reap(self) -> None:
        exited = []
        for pid, status, usage in dead_children():
            main = self._mains.pop(pid, None)
            child = main or self._orphans.pop(pid, None)
            if child:
                child.count(usage)
                child.orphans.discard(pid)
            if main:
                exited.append((main, status))
        if exited or self._leftovers:
            self._find_orphans()
        for child in list(self._leftovers.values()):
            if not child.is_alive():
                self._desk.say("gone", child.number, *child.usage())
                self._forget(child)
        for child, status in exited:
            self._exited(child, status)

    def _exited(self, child: Child, status: int) -> None:
        is_alive = child.is_alive()
        seconds = now() - child.begun
        self._desk.say("exited", child.number, status, seconds, *child.usage(), is_alive)
        if is_alive:
            self._leftovers[child.number] = child
        else:
            self._forget(child)

    def _forget(self, child: Child) -> None:
        del self._runs[child.number]
        self._leftovers.pop(child.number, None)
        self._leased.pop(child.number, None)
        if self._named.get(child.run) is child:
            del self._named[child.run]
        if self._sessions.get(child.pid) is child:
            del self._sessions[child.pid]

    def _find_orphans(self) -> None:
        for pid in children():
            if pid not in self._mains and pid not in self._orphans:
                child = self._orphans[pid] = self._whose(pid)
                if child:
                    child.orphans.add(pid)
                    child.pass_on(pid)

    def _whose(self, orphan: int) -> Child | None:
        child = self._sessions.get(session_of(orphan))
        if child:
            return child
        marks = marks_of(orphan)
        if marks.get("WB_ESCAPED") == "leave":
            return None
        child = self._named.get(marks.get("WB_RUN", ""))
        if child is None and marks.get("WB_SUPERVISOR") == self._marks["WB_SUPERVISOR"]:
            sent(os.kill, orphan, signal.SIGKILL)  # its run is over
        return child

    def _strays(self) -> list[int]:
        """Orphans that can't be assigned to a run and were not meant to be left alone."""
        nobodys = [pid for pid, child in self._orphans.items() if child is None]
        return [pid for pid in nobodys if marks_of(pid).get("WB_ESCAPED") != "leave"]

    def _end_all(self) -> None:
        kills_at = now() + self._grace
        for child in self._runs.values():
            child.signal(signal.SIGTERM)
        self._find_orphans()
        while (self._runs or self._strays()) and now() < kills_at + PATIENCE:
            if now() >= kills_at:
                for child in self._runs.values():
                    child.signal(signal.SIGKILL)
                for pid in self._strays():
                    sent(os.kill, pid, signal.SIGKILL)
            self._desk.nap(TICK / 2)
            self._reap()
            self._find_orphans()


def main(descriptor: int, configuration: dict[str, Any]) -> None:
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        # Caught and not ignored, which children would inherit. It ends after its supervisor.
        signal.signal(number, lambda *_: None)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_NOFILE, configuration["open_files"])
    connection = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)  # noqa: FBT003
    desk = Desk(connection, configuration["supervisor"])
    mark = configuration["mark"]
    Warden(desk, configuration["owner"], mark, configuration["grace"]).serve()
