"""What an agent reads from /proc."""

import struct
from collections import Counter
from pathlib import Path

from watchbell.fleet.agent.machine import counters, mounts, signed_in
from watchbell.fleet.agent.machine.processes import ProcessesSeen, ProcessTable
from watchbell.fleet.agent.machine.sockets import SocketTable

_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  inode\n"
STATES = {"0A": 3, "01": 60_000, "06": 39_997}


def socket_line(number: int, state: str) -> str:
    return (
        f"{number:4d}: 0100007F:1F90 0200007F:{number % 65536:04X} {state} 00000000:00000000"
        f" 00:00000000 00000000     0        0 {number} 1 0000000000000000 100 0 0 10 0\n"
    )


def proc(folder: Path, **files: str) -> str:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return str(folder)


def test_a_hundred_thousand_sockets_are_counted_a_piece_at_a_time(folder: Path) -> None:
    states = [state for state, count in STATES.items() for _ in range(count)]
    lines = "".join(socket_line(number, state) for number, state in enumerate(states))
    table = SocketTable(proc(folder, net__tcp=_HEAD + lines))
    pieces = sum(1 for _ in table.pieces())
    found = table.summary([])
    assert pieces >= 40
    assert found.all == 100_000
    assert found.states == {"listen": 3, "established": 60_000, "time_wait": 39_997}
    assert len(found.list) == 200
    assert Counter(one.state for one in found.list)["LISTEN"] == 3
    assert (found.list[0].local, found.list[0].remote) == ("127.0.0.1:8080", "127.0.0.2:0")


def test_beyond_the_limit_the_kernel_says_how_many_sockets_there_are(
    folder: Path,
) -> None:
    line = socket_line(1, "01")
    count = (40 << 20) // len(line)
    files = {
        "net__tcp": _HEAD + line * count,
        "net__sockstat": "TCP: inuse 299990 orphan 0 tw 10\n",
    }
    table = SocketTable(proc(folder, **files))
    for _ in table.pieces():
        pass
    assert table.summary([]).all == 300_000


def test_damaged_tables_are_read_as_far_as_they_go(folder: Path) -> None:
    table = SocketTable(proc(folder, net__tcp="nonsense\n" * 10, net__tcp6="\x00\xff: : :\n"))
    for _ in table.pieces():
        pass
    assert table.summary([1]).all == 0
    assert counters.memory(proc(folder, meminfo="MemTotal\nFree: many kB\n"))["total"] == 0
    assert counters.cpu_ticks(proc(folder, stat="intr 1 2 3\n")) == ((0,) * 8,)
    assert counters.interfaces(proc(folder, net__dev="a\nb\neth0: 1 2\n")) == {}


def stat(pid: int, name: str, state: str, ticks: int, started: int) -> str:
    after = [state, "1", *["0"] * 9, str(ticks), "0", "0", "0", "20", "0", "2", "0", str(started)]
    return f"{pid} ({name}) {' '.join([*after, '4096', '25'])} 0 0\n"


def test_shares_of_processes_are_those_since_the_sample_before(folder: Path) -> None:
    files = {
        "10__stat": stat(10, "a) (b", "R", 0, 100),
        "10__cmdline": "/bin/worker\0--fast\0",
        "11__stat": stat(11, "kworker", "I", 5, 200),
    }
    table = ProcessTable(1_000.0, proc(folder, **files))
    for _ in table.slices(ProcessesSeen(100.0)):
        pass
    proc(folder, **{"10__stat": stat(10, "a) (b", "S", 3_000, 100)})
    seen = ProcessesSeen(160.0)
    for _ in table.slices(seen):
        pass
    found = table.summary(seen, 1 << 30, lambda text: text.replace("worker", "***"))
    worker, thread = sorted(found.list, key=lambda one: one.pid)
    assert (worker.command, worker.cpu, worker.state) == ("/bin/*** --fast", 50.0, "Sleeping")
    assert (worker.started, worker.age, worker.threads, worker.parent) == (1_001, 159, 2, 1)
    assert (thread.command, thread.cpu, thread.state) == ("[k***]", 0.0, "Idle")
    assert (found.all, found.running, found.sleeping) == (2, 0, 2)
    proc(folder, **{"10__stat": stat(10, "new", "R", 60, 11_000)})  # another process of that pid
    seen = ProcessesSeen(120.0)
    for _ in table.slices(seen):
        pass
    again = next(one for one in table.summary(seen, 1 << 30, str).list if one.pid == 10)
    assert again.cpu == 6.0


def test_network_mounts_and_pseudo_file_systems_are_left_out(folder: Path) -> None:
    lines = [
        *("/dev/sda1 / ext4 rw 0 0", "proc /proc proc rw 0 0", "nas:/x / nfs4 rw 0 0"),
        *(
            "tmpfs /tmp tmpfs ro 0 0",
            "sshfs#x /tmp fuse.sshfs rw 0 0",
            "overlay /tmp overlay rw 0 0",
        ),
        *("/dev/sda1 /etc/hosts ext4 rw 0 0", "/dev/x /no\\040such ext4 rw 0 0", "nonsense"),
    ]
    found = mounts.mounts(proc(folder, self__mounts="\n".join(lines)))
    assert {name: (one.mount, one.type, one.rw) for name, one in found.items()} == {
        "root": ("/", "ext4", True),
        "tmp": ("/tmp", "tmpfs", False),
    }


def test_people_who_are_signed_in_are_read_from_utmp() -> None:
    form = struct.Struct("hi32s4s32s256shhiii4i20s")
    rest = (0, 0, 0, 1_700_000_000, 0, 0, 0, 0, 0, b"")
    alice = form.pack(7, 1, b"pts/0", b"ts/0", b"alice", b"192.0.2.1", *rest)
    ended = form.pack(8, 1, b"pts/1", b"ts/1", b"bob", b"", *rest)
    (found,) = signed_in.parsed(alice + ended + b"cut")
    assert (found.user, found.tty, found.origin) == ("alice", "pts/0", "192.0.2.1")
    assert found.since == 1_700_000_000
