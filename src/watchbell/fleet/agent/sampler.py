"""What the machine is, and what it uses. Read from /proc."""

import os
import platform
import shutil
import sys
from pathlib import Path

from watchbell import __version__
from watchbell.fleet.model import Sample, ServerInfo

_PROC = Path("/proc")


class MachineSampler:
    def __init__(self, folder: Path) -> None:
        """`folder`: the one whose disk is measured."""
        self._folder = folder
        self._cpu = _cpu_ticks()
        self._network = _network_bytes()
        self._at = 0.0

    def sample(self, now: float, at: float, jobs: int) -> Sample:
        """`at`: by the monotonic clock."""
        cpu, network = _cpu_ticks(), _network_bytes()
        seconds = at - self._at if self._at else 0.0
        busy, total = (new - old for new, old in zip(cpu, self._cpu, strict=True))
        received, sent = (new - old for new, old in zip(network, self._network, strict=True))
        self._cpu, self._network, self._at = cpu, network, at
        memory = memory_bytes()
        disk = shutil.disk_usage(self._folder)
        return Sample(
            at=now,
            cpu=round(busy / total * 100, 2) if total > 0 else 0.0,
            load=_load(),
            memory=memory["total"] - memory["available"],
            memory_total=memory["total"],
            disk=disk.used,
            disk_total=disk.total,
            network_in=round(max(received, 0) / seconds, 1) if seconds > 0 else 0.0,
            network_out=round(max(sent, 0) / seconds, 1) if seconds > 0 else 0.0,
            jobs=jobs,
        )


def server_info(slots: int) -> ServerInfo:
    memory = memory_bytes()
    return ServerInfo(
        arch=platform.machine(),
        platform=sys.platform,
        release=platform.release(),
        os=_operating_system(),
        cpu={"cores": os.cpu_count() or 1, "brand": _cpu_brand(), "avgLoad": _load()[0]},
        memory={**memory, "active": memory["total"] - memory["available"]},
        booted=_booted(),
        agent=__version__,
        python=platform.python_version(),
        slots=slots,
    )


def boot_id() -> str:
    return _text("sys/kernel/random/boot_id").strip() or str(_booted())


def memory_bytes() -> dict[str, int]:
    fields = {}
    for line in _text("meminfo").splitlines():
        name, _, value = line.partition(":")
        fields[name] = int(value.split()[0]) << 10
    return {"total": fields.get("MemTotal", 0), "available": fields.get("MemAvailable", 0)}


def _cpu_ticks() -> tuple[int, int]:
    """Of all cores: busy, and in all."""
    values = [int(value) for value in _text("stat").partition("\n")[0].split()[1:9]]
    if len(values) < 5:
        return 0, 0
    return sum(values) - values[3] - values[4], sum(values)


def _network_bytes() -> tuple[int, int]:
    received = sent = 0
    for line in _text("net/dev").splitlines()[2:]:
        name, _, values = line.partition(":")
        if name.strip() != "lo":
            fields = values.split()
            received += int(fields[0])
            sent += int(fields[8])
    return received, sent


def _load() -> tuple[float, float, float]:
    one, five, fifteen = os.getloadavg()
    return round(one, 2), round(five, 2), round(fifteen, 2)


def _booted() -> int:
    for line in _text("stat").splitlines():
        if line.startswith("btime "):
            return int(line.split()[1])
    return 0


def _cpu_brand() -> str:
    for line in _text("cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return ""


def _operating_system() -> dict[str, str]:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    return {
        "distro": release.get("NAME", ""),
        "release": release.get("VERSION_ID", ""),
        "kernel": platform.release(),
    }


def _text(name: str) -> str:
    try:
        return (_PROC / name).read_text(errors="replace")
    except OSError:
        return ""
