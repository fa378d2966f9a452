"""Eight values of each second."""

import os

from watchbell.fleet.agent.machine import counters
from watchbell.fleet.agent.machine.counters import Counted, rate
from watchbell.fleet.model import Quick


class QuickMeter:
    def __init__(self, at: float) -> None:
        """`at`: by the monotonic clock, as in all calls."""
        self._last = counters.counted(at)

    def read(self, now: float, at: float) -> Quick:
        last, new = self._last, counters.counted(at)
        self._last = new
        seconds = new.at - last.at
        old_network = counters.whole_network(last.interfaces)
        network = counters.whole_network(new.interfaces)
        memory = counters.memory()
        return Quick(
            date=round(now, 2),
            cpu_load=round(os.getloadavg()[0], 2),
            cpu_usage=_usage(last, new),
            mem_used=memory["used"],
            mem_avail=memory["available"],
            disk_read_sec=rate(last.disks.read, new.disks.read, seconds),
            disk_write_sec=rate(last.disks.written, new.disks.written, seconds),
            net_in_sec=rate(old_network.rx_bytes, network.rx_bytes, seconds),
            net_out_sec=rate(old_network.tx_bytes, network.tx_bytes, seconds),
        )


def _usage(last: Counted, new: Counted) -> float:
    return counters.cpu_shares(last.cpu[0], new.cpu[0]).active
