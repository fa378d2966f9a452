"""Servers with samples, series and alerts up to the present, as pages show them."""

from collections.abc import Iterable
from typing import Any

from tests.fleet.crew import sample
from tests.fleet.snapshot_scene import process, sampled
from watchbell.fleet import samples
from watchbell.fleet.model import AlertRule, Monitor, Server
from watchbell.fleet.monitoring import compiled, evaluator
from watchbell.fleet.monitoring.judgement import Reading
from watchbell.jobs.sample_evaluator import outlets
from watchbell.store.client import Store

GIB = 1 << 30
LOAD = Monitor(id="load_avg", title="CPU load average", source="load[0]")
HIGH = AlertRule(
    id="load_avg_high",
    title="High CPU load",
    expression="monitors.load_avg >= (cpu.cores + 1)",
    message="The load average is {{float(monitors.load_avg)}}, with {{cpu.cores}} CPU cores.",
    monitor_id="load_avg",
)


def machine(load: float = 1.5, **more: Any) -> dict[str, Any]:
    core = {"user": 30.0, "system": 10.0, "idle": 60.0, "active": 40.0}
    mount = {"fs": "/dev/sda1", "type": "ext4", "size": 100 * GIB, "available": 9 * GIB}
    return {
        "load": [load, load, load],
        "uptime_sec": 86_400,
        "cpu": {"cores": 2, "currentLoad": 40.0, "totals": core, "cpus": [core, core]},
        "memory": {"total": 4 * GIB, "used": GIB, "available": 3 * GIB, "cached": GIB},
        "mounts": {
            "root": {**mount, "mount": "/", "use": 91.0, "used": 91 * GIB},
            "var_lib": {**mount, "mount": "/var/lib", "use": 12.5, "used": 12 * GIB},
        },
        "interfaces": {"eth0": {"iface": "eth0", "ip4": "192.0.2.7", "operstate": "up"}},
        "processes": {
            "all": 120,
            "running": 2,
            "sleeping": 118,
            "list": [
                process(52, command="postgres: writer", cpu=12.5, memRss=GIB, state="Sleeping"),
                process(53, command="nginx: worker", cpu=80.0, memRss=GIB // 4, state="Running"),
            ],
        },
        "connections": {
            "all": 3,
            "states": {"ESTABLISHED": 2, "LISTEN": 1},
            "list": [{"type": "tcp", "state": "ESTABLISHED", "local_addr": "192.0.2.7:443"}],
        },
        "users": [{"user": "alice", "tty": "pts/0", "from": "198.51.100.7", "since": 1}],
        **more,
    }


async def measured(
    store: Store,
    hostname: str,
    now: float,
    *,
    loads: Iterable[float] = (1, 1.5),
    group: str = "",
    **more: Any,
) -> Server:
    """A connected server with a sample of each of the last minutes, the oldest first."""
    loads = list(loads)
    shown = machine(loads[-1], **more)
    server = await sampled(store, hostname, at=now, group=group, **shown)
    definitions = compiled.definitions([LOAD], [HIGH])
    for number, load in enumerate(loads):
        at = now - 60 * (len(loads) - 1 - number)
        reading = Reading(server.id, at, {**machine(load, **more), "hostname": hostname})
        await evaluator.evaluate(store, [reading], definitions, outlets(store, 1_000))
    gauges = sample(now, cpu=40.0, load=(loads[-1],) * 3)
    await samples.record(store, [samples.Sampled(server.id, gauges, True)])
    return server
