"""What can be set: each section with its fields, their usual values, and what each is for."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from watchbell.settings.values import Secret, Tables, redacted

Port = Annotated[int, Meta(ge=0, le=65535)]
Fault = Annotated[str, Meta(pattern="^([^:]+(:[1-9][0-9]{0,8})?)?$", title="NAME or NAME:N")]


class Store(Struct, frozen=True, kw_only=True):
    url: str = ""
    """Where the store is; empty for the embedded one."""
    port: Port = 6380
    """The loopback port of the embedded store; 0 for none, so that only its Unix socket serves."""
    password: Secret = field(default_factory=Secret)
    """Asked for by the embedded store, or given to the one at `url` where the URL has none."""
    appendfsync: Literal["everysec", "always"] = "everysec"
    """How soon the embedded store's writes are on disk: within a second, or before each answer."""
    max_memory: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    """MiB that the embedded store may use before it refuses writes; 0 for no limit."""

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["url"] = redacted(self.url)
        return f"Store({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class Log(Struct, frozen=True, kw_only=True):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "text", "json"] = "auto"
    """`auto` is text on a terminal and JSON elsewhere."""


Seconds = Annotated[int, Meta(ge=0, le=1 << 40)]


class Alerting(Struct, frozen=True, kw_only=True):
    initial_failure_delay: Seconds = 30
    """Seconds a failure must last before anybody is told."""
    repeat_failure_delay: Seconds = 60
    """Seconds before the same failure is told again."""
    initial_recovery_delay: Seconds = 0
    """Seconds a recovery must last before anybody is told."""
    new_check_maintenance: Seconds = 0
    """Seconds of scheduled maintenance that a check begins its life with."""
    new_check_ignore_tags: tuple[str, ...] = ()
    """Tags with which a new check begins its life without maintenance."""
    timezone: str = "UTC"
    """The time zone of contacts that have none."""
    archive: bool = True
    """Whether copies of events are kept for a while."""
    archive_seconds: Seconds = 10_800
    """How long."""
    rejected_days: Annotated[int, Meta(ge=1, le=36_500)] = 7
    """Days for which rejected events are kept."""
    history_days: Annotated[int, Meta(ge=1, le=36_500)] = 365
    """Days for which changes of state, maintenance and notifications are kept."""
    history_changes: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Changes of state that are kept of each check, at the most."""
    alert_days: Annotated[int, Meta(ge=1, le=36_500)] = 90
    """Days for which alerts are kept."""


class Delivery(Struct, frozen=True, kw_only=True):
    give_up_hours: Annotated[int, Meta(ge=1, le=8_760)] = 24
    """Hours for which an alert that can't be delivered is tried again."""
    failed_days: Annotated[int, Meta(ge=1, le=36_500)] = 30
    """Days for which alerts that were given up are kept."""
    templates: str = ""
    """The folder of templates that take the place of the built-in ones."""
    link_url: str = ""
    """Where links to acknowledge lead, if not to the web pages at `web.url`."""
    link_port: Port = 0
    """The loopback port of the page on which a link is confirmed; 0 for none."""


class Oobetet(Struct, frozen=True, kw_only=True):
    check: str = ""
    """The check, ENTITY:CHECK, of which problems and recoveries must come through."""
    max_latency: Annotated[int, Meta(ge=1, le=86_400)] = 300
    """Seconds within which one of each must come."""
    medium: str = "jabber"
    """The medium whose account listens in `room`."""
    room: str = ""
    """The room in which alerts are heard."""
    listen: str = "127.0.0.1"
    """The address on which webhooks are received, in place of a room."""
    port: Port = 0
    """The port of these; 0 for none."""
    secret: Secret = field(default_factory=Secret)
    """What they are signed with; without one, nothing is asked for."""
    alarm_medium: str = ""
    """The medium by which the alarm is raised."""
    alarm_address: str = ""
    """Whom it reaches."""


class Cron(Struct, frozen=True, kw_only=True):
    capacity: Annotated[int, Meta(ge=1, le=10_000)] = 100
    """Runs that an instance has at once, at the most."""
    tags: tuple[str, ...] = ()
    """Tags of this instance; a job with tags runs only where an instance has all of them."""
    job_shell: str = "/bin/bash"
    """The shell that is given each command."""
    timezone: str = "UTC"
    """The time zone of schedules that name none."""
    missed_grace: Seconds = 60
    """Seconds by which a fire may be late and be run all the same."""
    kill_after: Annotated[int, Meta(ge=0, le=3_600)] = 10
    """Seconds from SIGTERM to SIGKILL for a run that has to end."""
    stop_wait: Annotated[int, Meta(ge=0, le=86_400)] = 10
    """Seconds that runs are given to end by themselves when their instance is stopped."""
    orphans: Literal["end", "adopt"] = "end"
    """What becomes of the runs of an instance that was killed: they are ended, or go on and are
    adopted by the next instance with the same data folder."""
    heartbeat: Annotated[int, Meta(ge=1, le=3_600)] = 30
    """Seconds between signs of life; a run without one for half as long again is frozen."""
    output_limit: Annotated[int, Meta(ge=1, le=1_024)] = 10
    """MiB up to which a run's output is complete; then the newest lines are kept."""
    last_lines: Annotated[int, Meta(ge=1, le=1_000)] = 10
    """Lines of its output that are kept with a run's result."""
    results: Annotated[int, Meta(ge=1, le=10_000_000)] = 10_000
    """Successes, and failures, that are listed over all jobs."""
    job_results: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Successes, and failures, that are kept of each job."""
    most_skipped: Annotated[int, Meta(ge=1, le=1_000_000)] = 3
    """Fires of a job, skipped one after the other, from which on a warning is reported."""
    overdue_after: Seconds = 600
    """Seconds by which a run may be late, waiting for its lock or a free place, before a warning is
    reported."""
    most_events: Annotated[int, Meta(ge=1, le=100_000_000)] = 100_000
    """Check events that wait for alerting, from which on cron keeps back all but the latest of each
    job."""
    upstream_data: bool = False
    """Whether runs are written as instances of Cronken write them."""
    upstream_weekdays: bool = False
    """Whether 0 is Monday in a cronstring, as it is for instances of Cronken."""


class Web(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    """The address on which pages and API are served."""
    port: Port = 8180
    """The port of these; 0 for none."""
    url: str = ""
    """Where people reach them, for links; empty for host and port as they are."""
    tls_cert: str = ""
    """The file of a TLS certificate with its chain; without one, plain HTTP is spoken."""
    tls_key: str = ""
    """The file of its key."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` and `-Proto` are believed."""
    connections_per_address: Annotated[int, Meta(ge=0, le=100_000)] = 250
    """Connections that one address may have open, or requests where it comes through a trusted
    proxy; 0 for no limit."""
    session_idle_hours: Annotated[int, Meta(ge=1, le=8_760)] = 12
    """Hours without a request after which somebody has to sign in again."""
    session_days: Annotated[int, Meta(ge=1, le=365)] = 7
    """Days after which they have to in any case."""
    intake_rate: Annotated[int, Meta(ge=0, le=10_000_000)] = 20_000
    """Check events a second that one API key may post, over ten seconds; 0 for no limit."""
    sns_topics: tuple[str, ...] = ()
    """ARNs of the SNS topics that are taken, and confirmed by themselves; `*` stands for anything.
    Without any, all are taken that somebody confirmed."""
    sns_hosts: tuple[str, ...] = ()
    """Hosts, with their ports, that stand in for Amazon's SNS and are believed as it is."""


class Files(Struct, frozen=True, kw_only=True):
    url: str = ""
    """Where files are stored: `s3://BUCKET/FOLDER`, `gs://…`, `az://…` or `file:///FOLDER`; empty
    for a folder beside the embedded store."""
    endpoint: str = ""
    """The address of an S3-compatible service; empty for Amazon's."""
    region: str = ""
    """The region of the bucket."""
    access_key_id: str = ""
    """The id of the key to the bucket; empty to use the service's own variables and files."""
    secret_access_key: Secret = field(default_factory=Secret)
    """The key itself."""


class Settings(Struct, frozen=True, kw_only=True):
    data: Path
    """The folder of the embedded store and of everything else that is kept on this machine."""
    store: Store = field(default_factory=Store)
    log: Log = field(default_factory=Log)
    alerting: Alerting = field(default_factory=Alerting)
    delivery: Delivery = field(default_factory=Delivery)
    oobetet: Oobetet = field(default_factory=Oobetet)
    cron: Cron = field(default_factory=Cron)
    web: Web = field(default_factory=Web)
    files: Files = field(default_factory=Files)
    gateways: Tables = field(default_factory=Tables)
    """A table for each medium by which people are told."""
    fault: Fault = ""
    """For tests of survival: a probe point, `NAME` or `NAME:N`, at which a process kills itself."""
