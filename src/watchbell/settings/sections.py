"""What can be set: each section with its fields, their defaults, and a description of each."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from watchbell.settings.values import Secret, Tables, redacted

Port = Annotated[int, Meta(ge=0, le=65535)]
Fault = Annotated[str, Meta(pattern="^([^:]+(:[1-9][0-9]{0,8})?)?$", title="NAME or NAME:N")]
# The unit is what a bare number counts; any other unit can be written with the number.
Seconds = Annotated[int, Meta(ge=0, le=1 << 40, extra={"unit": "seconds"})]
UpToAnHour = Annotated[int, Meta(ge=0, le=3_600, extra={"unit": "seconds"})]
UpToADay = Annotated[int, Meta(ge=0, le=86_400, extra={"unit": "seconds"})]
Hours = Annotated[int, Meta(ge=1, le=8_760, extra={"unit": "hours"})]
Days = Annotated[int, Meta(ge=1, le=36_500, extra={"unit": "days"})]


class Store(Struct, frozen=True, kw_only=True):
    url: str = ""
    """URL of the store. Empty: the embedded store."""
    port: Port = 6380
    """Loopback port of the embedded store. 0: only its Unix socket."""
    password: Secret = field(default_factory=Secret)
    """Password that the embedded store asks for, or that is sent to `store.url` if the URL has
    none."""
    appendfsync: Literal["everysec", "always"] = "everysec"
    """When the embedded store's writes reach the disk: `everysec`, within a second, or `always`,
    before each answer."""
    max_memory: Annotated[int, Meta(ge=0, le=1 << 40, extra={"unit": "MiB"})] = 0
    """MiB of memory after which the embedded store refuses writes. 0: no limit."""

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["url"] = redacted(self.url)
        return f"Store({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class Log(Struct, frozen=True, kw_only=True):
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged: `debug`, `info`, `warning` or `error`."""
    format: Literal["auto", "text", "json"] = "auto"
    """`text`, `json`, or `auto`: text on a terminal, JSON elsewhere."""


class Alerting(Struct, frozen=True, kw_only=True):
    initial_failure_delay: Seconds = 30
    """Seconds a check must fail before the first alert."""
    repeat_failure_delay: Seconds = 60
    """Seconds before a failure that lasts is notified again."""
    initial_recovery_delay: Seconds = 0
    """Seconds a check must be ok before its recovery is notified."""
    new_check_maintenance: Seconds = 0
    """Seconds of scheduled maintenance that a new check starts with."""
    new_check_ignore_tags: tuple[str, ...] = ()
    """Tags of new checks that start without maintenance."""
    timezone: str = "UTC"
    """Time zone of contacts that have none."""
    archive: bool = True
    """Whether to keep copies of events, for `alerting.archive_seconds`."""
    archive_seconds: Seconds = 10_800
    """Seconds to keep copies of events."""
    rejected_days: Days = 7
    """Days to keep rejected events."""
    history_days: Days = 365
    """Days to keep state changes, maintenance and notifications."""
    history_changes: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """State changes to keep of each check, at most."""
    alert_days: Days = 90
    """Days to keep alerts."""
    records: bool = False
    """Whether to keep Flapjack's records beside the working layout."""


class Delivery(Struct, frozen=True, kw_only=True):
    give_up_hours: Hours = 24
    """Hours to keep retrying an alert that can't be delivered."""
    failed_days: Days = 30
    """Days to keep alerts that could not be delivered."""
    templates: str = ""
    """Folder of your own message templates, which replace the built-in ones."""
    link_url: str = ""
    """Base URL of acknowledgement links. Empty: the web pages at `web.url`."""
    link_port: Port = 0
    """Loopback port of a page that serves only acknowledgement links. 0: none."""


class Oobetet(Struct, frozen=True, kw_only=True):
    check: str = ""
    """The check, ENTITY:CHECK, whose problems and recoveries must arrive."""
    max_latency: Annotated[int, Meta(ge=1, le=86_400, extra={"unit": "seconds"})] = 300
    """Seconds within which a problem and a recovery must arrive."""
    medium: str = "jabber"
    """The medium whose account listens in `oobetet.room`."""
    room: str = ""
    """The chat room to listen in for alerts."""
    listen: str = "127.0.0.1"
    """Address to receive webhooks on, instead of listening in a room."""
    port: Port = 0
    """Port to receive webhooks on. 0: none."""
    secret: Secret = field(default_factory=Secret)
    """Secret that webhooks are signed with. Empty: signatures are not checked."""
    alarm_medium: str = ""
    """The medium that sends the alarm when alerts stop arriving."""
    alarm_address: str = ""
    """The address that the alarm is sent to."""


class Cron(Struct, frozen=True, kw_only=True):
    capacity: Annotated[int, Meta(ge=1, le=10_000)] = 100
    """Runs that one instance has at the same time, at most."""
    tags: tuple[str, ...] = ()
    """Tags of this instance. A job with tags runs only on instances that have all of them."""
    job_shell: str = "/bin/bash"
    """The shell that runs the commands."""
    timezone: str = "UTC"
    """Time zone of schedules that name none."""
    missed_grace: Seconds = 60
    """Seconds that a run may start late. Later, the job's `missed` policy decides."""
    kill_after: UpToAnHour = 10
    """Seconds between SIGTERM and SIGKILL when a run is stopped."""
    stop_wait: UpToADay = 10
    """Seconds that runs have to end by themselves when their instance stops."""
    orphans: Literal["end", "adopt"] = "end"
    """What happens to the runs of an instance that was killed: `end` them, or let them continue
    until the next instance with the same data folder can `adopt` them."""
    heartbeat: Annotated[int, Meta(ge=1, le=3_600, extra={"unit": "seconds"})] = 30
    """Seconds between heartbeats. A run without one for 1.5 times as long is frozen."""
    output_limit: Annotated[int, Meta(ge=1, le=1_024, extra={"unit": "MiB"})] = 10
    """MiB of a run's output to keep complete. Beyond that, the newest lines are kept."""
    last_lines: Annotated[int, Meta(ge=1, le=1_000)] = 10
    """Lines of output to keep with the result of a run."""
    results: Annotated[int, Meta(ge=1, le=10_000_000)] = 10_000
    """Successful runs, and as many failed ones, to list over all jobs."""
    job_results: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Successful runs, and as many failed ones, to keep of each job."""
    most_skipped: Annotated[int, Meta(ge=1, le=1_000_000)] = 3
    """Runs of a job that are skipped in a row before a warning is reported."""
    overdue_after: Seconds = 600
    """Seconds that a run may wait for its lock or for capacity before a warning is reported."""
    most_events: Annotated[int, Meta(ge=1, le=100_000_000)] = 100_000
    """Length of the event queue at which cron holds back all but the latest event of each job."""
    upstream_data: bool = False
    """Whether to write runs in the format that Cronken instances write."""
    upstream_weekdays: bool = False
    """Whether 0 is Monday in a cron expression, as in Cronken."""


class Jobs(Struct, frozen=True, kw_only=True):
    timezone: str = "UTC"
    """Time zone of timings that name none."""
    lost_after: Annotated[int, Meta(ge=2, le=604_800, extra={"unit": "seconds"})] = 900
    """Seconds that a job goes on while its server can't be reached. Then it is lost: its agent ends
    it, and it may be retried."""
    down_after: Annotated[int, Meta(ge=2, le=3_600, extra={"unit": "seconds"})] = 15
    """Seconds without a sign of life after which a server counts as down."""
    heartbeat: Annotated[int, Meta(ge=1, le=60, extra={"unit": "seconds"})] = 5
    """Seconds between the heartbeats of an agent."""
    kill_after: UpToAnHour = 10
    """Seconds between SIGTERM and SIGKILL when a job is aborted."""
    catchup_most: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    """Minutes that an event with `catchup` catches up, at most."""
    max_jobs_per_workflow: Annotated[int, Meta(ge=1, le=100_000)] = 1_000
    """Jobs that one run of a workflow launches, at most."""
    finished: Annotated[int, Meta(ge=1, le=100_000_000)] = 100_000
    """Finished jobs to keep, at most."""
    finished_days: Days = 365
    """Days to keep finished jobs."""
    log_limit: Annotated[int, Meta(ge=1, le=1_048_576, extra={"unit": "MiB"})] = 1_024
    """MiB of a job's log to keep complete. Beyond that, the newest lines are kept."""
    file_limit: Annotated[int, Meta(ge=1, le=1_048_576, extra={"unit": "MiB"})] = 1_024
    """MiB that a file which a job uploads may have."""
    most_snapshots: Annotated[int, Meta(ge=1, le=1_000_000)] = 2_000
    """Snapshots of servers and groups to keep, at most."""
    keep_snapshots: Days = 90
    """Days to keep snapshots."""
    most_events: Annotated[int, Meta(ge=1, le=100_000_000)] = 100_000
    """Length of the event queue at which jobs hold back all but the latest event of each check."""
    private_hooks: bool = False
    """Whether web hooks of events and channels may reach private addresses."""


class Agent(Struct, frozen=True, kw_only=True):
    hostname: str = ""
    """Name under which this machine joins. Empty: its host name."""
    slots: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Jobs that this machine runs at the same time. 0: four for each core."""
    users: tuple[str, ...] = ()
    """Accounts that jobs may run as, besides the agent's own. `*`: any."""


class ArchiveIrc(Struct, frozen=True, kw_only=True):
    server: str = ""
    """IRC server, `HOST` or `HOST:PORT`, that takes commands for the archive. Empty: none."""
    tls: bool = True
    """Whether the connection uses TLS."""
    ca_file: str = ""
    """File with the certificate that signs the server's. Empty: the system's."""
    nick: str = "watchbell"
    """Nickname there."""
    password: Secret = field(default_factory=Secret)
    """Password of the server."""
    channels: tuple[str, ...] = ()
    """Channels whose commands are obeyed."""


class ArchiveDashboard(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    """Address to serve ArchiveBot's dashboard protocol on. It has no sign-in: whoever reaches it
    can read the logs of all crawls."""
    port: Port = 0
    """Port for its HTTP and its WebSocket; ArchiveBot's is 4567. 0: none."""
    stream_port: Port = 0
    """A second port with the same, for viewers that expect the WebSocket on a port of its own;
    ArchiveBot's is 4568. 0: none."""
    origins: tuple[str, ...] = ()
    """Other origins whose pages may read it, such as `https://archive.example.com`. `*`: all."""


class ArchiveUpload(Struct, frozen=True, kw_only=True):
    url: str = ""
    """Where finished files are uploaded: `files`, `s3://BUCKET/FOLDER`, `ia://PREFIX`,
    `rsync://HOST/MODULE/FOLDER/` or `USER@HOST:FOLDER/`. Empty: nowhere."""
    keep: bool = True
    """Whether WARC and WACZ files stay on the machine of the pipeline after their upload."""
    endpoint: str = ""
    """Address of the S3 service. Empty: Amazon's, or the Internet Archive's."""
    region: str = ""
    """Region of the bucket."""
    access_key_id: str = ""
    """Id of the access key. Empty: the service's own variables and files are used."""
    secret: Secret = field(default_factory=Secret)
    """The secret access key, or the password of the rsync server."""
    metadata: tuple[str, ...] = ()
    """Metadata of uploaded files, each `NAME: VALUE`, such as `collection: opensource`."""
    allow_local: bool = False
    """Whether an rsync server may be on this machine, as at the end of a tunnel."""


class Archive(Struct, frozen=True, kw_only=True):
    nickname: str = ""
    """Name of the pipeline on this machine. Empty: its host name."""
    concurrent: Annotated[int, Meta(ge=0, le=1_000)] = 20
    """Crawls that a pipeline runs at the same time. 0: `up` runs no pipeline."""
    only_pages: bool = False
    """Whether the pipeline takes only crawls of single pages (`!ao`)."""
    large: bool = False
    """Whether the pipeline also takes crawls that were marked as large."""
    allow_private: bool = False
    """Whether crawls may reach loopback, link-local and private addresses."""
    browser: str = ""
    """Program of the browser, a Chromium, for crawls that want one. Empty: the one on the PATH, if
    any."""
    finished: str = ""
    """Folder of finished files. Empty: `archive/finished` in the data folder."""
    part_size: Annotated[int, Meta(ge=1, le=1_048_576, extra={"unit": "MiB"})] = 5_120
    """MiB after which a new WARC file is begun."""
    reserve: Annotated[int, Meta(ge=0, le=1 << 40, extra={"unit": "MiB"})] = 1_024
    """MiB of free disk below which crawls pause."""
    lease: Annotated[int, Meta(ge=5, le=3_600, extra={"unit": "seconds"})] = 30
    """Seconds without a sign of life after which a pipeline counts as gone."""
    return_after: Annotated[int, Meta(ge=5, le=604_800, extra={"unit": "seconds"})] = 600
    """Seconds after which the crawls of a pipeline that is gone are queued for another one."""
    host_urls: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 1_000_000
    """URLs that a crawl fetches from one host, at most."""
    most_size: Annotated[int, Meta(ge=1, le=1_048_576, extra={"unit": "MiB"})] = 10_240
    """MiB of one response that are recorded, at most."""
    history_days: Days = 3_650
    """Days to keep the list of ended crawls."""
    upload: ArchiveUpload = field(default_factory=ArchiveUpload)
    irc: ArchiveIrc = field(default_factory=ArchiveIrc)
    dashboard: ArchiveDashboard = field(default_factory=ArchiveDashboard)


class Web(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    """Address to serve pages and API on."""
    port: Port = 8180
    """Port to serve pages and API on. 0: none."""
    url: str = ""
    """URL at which people reach the pages, for links. Empty: made of host and port."""
    tls_cert: str = ""
    """File with the TLS certificate and its chain. Empty: plain HTTP."""
    tls_key: str = ""
    """File with the key of the TLS certificate."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are
    trusted."""
    connections_per_address: Annotated[int, Meta(ge=0, le=100_000)] = 250
    """Open connections of one address (for IPv6, of a /64 network), at most; behind a trusted
    proxy, requests at a time. 0: no limit."""
    session_idle_hours: Hours = 12
    """Hours without a request after which people must sign in again."""
    session_days: Annotated[int, Meta(ge=1, le=365, extra={"unit": "days"})] = 7
    """Days after which people must sign in again in any case."""
    intake_rate: Annotated[int, Meta(ge=0, le=10_000_000)] = 20_000
    """Check events per second that one API key may send, averaged over ten seconds. 0: no limit."""
    sns_topics: tuple[str, ...] = ()
    """ARNs of the SNS topics to accept and to confirm automatically; `*` matches anything. Empty:
    every topic that a person has confirmed."""
    sns_hosts: tuple[str, ...] = ()
    """Hosts, as HOST:PORT, that are trusted like Amazon SNS."""


class FlapjackApi(Struct, frozen=True, kw_only=True):
    port: Port = 0
    """Port of Flapjack's JSON API, version 1, for clients written for it; they expect 3081. 0:
    none."""
    listen: str = "127.0.0.1"
    """Address to serve it on."""
    allow_loopback: bool = False
    """Whether programs on this machine may use it without an API key, as editors may."""


class Files(Struct, frozen=True, kw_only=True):
    url: str = ""
    """Where to store files: `s3://BUCKET/FOLDER`, `gs://…`, `az://…` or `file:///FOLDER`. Empty:
    the folder `files` in the data folder."""
    endpoint: str = ""
    """Address of an S3-compatible service. Empty: Amazon's."""
    region: str = ""
    """Region of the bucket."""
    access_key_id: str = ""
    """Id of the access key. Empty: the service's own variables and files are used."""
    secret_access_key: Secret = field(default_factory=Secret)
    """The secret access key."""


class Settings(Struct, frozen=True, kw_only=True):
    data: Path
    """Folder for the embedded store and everything else that is kept on this machine."""
    store: Store = field(default_factory=Store)
    log: Log = field(default_factory=Log)
    alerting: Alerting = field(default_factory=Alerting)
    delivery: Delivery = field(default_factory=Delivery)
    oobetet: Oobetet = field(default_factory=Oobetet)
    cron: Cron = field(default_factory=Cron)
    jobs: Jobs = field(default_factory=Jobs)
    agent: Agent = field(default_factory=Agent)
    archive: Archive = field(default_factory=Archive)
    web: Web = field(default_factory=Web)
    flapjack_api: FlapjackApi = field(default_factory=FlapjackApi)
    files: Files = field(default_factory=Files)
    gateways: Tables = field(default_factory=Tables)
    """A table for each medium that sends alerts."""
    job_defaults: Tables = field(default_factory=Tables)
    """What applies to all jobs: a table `env` of variables, and one for each limit and action."""
    fault: Fault = ""
    """For tests of crash safety: the point, `NAME` or `NAME:N`, at which a process kills itself."""
