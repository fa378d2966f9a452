"""A process that starts the children of one supervisor, and reports on them.

It is small (the standard library and six modules of ours), so starting a process from it is cheap
however large the supervisor is. All that runs descends from it, and a process that loses its parent
becomes its child (it is a subreaper), so nothing escapes unseen. When the supervisor dies, the
warden ends everything and then itself; or it waits at its adoption socket for another supervisor,
for each run as long as the run may be kept.

Requests, a JSON list a line, and answers:
  start NUMBER WISH      started NUMBER PID, or failed NUMBER WHAT REASON; with the request come
                         descriptors of the output and of the input, and of the output's other end
                         where it has a memo for an adopter; held until its time comes
                         exited NUMBER STATUS SECONDS USER SYSTEM PEAK LEFT, as the main process
                         ends; where LEFT, other processes of the run go on
                         gone NUMBER USER SYSTEM PEAK ENDED, once none of them does; ENDED are
                         those that were ended by a signal
  signal NUMBER SIGNAL WHOM
                         to every process of the run, also those yet to be found; or to the main
                         one alone
  release NUMBER         released NUMBER SECONDS: the run is over, and its processes go on
  lease NUMBER UNTIL KEEP
                         lapsed NUMBER, where none follows in time: the run is killed; until KEEP
                         it may go on without a supervisor (both are monotonic time, which is the
                         same for all processes of a machine)
                         unkept NUMBER, where no supervisor came in that time: the run is ended
  forget NUMBER          of a run with a memo, once its end was recorded
  close                  end everything
  adoption socket        taken RUNS where there is a supervisor; else to the new one, for each run,
                         kept NUMBER MEMO PID SECONDS PIPE WORDS, and then
                         ready PID, of the warden itself
"""

import ctypes
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from math import inf
from typing import Any

from watchbell.clock import SYSTEM
from watchbell.process.child import Child, Order
from watchbell.process.procfs import (
    MARKS,
    children,
    dead_children,
    is_starting,
    marks_of,
    sent,
    session_of,
)
from watchbell.process.spawning import account, reason, spawned
from watchbell.process.supervisor_socket import SupervisorSocket

PR_SET_CHILD_SUBREAPER = 36
TICK = 0.1  # seconds between looks at what runs left behind
NEAR = 0.002  # seconds, within which the system's wait in whole milliseconds may be too long
EMPTY_READS = 5  # one after another, after which a process has no marks
STARTING = 1.0  # seconds for which a process is waited for that becomes another program
PATIENCE = 30.0  # seconds for which what survives SIGKILL is waited for before the warden ends
SHELF = 60.0  # seconds for which ends of runs are kept for a supervisor that is to come

now = SYSTEM.monotonic


class Warden:
    def __init__(self, supervisor: SupervisorSocket, owner: str, mark: str, grace: float) -> None:
        self._supervisor = supervisor
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
        self._held: dict[int, Order] = {}
        self._over: dict[int, Child] = {}
        self._cut_at: float | None = None
        self._was_taken = self._is_closing = False
        self._orphans: dict[int, Child | None] = {}

    def serve(self) -> None:
        requests: dict[str, Callable[..., None]] = {
            "start": self._start,
            "signal": self._signal,
            "lease": self._lease,
            "release": self._let_go,
            "forget": self._dismiss,
            "close": self._close,
            "visit": self._visit,
        }
        while not self._is_done():
            for name, *arguments in self._supervisor.requests(self._waits()):
                requests[name](*arguments)
            self._release()
            self._reap()
            self._end_lapsed()
            self._supervisor.flush()
        self._end_all()

    def _is_done(self) -> bool:
        if self._is_closing:
            return True
        has_any = bool(self._runs or self._over or self._held)
        if not self._supervisor.is_cut:
            return self._was_taken and not has_any
        if self._cut_at is None:
            self._cut_at = now()
        return not self._supervisor.has_door or not self._outlive(self._cut_at)

    def _outlive(self, cut_at: float) -> bool:
        """Keeps the runs that may go on without a supervisor; whether there are any."""
        for number in list(self._held):
            self._held.pop(number).close()
        for child in self._runs.values():
            ends = max(child.keeps_until, cut_at + self._grace)
            if now() >= ends - self._grace and not child.signalled:
                self._tell(child, "unkept")
                child.signal(signal.SIGTERM)
            if now() >= ends:
                child.signal(signal.SIGKILL)
        for number, child in list(self._over.items()):
            if now() >= max(child.keeps_until, cut_at + SHELF):
                self._dismiss(number)
        return bool(self._runs or self._over)

    def _visit(self, connection: socket.socket, pid: int) -> None:
        if not self._supervisor.is_alone():
            self._supervisor.turn_away(connection, "taken", list(self._named))
            return
        self._supervisor.turn_to(connection, pid)
        self._cut_at, self._was_taken = None, True
        for child in (*self._runs.values(), *self._over.values()):
            seconds = now() - child.begun
            about = child.number, child.memo, child.pid, seconds, child.pipe, child.messages
            self._supervisor.say("kept", *about)
        self._supervisor.say("ready", os.getpid())

    def _close(self) -> None:
        self._is_closing = True

    def _dismiss(self, number: int) -> None:
        child = self._over.pop(number, None)
        if child:
            os.close(child.pipe)

    def _tell(self, child: Child, word: str, *details: object) -> None:
        self._supervisor.say(word, child.number, *details)
        if child.memo:
            child.messages.append([word, *details])

    def _waits(self) -> float | None:
        """Seconds until there is something to do, if no request comes before."""
        nexts = [child.lapses for child in self._leased.values()]
        if self._held and not self._supervisor.is_cut:
            nexts.append(self._next_release() - NEAR)
        if self._leftovers or self._supervisor.is_cut:
            nexts.append(now() + TICK)
        return max(min(nexts) - now(), 0) if nexts else None

    def _next_release(self) -> float:
        return min(held.not_before for held in self._held.values())

    def _release(self) -> None:
        """Starts runs whose time has come, or nearly so: the last moment is waited for here."""
        while self._held and self._next_release() - now() <= NEAR:
            number, held = min(self._held.items(), key=lambda item: item[1].not_before)
            while (left := held.not_before - now()) > 0:
                self._supervisor.nap(left)
            del self._held[number]
            self._begin(number, held)

    def _start(self, number: int, wish: dict[str, Any]) -> None:
        output, given = self._supervisor.descriptor(), self._supervisor.descriptor()
        pipe = self._supervisor.descriptor() if wish["memo"] else -1
        order = Order(wish, output, given, pipe)
        if order.not_before > now():
            self._held[number] = order
        else:
            self._begin(number, order)

    def _begin(self, number: int, order: Order) -> None:
        wish, begun = order.wish, now()
        if order.lapses <= begun:
            order.close()
            self._supervisor.say("failed", number, "", "its lease ended before it could be started")
            self._supervisor.flush()
            return
        try:
            pid = spawned(wish, self._environment(wish), order.given, order.output)
        except OSError as error:
            order.close()
            self._supervisor.say("failed", number, error.filename or "", reason(error))
        else:
            order.close_theirs()
            child = Child(number, order, pid, begun)
            self._runs[number] = self._named[child.run] = child
            self._sessions[pid] = self._mains[pid] = child
            if child.lapses < inf:
                self._leased[number] = child
            self._supervisor.say("started", number, pid)
        self._supervisor.flush()

    def _environment(self, wish: dict[str, Any]) -> dict[str, str]:
        environment = dict(self._inherited) if wish["inherit"] else {}
        if wish["user"]:
            entry = account(wish["user"])
            name = entry.pw_name
            environment |= {"HOME": entry.pw_dir, "USER": name, "LOGNAME": name}
        leave = {"WB_ESCAPED": "leave"} if wish["escaped"] == "leave" else {}
        return {**environment, **wish["environment"], "WB_RUN": wish["run"], **self._marks, **leave}

    def _signal(self, number: int, which: int, whom: str = "all") -> None:
        held = self._held.pop(number, None)
        if held:
            held.close()
            self._supervisor.say("failed", number, "", "it was told to end before its time came")
        child = self._runs.get(number)
        if child and whom == "main" and not child.has_exited:
            child.signal_main(which)
        elif child:
            child.signal(which)

    def _let_go(self, number: int) -> None:
        child = self._runs.get(number)
        if child:
            self._mains.pop(child.pid, None)
            self._tell(child, "released", now() - child.begun)
            self._forget(child)

    def _lease(self, number: int, until: float | None, keep_until: float | None) -> None:
        child = self._runs.get(number)
        if child:
            child.lease(until, keep_until)
            child.sample()
            self._leased.pop(number, None)
            if until is not None:
                self._leased[number] = child

    def _end_lapsed(self) -> None:
        for number, child in list(self._leased.items()):
            if child.lapses <= now():
                del self._leased[number]
                self._tell(child, "lapsed")
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
                self._tell(child, "gone", *child.usage(), list(child.ended.values()))
                self._forget(child)
        for child, status in exited:
            self._exited(child, status)

    def _exited(self, child: Child, status: int) -> None:
        is_alive = child.is_alive()
        seconds = now() - child.begun
        self._tell(child, "exited", status, seconds, *child.usage(), is_alive)
        if is_alive:
            child.has_exited = True
            self._leftovers[child.number] = child
        else:
            self._forget(child)

    def _forget(self, child: Child) -> None:
        del self._runs[child.number]
        if child.memo:
            self._over[child.number] = child
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
                    child.found(pid)

    def _whose(self, orphan: int) -> Child | None:
        child = self._sessions.get(session_of(orphan))
        if child:
            return child
        marks = self._readable_marks(orphan)
        if marks.get("WB_ESCAPED") == "leave":
            return None
        child = self._named.get(marks.get("WB_RUN", ""))
        if child is None and marks.get("WB_SUPERVISOR") == self._marks["WB_SUPERVISOR"]:
            sent(os.kill, orphan, signal.SIGKILL)  # its run is over
        return child

    def _readable_marks(self, orphan: int) -> dict[str, str]:
        """Waits for one that is just becoming another program: for a moment, what is read of it is
        empty, before that and right after."""
        patience, reads = now() + STARTING, 0
        while not (marks := marks_of(orphan)) and now() < patience:
            reads = 0 if is_starting(orphan) else reads + 1
            if reads == EMPTY_READS:
                break
            time.sleep(0.001)
        return marks

    def _strays(self) -> list[int]:
        """Orphans that belong to no known run and may not be left alone."""
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
            self._supervisor.nap(TICK / 2)
            self._reap()
            self._end_lapsed()
            self._find_orphans()


def main(descriptor: int, configuration: dict[str, Any]) -> None:
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        # Caught and not ignored, which children would inherit, as from `nohup` or the `&` of a
        # shell. It ends after its supervisor.
        signal.signal(number, lambda *_: None)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_NOFILE, configuration["open_files"])
    connection = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)  # noqa: FBT003
    supervisor = SupervisorSocket(connection, configuration["supervisor"], configuration["door"])
    mark = configuration["mark"]
    Warden(supervisor, configuration["owner"], mark, configuration["grace"]).serve()
