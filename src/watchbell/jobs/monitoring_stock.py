"""The monitors and alert definitions of a new store. They are people's own from then on: one that
was changed or deleted stays so."""

from watchbell.fleet.model import Monitor
from watchbell.jobs.model import AlertDef

_LINUX = "Only of servers with Linux."

MONITORS = (
    Monitor(
        id="load_avg",
        title="CPU load average",
        source="load[0]",
        notes="Processes that run or wait for a core or a disk, on average over one minute.",
    ),
    Monitor(
        id="cpu_usage",
        title="CPU usage",
        source="100 - cpu.totals.idle",
        suffix="%",
        min_vert_scale=100,
        notes="Of all cores together.",
    ),
    Monitor(id="mem_used", title="Memory in use", source="memory.used", data_type="bytes"),
    Monitor(
        id="mem_free",
        title="Memory available",
        source="memory.available",
        data_type="bytes",
        notes="What programs can still get without swapping.",
    ),
    Monitor(
        id="net_conns",
        title="Network connections",
        source="stats.network.conns",
        data_type="integer",
    ),
    Monitor(
        id="disk_usage_root",
        title="Disk usage (root)",
        source="mounts.root.use",
        suffix="%",
        min_vert_scale=100,
    ),
    Monitor(
        id="disk_read_sec",
        title="Disk reads",
        source="stats.fs.rx",
        data_type="bytes",
        suffix="/sec",
        delta=True,
        divide_by_delta=True,
    ),
    Monitor(
        id="disk_write_sec",
        title="Disk writes",
        source="stats.fs.wx",
        data_type="bytes",
        suffix="/sec",
        delta=True,
        divide_by_delta=True,
    ),
    Monitor(
        id="disk_iops_sec",
        title="Disk operations",
        source="stats.io.tIO",
        data_type="integer",
        suffix="/sec",
        delta=True,
        divide_by_delta=True,
    ),
    Monitor(
        id="io_wait",
        title="CPU I/O wait",
        source="cpu.totals.iowait",
        suffix="%",
        notes=_LINUX,
    ),
    Monitor(
        id="open_files",
        title="Open files",
        source="commands.open_files",
        data_match=r"(\d+)",
        data_type="integer",
        notes=f"The output of the command open_files. {_LINUX}",
    ),
    Monitor(
        id="os_bytes_in_sec",
        title="Network in",
        source="stats.network.rx_bytes",
        data_type="bytes",
        suffix="/sec",
        delta=True,
        divide_by_delta=True,
    ),
    Monitor(
        id="os_bytes_out_sec",
        title="Network out",
        source="stats.network.tx_bytes",
        data_type="bytes",
        suffix="/sec",
        delta=True,
        divide_by_delta=True,
    ),
    Monitor(id="total_procs", title="Processes", source="processes.all", data_type="integer"),
    Monitor(id="active_jobs", title="Active jobs", source="jobs", data_type="integer"),
)
_LASTS = 5
"""Minutes that a busy server is busy before anybody is notified: less is no news."""
ALERTS = (
    AlertDef(
        id="load_avg_high",
        title="High CPU load",
        expression="monitors.load_avg >= (cpu.cores + 1)",
        message="The load average is {{float(monitors.load_avg)}}, with {{cpu.cores}} CPU cores.",
        samples=_LASTS,
        monitor_id="load_avg",
    ),
    AlertDef(
        id="mem_free_low",
        title="Low memory",
        expression="memory.available < (memory.total * 0.05)",
        message="{{bytes(memory.available)}} of {{bytes(memory.total)}} are available: below 5 %.",
        samples=_LASTS,
        monitor_id="mem_free",
    ),
    AlertDef(
        id="io_wait_high",
        title="High I/O wait",
        expression="monitors.io_wait >= 75",
        message="The CPU waits for disks {{pct(monitors.io_wait)}} of the time.",
        samples=_LASTS,
        monitor_id="io_wait",
    ),
    AlertDef(
        id="disk_usage_root_high",
        title="Disk full",
        expression="monitors.disk_usage_root >= 90",
        message="The root file system is {{pct(monitors.disk_usage_root)}} full.",
        monitor_id="disk_usage_root",
    ),
    AlertDef(
        id="active_jobs_high",
        title="Many active jobs",
        expression="monitors.active_jobs >= 50",
        message="{{number(monitors.active_jobs)}} jobs run at the same time.",
        monitor_id="active_jobs",
        notes="It only reports: slots limit how many jobs a server runs. Set `limit_jobs` to give"
        " it none while it is active.",
    ),
)
