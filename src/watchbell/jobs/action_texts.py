"""The mails and web hooks of actions. Pure."""

from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.jobs import outcomes
from watchbell.jobs.decide.actions import LIMIT
from watchbell.jobs.model import ABORTED, Action, Job
from watchbell.units import in_bytes, utc_time

LOG_LINES = 50
"""Lines of the end of a log that a message includes."""
_MOST_LOG = 16_000
_MOST_PAYLOAD = 256 << 10
"""Bytes of a payload above which it leaves out what the job itself supplied."""
_OWN = ("data", "input", "parent", "table", "html", "text", "markdown", "perf", "update_event")
"""What the job supplied, and may be of any length."""
_WITHHELD = ("command", "script", "uid", "gid", "cwd", "env", "actions", "limits", "activity")
"""How and where it is run is nothing for other people's servers."""


class JobFacts(Struct, frozen=True, kw_only=True):
    """What a message says about a job beyond its record."""

    title: str
    """Of the event."""
    category: str = ""
    plugin: str = ""
    host: str = ""
    link: str = ""
    """The job's page."""
    log_end: str = ""
    params: dict[str, Any] = {}
    """Without secrets."""


def subject(job: Job, action: Action, facts: JobFacts) -> str:
    """`Backup failed on db-1`."""
    return f"{facts.title} {_verb(job, action)}{_where(action, facts)}"


def _where(action: Action, facts: JobFacts) -> str:
    return f" on {facts.host}" if facts.host and action.type != "suspend" else ""


def _verb(job: Job, action: Action) -> str:
    if action.type == "suspend":
        return "is suspended and waits for somebody to resume it"
    if action.trigger == "start":
        return "has started"
    if action.trigger.startswith(LIMIT):
        return f"reached its {_LIMITS.get(action.trigger.removeprefix(LIMIT), '')}limit"
    if not outcomes.has_failed(job.code):
        return "succeeded"
    return _VERBS.get(str(job.code), "failed")


_VERBS = {
    "warning": "ended with a warning",
    "critical": "failed critically",
    ABORTED: "was aborted",
}
_LIMITS = {"time": "time ", "log": "log size ", "mem": "memory ", "cpu": "CPU "}


def text(job: Job, action: Action, facts: JobFacts, reason: str = "") -> str:
    """The plain text of a mail. `reason` says how a limit was reached."""
    fields = list(_fields(job, facts))
    width = max(len(name) for name, _ in fields) + 2
    parts = [
        action.text.strip(),
        _headline(job, action, facts, reason),
        "\n".join(f"{name + ':':<{width}}{value}" for name, value in fields),
        _section("Notes", job.notes),
        _section("End of the log", log_end(facts)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def html(job: Job, action: Action, facts: JobFacts, reason: str = "") -> str:
    rows = "".join(
        f'<tr><td style="padding-right:1em;color:#666">{escape(name)}</td>'
        f"<td>{_linked(value, facts.link)}</td></tr>"
        for name, value in _fields(job, facts)
    )
    parts = [
        _paragraph(action.text),
        f"<p><strong>{escape(_headline(job, action, facts, reason))}</strong></p>",
        f"<table>{rows}</table>",
        f"<h3>Notes</h3>{_paragraph(job.notes)}" if job.notes.strip() else "",
        f"<h3>End of the log</h3><pre>{escape(log_end(facts))}</pre>" if log_end(facts) else "",
    ]
    return "".join(parts)


def payload(job: Job, action: Action, facts: JobFacts, reason: str = "") -> str:
    """The JSON of a web hook: the fields of the job, and a text for chats that show one."""
    fields: dict[str, Any] = msgspec.to_builtins(job)
    for name in _WITHHELD:
        fields.pop(name, None)
    headline = _headline(job, action, facts, reason)
    fields |= {
        "code": job.code,
        "params": facts.params,
        "action": action.trigger,
        "event_title": facts.title,
        "category_title": facts.category,
        "plugin_title": facts.plugin,
        "hostname": facts.host,
        "links": {"job_details": facts.link},
        "log_end": log_end(facts),
        "text": "\n".join(part for part in (action.text.strip(), headline, facts.link) if part),
    }
    encoded = msgspec.json.encode(fields)
    if len(encoded) > _MOST_PAYLOAD:
        kept = {name: value for name, value in fields.items() if name not in _OWN}
        encoded = msgspec.json.encode(kept | {"text": fields["text"], "params": {}, "cut": True})
    return encoded.decode()


def log_end(facts: JobFacts) -> str:
    return facts.log_end.rstrip()[-_MOST_LOG:]


def _headline(job: Job, action: Action, facts: JobFacts, reason: str) -> str:
    if reason:
        return f"{facts.title}{_where(action, facts)}: {reason}"
    why = ""
    if action.trigger != "start" and not action.trigger.startswith(LIMIT):
        why = job.description
    return subject(job, action, facts) + (f": {why}" if why else "")


def _fields(job: Job, facts: JobFacts) -> Iterator[tuple[str, str]]:
    yield "Event", f"{facts.title} ({job.event})"
    yield "Job", job.id
    if job.completed:
        yield "Result", outcomes.described_code(job.code)
    if job.started:
        yield "Started", utc_time(int(job.started))
    if job.completed:
        yield "Completed", utc_time(int(job.completed))
        yield "Elapsed", outcomes.seconds(job.elapsed)
    for name, value in (
        ("Category", facts.category),
        ("Plugin", facts.plugin),
        ("Server", facts.host),
        ("Launched by", launched_by(job)),
        ("Attempt", str(job.retry_count + 1) if job.retry_count else ""),
        ("Tags", ", ".join(tag for tag in job.tags if not tag.startswith("_"))),
        ("CPU", f"{job.cpu.max:.0f} % at most" if job.cpu else ""),
        ("Memory", f"{in_bytes(int(job.mem.max))} at most" if job.mem else ""),
        ("Log", in_bytes(job.log_file_size) if job.log_file_size else ""),
        ("Details", facts.link),
    ):
        if value:
            yield name, value


def launched_by(job: Job) -> str:
    match job.source:
        case "user":
            return job.username
        case "key":
            return f"API key {job.key}"
        case "action" if job.parent:
            return f"an action of job {job.parent.id}"
        case "workflow" if job.workflow:
            return f"the node {job.workflow.node} of job {job.workflow.job}"
        case "scheduler":
            return "schedule"
        case source:
            return source


def _section(title: str, content: str) -> str:
    content = content.strip("\n")
    return f"{title}\n{'-' * len(title)}\n{content}" if content.strip() else ""


def _paragraph(content: str) -> str:
    lines = escape(content.strip()).replace("\n", "<br>")
    return f"<p>{lines}</p>" if lines else ""


def _linked(value: str, link: str) -> str:
    shown = escape(value)
    return f'<a href="{shown}">{shown}</a>' if value == link else shown
