"""What the kernel counts for the whole machine: CPU time, memory, disks and network."""

from msgspec import Struct
from msgspec.structs import astuple

from watchbell.fleet.agent.machine.files import PROC, SYS, names, number, read
from watchbell.fleet.machine_sample import (
    MOST_CORES,
    CpuShares,
    DiskStats,
    IoStats,
    Traffic,
)

_SECTOR = 512
_NO_DISKS = ("loop", "ram", "zram", "sr", "fd", "dm-", "md", "nbd")
"""Devices without a disk, or on top of others that count the same bytes."""


class Disks(Struct, frozen=True):
    """Of all disks, since the machine was started."""

    reads: int = 0
    writes: int = 0
    read: int = 0
    """Bytes."""
    written: int = 0


class Counted(Struct, frozen=True):
    at: float
    """By the monotonic clock."""
    cpu: tuple[tuple[int, ...], ...]
    """Ticks by kind: of all cores, and of each."""
    disks: Disks
    interfaces: dict[str, Traffic]


def counted(at: float, proc: str = PROC) -> Counted:
    return Counted(at, cpu_ticks(proc), disks(proc), interfaces(proc))


def cpu_ticks(proc: str = PROC) -> tuple[tuple[int, ...], ...]:
    """The kinds are those of `CpuShares`, without `active`."""
    found: list[tuple[int, ...]] = []
    for line in read(f"{proc}/stat").split(b"\n"):
        if not line.startswith(b"cpu") or len(found) > MOST_CORES:
            break
        ticks = [number(word) for word in line.split()[1:9]]
        found.append((*ticks, *[0] * (8 - len(ticks))))
    return tuple(found) or ((0,) * 8,)


def memory(proc: str = PROC) -> dict[str, int]:
    """Bytes by kind."""
    found = {}
    for line in read(f"{proc}/meminfo").split(b"\n"):
        name, _, value = line.partition(b":")
        words = value.split()
        if words and b"(" not in name and not name.startswith(b"Huge"):
            kibibytes = words[-1] == b"kB"
            found[name.decode().lower()] = number(words[0]) << (10 if kibibytes else 0)
    total, available = found.pop("memtotal", 0), found.pop("memavailable", 0)
    free = found.pop("memfree", 0)
    swap = {"swapused": max(found.get("swaptotal", 0) - found.get("swapfree", 0), 0)}
    return {
        "total": total,
        "free": free,
        "available": available,
        "used": max(total - available, 0),
        **found,
        **swap,
    }


def disks(proc: str = PROC, sys: str = SYS) -> Disks:
    whole = {
        name.replace("!", "/").encode()
        for name in names(f"{sys}/block")
        if not name.startswith(_NO_DISKS)
    }
    reads = writes = read_sectors = written_sectors = 0
    for line in read(f"{proc}/diskstats").split(b"\n"):
        words = line.split()
        if len(words) >= 10 and words[2] in whole:
            reads += number(words[3])
            read_sectors += number(words[5])
            writes += number(words[7])
            written_sectors += number(words[9])
    return Disks(reads, writes, read_sectors * _SECTOR, written_sectors * _SECTOR)


def interfaces(proc: str = PROC) -> dict[str, Traffic]:
    found = {}
    for line in read(f"{proc}/net/dev").split(b"\n")[2:]:
        name, _, values = line.partition(b":")
        words = [number(word) for word in values.split()]
        if len(words) >= 12:
            found[name.strip().decode(errors="replace")] = Traffic(
                rx_bytes=words[0],
                rx_errors=words[2],
                rx_dropped=words[3],
                tx_bytes=words[8],
                tx_errors=words[10],
                tx_dropped=words[11],
            )
    return found


def whole_network(interfaces: dict[str, Traffic]) -> Traffic:
    """Of all interfaces but the loopback."""
    outside = [one for name, one in interfaces.items() if name != "lo"]
    sums = [sum(values) for values in zip(*(astuple(one) for one in outside), strict=True)]
    return Traffic(**dict(zip(Traffic.__struct_fields__, sums, strict=True))) if sums else Traffic()


# What changed between two looks.


def cpu_shares(before: tuple[int, ...], after: tuple[int, ...]) -> CpuShares:
    passed = [max(new - old, 0) for old, new in zip(before, after, strict=True)]
    total = sum(passed)
    if not total:
        return CpuShares(idle=100)
    shares = [round(one / total * 100, 2) for one in passed]
    active = round(max(total - passed[3] - passed[4], 0) / total * 100, 2)
    return CpuShares(
        **dict(zip(CpuShares.__struct_fields__[:8], shares, strict=True)), active=active
    )


def rate(before: float, after: float, seconds: float) -> float:
    """Each second; 0 where a counter began anew."""
    return round(max(after - before, 0) / seconds, 2) if seconds > 0 else 0.0


def io_stats(old: Counted, new: Counted) -> IoStats:
    seconds = new.at - old.at
    reads = rate(old.disks.reads, new.disks.reads, seconds)
    writes = rate(old.disks.writes, new.disks.writes, seconds)
    return IoStats(
        reads=new.disks.reads,
        writes=new.disks.writes,
        total=new.disks.reads + new.disks.writes,
        reads_second=reads,
        writes_second=writes,
        total_second=round(reads + writes, 2),
    )


def disk_stats(old: Counted, new: Counted) -> DiskStats:
    seconds = new.at - old.at
    read_rate = rate(old.disks.read, new.disks.read, seconds)
    write_rate = rate(old.disks.written, new.disks.written, seconds)
    return DiskStats(
        rx=new.disks.read,
        wx=new.disks.written,
        tx=new.disks.read + new.disks.written,
        rx_sec=read_rate,
        wx_sec=write_rate,
        tx_sec=round(read_rate + write_rate, 2),
    )
