"""What a pipeline reports of itself and its machine."""

import os
import platform
import shutil
import socket
from pathlib import Path
from typing import Literal

from watchbell import __version__
from watchbell.archive.model import Pipeline
from watchbell.fleet.agent.sampler import memory_bytes


def record(
    pipeline: str,
    nickname: str,
    fqdn: str,
    folder: Path,
    status: Literal["Running", "Stopping"],
    now: float,
) -> Pipeline:
    disk, memory = shutil.disk_usage(folder), memory_bytes()
    load = os.getloadavg()
    return Pipeline(
        id=pipeline,
        nickname=nickname,
        hostname=socket.gethostname(),
        fqdn=fqdn,
        pid=os.getpid(),
        version=__version__,
        python=platform.python_version(),
        status=status,
        ts=now,
        disk_usage=_percentage(disk.used, disk.total),
        disk_available=disk.free,
        mem_usage=_percentage(memory["total"] - memory["available"], memory["total"]),
        mem_available=memory["available"],
        load_average_1m=round(load[0], 2),
        load_average_5m=round(load[1], 2),
        load_average_15m=round(load[2], 2),
    )


def _percentage(part: float, whole: float) -> float:
    return round(part / whole * 100, 2) if whole else 0.0
