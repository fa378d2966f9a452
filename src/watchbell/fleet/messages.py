"""The messages between an agent and its server, as MessagePack in the frames of a WebSocket.

An agent reports about a job in numbered messages. They stay on the agent's disk until they are
acknowledged, so nothing is lost when a connection or a process dies, and the store applies each
number once. Usage, samples and heartbeats have no number: the next one replaces them.
"""

from typing import Any

import msgspec
from msgspec import Struct

from watchbell.fleet.model import Command, CommandOutcome, Quick, Sample, ServerInfo


class _Message(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t"):
    pass


# What an agent reports about a job.


class Started(_Message, frozen=True, tag="started"):
    at: float
    pid: int


class Output(_Message, frozen=True, tag="output"):
    at: float
    """When it was read."""
    offset: int
    """Bytes of output before it."""
    line: int
    """Lines of output before it; a chunk begins at the beginning of a line, unless one is cut."""
    text: bytes


class Changes(_Message, frozen=True, tag="changes"):
    """What the job said in a message of its own, checked by the agent: only keys that a job may
    set. `data` is merged into what is there; `push` is added; other values replace."""

    at: float
    values: dict[str, Any] = {}
    activity: tuple[str, ...] = ()


class LimitReached(_Message, frozen=True, tag="limit"):
    """A limit was reached that did not end the job: because it does not abort jobs, or the job was
    being aborted already. `Result.limit` names one that did."""

    at: float
    limit: int
    """Its place among the job's limits."""
    description: str


class Result(_Message, frozen=True, tag="result"):
    """How the job ended; the last report. Its files were uploaded before."""

    at: float
    code: int | float | str
    description: str = ""
    elapsed: float = 0
    retry_ok: bool = False
    """Of an aborted job: whether it may be retried."""
    limit: int | None = None
    """The place among the job's limits of the one that aborted it."""
    size: int = 0
    """Bytes of its output."""
    lines: int = 0
    cut: int = 0
    """Bytes of output that were left out."""
    cpu: dict[str, float] = {}
    mem: dict[str, float] = {}
    disk: dict[str, float] = {}
    net: dict[str, float] = {}
    files: tuple[dict[str, Any], ...] = ()
    activity: tuple[str, ...] = ()


Body = Started | Output | Changes | LimitReached | Result


class Report(Struct, frozen=True, array_like=True):
    job: str
    n: int
    """From 1, without gaps, within the job."""
    body: Body


class JobUsage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the processes of a job use now. Fields are the document's."""

    job: str
    at: float
    cpu: dict[str, float] = {}
    mem: dict[str, float] = {}
    procs: dict[str, dict[str, Any]] = {}
    conns: tuple[dict[str, Any], ...] = ()


class KnownJob(Struct, frozen=True, array_like=True):
    """A job that an agent has accepted, and whose result is not acknowledged."""

    id: str
    reported: int
    """The number of its last report."""


# From the agent.


class Hello(_Message, frozen=True, tag="hello"):
    """The first message. The token is in the request's header `Authorization: Bearer …`."""

    hostname: str
    info: ServerInfo
    boot: str
    """Identifies the boot of the machine, so that a job is never started again after a crash that
    may have erased the agent's own memory of it."""
    jobs: tuple[KnownJob, ...] = ()
    has_stored: bool = False
    """Whether the agent has stored the token that the last `Welcome` gave it."""


class Reports(_Message, frozen=True, tag="reports"):
    reports: tuple[Report, ...]


class Usages(_Message, frozen=True, tag="usages"):
    usages: tuple[JobUsage, ...]


class Sampled(_Message, frozen=True, tag="sample"):
    sample: Sample
    is_minute: bool = False
    """Whether it is the sample of this minute, which is kept."""
    quick: tuple[Quick, ...] = ()
    """Of the seconds since the message before; oldest first."""


class MachineSampled(_Message, frozen=True, tag="machine"):
    """The full sample of this minute."""

    packed: bytes
    """A `MachineSample` as MessagePack, compressed by zlib."""


class RanOnce(_Message, frozen=True, tag="ran"):
    """The answer to `RunOnce`."""

    request: str
    outcome: CommandOutcome


class Renew(_Message, frozen=True, tag="renew"):
    """A heartbeat: asks to keep the jobs that this agent runs."""

    number: int
    jobs: tuple[str, ...] = ()


class Leaving(_Message, frozen=True, tag="leaving"):
    """The agent stops; it takes no more jobs."""


# To the agent.


class Order(_Message, frozen=True, tag="order"):
    """A job to run: its record as its process gets it, and what is not part of the record."""

    job: dict[str, Any]
    secrets: dict[str, str] = {}
    """Values that are masked in everything the agent sends."""
    base_url: str = ""


class Welcome(_Message, frozen=True, tag="welcome"):
    server: str
    now: float
    """The time by the server's clock, by which the minutes of samples begin."""
    token: str = ""
    """A new token to store in place of the one it came with; that stays valid until the agent has
    said that the new one is stored."""
    heartbeat: float = 5.0
    lost_after: float = 900.0
    """Seconds without an answer after which the server counts jobs as lost; the agent ends them
    before."""
    kill_after: float = 10.0
    sample_every: float = 5.0
    log_limit: int = 1 << 30
    """Bytes of a job's output that are kept complete."""
    file_limit: int = 1 << 30
    """The most bytes of a file that a job uploads."""
    acknowledged: dict[str, int] = {}
    """For each known job: the number of the last report in the store."""
    drop: tuple[str, ...] = ()
    """Jobs that are over as far as the store knows: the agent ends them and forgets them."""


class RunEachMinute(_Message, frozen=True, tag="commands"):
    """All commands of this agent, in place of those before."""

    commands: tuple[Command, ...]


class RunOnce(_Message, frozen=True, tag="run"):
    """A command to run now."""

    request: str
    command: Command


class Launch(_Message, frozen=True, tag="launch"):
    orders: tuple[Order, ...]


class Abort(_Message, frozen=True, tag="abort"):
    job: str
    reason: str
    retry_ok: bool = False


class Acks(_Message, frozen=True, tag="acks"):
    acknowledged: dict[str, int]
    """For each job: reports up to this number are in the store."""
    drop: tuple[str, ...] = ()


class Renewed(_Message, frozen=True, tag="renewed"):
    number: int
    over: tuple[str, ...] = ()
    """Those of the jobs that are over as far as the store knows."""


class Refusal(_Message, frozen=True, tag="refusal"):
    """The server closes the connection after it."""

    reason: str
    is_final: bool = False
    """Whether trying again is of no use: the token was revoked."""


FromAgent = Hello | Reports | Usages | Sampled | MachineSampled | RanOnce | Renew | Leaving
ToAgent = Welcome | Launch | Abort | Acks | Renewed | RunEachMinute | RunOnce | Refusal

from_agent = msgspec.msgpack.Decoder(FromAgent)
to_agent = msgspec.msgpack.Decoder(ToAgent)
encode = msgspec.msgpack.Encoder().encode
