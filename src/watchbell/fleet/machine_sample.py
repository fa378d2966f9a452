"""The full sample of a server, one each minute: what expressions see, and what snapshots keep.

Names are those of the document's ServerMonitorData. Agents fill it in; bounds hold whatever they
send.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct, field

MOST_PROCESSES = 200
MOST_CONNECTIONS = 200
MOST_USERS = 100
MOST_MOUNTS = 200
MOST_INTERFACES = 200
MOST_CORES = 1_024
MOST_COMMANDS = 100
_MOST_FIGURE = 1 << 62

Figure = Annotated[float, Meta(ge=0, lt=_MOST_FIGURE)]
Count = Annotated[int, Meta(ge=0, lt=_MOST_FIGURE)]
Name = Annotated[str, Meta(max_length=256)]
Text = Annotated[str, Meta(max_length=1_000)]


class CpuShares(Struct, frozen=True, kw_only=True):
    """Percent of the time since the sample before."""

    user: Figure = 0
    nice: Figure = 0
    system: Figure = 0
    idle: Figure = 0
    iowait: Figure = 0
    irq: Figure = 0
    softirq: Figure = 0
    steal: Figure = 0
    active: Figure = 0
    """All but `idle` and `iowait`."""


class Cpu(Struct, frozen=True, kw_only=True):
    average_load: Figure = field(default=0, name="avgLoad")
    """Of one minute."""
    current_load: Figure = field(default=0, name="currentLoad")
    """Percent of all cores."""
    cores: Count = 1
    brand: Name = ""
    totals: CpuShares = CpuShares()
    cpus: Annotated[tuple[CpuShares, ...], Meta(max_length=MOST_CORES)] = ()
    """Of each core."""


class Mount(Struct, frozen=True, kw_only=True):
    mount: Text
    fs: Text = ""
    type: Name = ""
    size: Count = 0
    used: Count = 0
    available: Count = 0
    use: Figure = 0
    """Percent."""
    rw: bool = True


class IoStats(Struct, frozen=True, kw_only=True):
    """Operations of all disks: since the machine was started, and each second."""

    reads: Count = field(default=0, name="rIO")
    writes: Count = field(default=0, name="wIO")
    total: Count = field(default=0, name="tIO")
    reads_second: Figure = field(default=0, name="rIO_sec")
    writes_second: Figure = field(default=0, name="wIO_sec")
    total_second: Figure = field(default=0, name="tIO_sec")


class DiskStats(Struct, frozen=True, kw_only=True):
    """Bytes read (`rx`), written (`wx`) and both (`tx`), counted likewise."""

    rx: Count = 0
    wx: Count = 0
    tx: Count = 0
    rx_sec: Figure = 0
    wx_sec: Figure = 0
    tx_sec: Figure = 0


States = Annotated[dict[Name, Count], Meta(max_length=20)]


class Traffic(Struct, frozen=True, kw_only=True):
    rx_bytes: Count = 0
    tx_bytes: Count = 0
    rx_errors: Count = 0
    tx_errors: Count = 0
    rx_dropped: Count = 0
    tx_dropped: Count = 0
    rx_sec: Figure = 0
    """Bytes a second since the sample before."""
    tx_sec: Figure = 0


class NetworkStats(Traffic, frozen=True, kw_only=True):
    """Of all interfaces but the loopback."""

    conns: Count = 0
    """Sockets of TCP, listening ones included."""
    states: States = {}


class Interface(Traffic, frozen=True, kw_only=True):
    iface: Name
    ip4: Name = ""
    ip6: Name = ""
    mac: Name = ""
    mtu: Count = 0
    operstate: Name = ""
    speed: Count = 0
    """Megabits a second; 0 where it is not known."""


class Stats(Struct, frozen=True, kw_only=True):
    io: IoStats = IoStats()
    fs: DiskStats = DiskStats()
    network: NetworkStats = NetworkStats()
    uptime_sec: Figure = 0


class Process(Struct, frozen=True, kw_only=True):
    pid: Count
    parent: Count = field(default=0, name="parentPid")
    user: Name = ""
    command: Text = ""
    cpu: Figure = 0
    """Percent of one core since the sample before; of a new process, since its start."""
    mem: Figure = 0
    """Percent of the machine's memory."""
    resident: Count = field(default=0, name="memRss")
    virtual: Count = field(default=0, name="memVsz")
    state: Name = ""
    """A word: `Sleeping`, `Running`, `Blocked`, `Zombie`, `Stopped`, `Idle`."""
    started: Figure = 0
    age: Figure = 0
    """Seconds."""
    time: Figure = 0
    """Seconds of CPU time."""
    threads: Count = 0
    nice: Annotated[int, Meta(ge=-1_000, le=1_000)] = 0


class Processes(Struct, frozen=True, kw_only=True):
    """Counts of all; of the list, those that use the most CPU time or memory."""

    all: Count = 0
    running: Count = 0
    sleeping: Count = 0
    blocked: Count = 0
    zombie: Count = 0
    stopped: Count = 0
    list: Annotated[tuple[Process, ...], Meta(max_length=MOST_PROCESSES)] = ()


class Socket(Struct, frozen=True, kw_only=True):
    type: Name
    """`tcp` or `tcp6`."""
    state: Name
    local: Name = field(default="", name="local_addr")
    remote: Name = field(default="", name="remote_addr")
    pid: Count = 0
    """0 where it is not known."""


class Connections(Struct, frozen=True, kw_only=True):
    all: Count = 0
    states: States = {}
    list: Annotated[tuple[Socket, ...], Meta(max_length=MOST_CONNECTIONS)] = ()


class User(Struct, frozen=True, kw_only=True):
    """Somebody who is signed in."""

    user: Name
    tty: Name = ""
    origin: Name = field(default="", name="from")
    since: Figure = 0


class AgentProcess(Struct, frozen=True, kw_only=True):
    """The agent itself."""

    pid: Count = 0
    cpu: Figure = 0
    """Percent of one core since the sample before."""
    mem: Count = 0
    started: Figure = 0


class MachineSample(Struct, frozen=True, kw_only=True):
    hostname: Name
    date: Figure
    """By the clock of the web server that got it."""
    uptime_sec: Figure = 0
    arch: Name = ""
    platform: Name = ""
    release: Name = ""
    os: Annotated[dict[Name, Name], Meta(max_length=20)] = {}
    load: tuple[Figure, Figure, Figure] = (0, 0, 0)
    cpu: Cpu = Cpu()
    memory: Annotated[dict[Name, Count], Meta(max_length=100)] = {}
    """Bytes by kind: `total`, `free`, `used`, `available`, `active`, `buffers`, `cached`,
    `swaptotal` and what else the kernel counts."""
    mounts: Annotated[dict[Text, Mount], Meta(max_length=MOST_MOUNTS)] = {}
    """By path: `root` for `/`, `var_lib` for `/var/lib`."""
    stats: Stats = Stats()
    interfaces: Annotated[dict[Name, Interface], Meta(max_length=MOST_INTERFACES)] = {}
    processes: Processes = Processes()
    connections: Connections = Connections()
    users: Annotated[tuple[User, ...], Meta(max_length=MOST_USERS)] = ()
    process: AgentProcess = AgentProcess()
    jobs: Count = 0
    """Jobs that run on it."""
    commands: Annotated[dict[Name, Any], Meta(max_length=MOST_COMMANDS)] = {}
    """What commands printed, by their ids."""
    commands_errors: Annotated[dict[Name, Text], Meta(max_length=MOST_COMMANDS)] = {}
    """Why the last run of a command gave nothing."""
