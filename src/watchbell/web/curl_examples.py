"""An example of each API operation as a curl command, for the API's description."""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

_CHECK = "web-1:HTTP"
_CHECKS: dict[str, Any] = {"checks": [_CHECK]}
_NIGHTLY = {
    "cron_args": {"cronstring": "30 2 * * *", "timezone": "Europe/Rome"},
    "job_args": {"cmd": "/usr/local/bin/backup", "lock": True, "ttl": 60},
}
_CONTACT: dict[str, Any] = {
    "first_name": "Alice",
    "media": {"email": {"address": "alice@example.com"}},
}
_RULE: dict[str, Any] = {"tags": ["database"], "critical_media": ["email"]}
_WINDOW = {"pattern": "web-*", "start": "tomorrow 08:00", "duration": "2 hours"}
_ALERTS = [{"labels": {"alertname": "HTTP", "instance": "web-1", "severity": "critical"}}]
_EVENT = {"type": "service", "state": "ok", "entity": "web-1", "check": "HTTP"}
_ROLE: dict[str, Any] = {
    "title": "Backup operators",
    "privileges": ["run_jobs", "abort_jobs"],
    "categories": ["backups"],
}
_RUN: dict[str, Any] = {
    "title": "Nightly backup",
    "params": {"script": "#!/bin/sh\npg_dump shop > /backup/shop.sql\n"},
    "timings": [{"type": "schedule", "hours": [2], "minutes": [30]}],
}
_WORKFLOW: dict[str, Any] = {
    "nodes": [
        {"id": "by_hand", "type": "trigger"},
        {"id": "report", "type": "job", "data": {"params": _RUN["params"]}},
    ],
    "connections": [{"id": "first", "source": "by_hand", "dest": "report"}],
}
_CRONTAB = {"text": "0 4 * * * /usr/local/bin/tidy"}

BODIES: dict[str, Any] = {
    "POST /api/v1/session": {"user": "alice", "password": "PASSWORD"},
    "PUT /api/v1/session/password": {"old": "PASSWORD", "new": "NEW_PASSWORD"},
    "POST /api/v1/users": {"name": "charlie", "role": "operator"},
    "PATCH /api/v1/users/{name}": {"role": "editor"},
    "POST /api/v1/roles": _ROLE,
    "PATCH /api/v1/roles/{id}": {"privileges": ["run_jobs"]},
    "PATCH /api/v1/api-keys/{id}": {"privileges": ["run_jobs"], "categories": ["backups"]},
    "POST /api/v1/api-keys": {"name": "deploy script", "scopes": ["read"], "days": 90},
    "POST /api/v1/checks/acknowledge": _CHECKS | {"summary": "On it", "duration": "4 hours"},
    "POST /api/v1/checks/maintenance": _CHECKS | {"start": "now", "duration": "1 hour"},
    "POST /api/v1/checks/end-maintenance": _CHECKS,
    "POST /api/v1/checks/disable": _CHECKS,
    "POST /api/v1/checks/enable": _CHECKS,
    "POST /api/v1/checks/test-notifications": _CHECKS | {"summary": "A test"},
    "POST /api/v1/checks/settings": _CHECKS | {"initial_failure_delay": 60, "ttl": 300},
    "POST /api/v1/maintenance": _WINDOW | {"summary": "New disks"},
    "POST /api/v1/maintenance/preview": _WINDOW,
    "PUT /api/v1/maintenance": {"id": "WINDOW", "end": "in 30 minutes"},
    "POST /api/v1/maintenance/end": {"id": "WINDOW"},
    "POST /api/v1/gateways/retry": {"medium": "email", "all": True},
    "POST /api/v1/gateways/test": {"medium": "email", "address": "alice@example.com"},
    "POST /api/v1/contacts": {"id": "bob", **_CONTACT, "first_name": "Bob"},
    "PUT /api/v1/contact": _CONTACT,
    "POST /api/v1/contact/links": {"entity": "web-1"},
    "POST /api/v1/contact/test": {"medium": "email"},
    "POST /api/v1/contacts/import": [{"id": "bob", **_CONTACT, "first_name": "Bob"}],
    "POST /api/v1/rules": _RULE,
    "PUT /api/v1/rule": _RULE,
    "POST /api/v1/rules/describe": _RULE,
    "POST /api/v1/rules/try": {"contact": "alice", "event": {"check": _CHECK}},
    "POST /api/v1/entities": {"name": "db-2", "tags": ["database"], "contacts": ["alice"]},
    "PUT /api/v1/entity": {"name": "web-1", "tags": ["shop"], "contacts": ["alice"]},
    "POST /api/v1/entities/import": [{"id": "17", "name": "db-2", "tags": ["database"]}],
    "POST /api/v1/alerts": _ALERTS,
    "POST /api/v1/alerts/retry": {"ids": ["ALERT"]},
    "POST /api/v1/cron/jobs": {"name": "nightly backup", "definition": _NIGHTLY},
    "PUT /api/v1/cron/job": {"definition": _NIGHTLY},
    "POST /api/v1/cron/jobs/pause": {"names": ["backup"]},
    "POST /api/v1/cron/jobs/resume": {"names": ["backup"]},
    "POST /api/v1/cron/jobs/trigger": {"names": ["backup"]},
    "POST /api/v1/cron/jobs/validate": {"names": ["backup"]},
    "POST /api/v1/cron/preview": {"cron_args": _NIGHTLY["cron_args"], "count": 3},
    "POST /api/v1/cron/import/preview": _CRONTAB,
    "POST /api/v1/cron/import": _CRONTAB,
    "POST /api/v1/cron/instances/drain": {"hosts": ["web-1"]},
    "POST /api/v1/events": _RUN,
    "PUT /api/v1/events/{id}": {"notes": "Ask Alice before you change this."},
    "POST /api/v1/events/{id}/run": {"params": {"annotate": True}},
    "PUT /api/v1/jobs/{id}/tags": {"tags": ["important"]},
    "POST /api/v1/events/preview": {"timings": _RUN["timings"]},
    "POST /api/v1/events/check": {"workflow": _WORKFLOW, "timings": []},
    "POST /api/v1/events/import": {"format": "crontab", **_CRONTAB, "dry_run": True},
    "POST /api/v1/events/bulk": {"ids": ["EVENT_ID"], "action": "disable"},
    "POST /api/v1/jobs/{id}/abort": {"reason": "No longer needed"},
    "POST /api/v1/categories": {"title": "Backups", "color": "blue"},
    "PUT /api/v1/categories/{id}": {"color": "green"},
    "POST /api/v1/plugins": {"title": "Backup", "command": "/usr/local/bin/backup"},
    "PUT /api/v1/plugins/{id}": {"uid": "backup"},
    "POST /api/v1/channels": {"title": "On call", "email": "alice@example.com"},
    "PUT /api/v1/channels/{id}": {"max_per_day": 20},
    "POST /api/v1/tags": {"title": "Important"},
    "PUT /api/v1/tags/{id}": {"title": "Very important"},
    "POST /api/v1/monitors": {"title": "Swap in use", "source": "memory.swapused"},
    "PUT /api/v1/monitors/{id}": {"data_type": "bytes"},
    "POST /api/v1/monitors/test": {"server": "SERVER", "source": "memory.swapused"},
    "POST /api/v1/dashboards": {
        "title": "Night shift",
        "panels": [{"type": "plot", "monitor": "cpu_usage"}, {"type": "checks"}],
    },
    "PUT /api/v1/dashboards/{id}": {"panels": [{"type": "servers", "group": "main"}]},
    "POST /api/v1/alert-definitions": {"title": "Busy", "expression": "monitors.cpu_usage > 90"},
    "PUT /api/v1/alert-definitions/{id}": {"samples": 5},
    "POST /api/v1/alert-definitions/test": {
        "server": "SERVER",
        "definition": {"expression": "monitors.cpu_usage > 90"},
    },
    "POST /api/v1/server-alerts/snooze": {"definition": "load_avg_high", "seconds": 7_200},
    "POST /api/v1/server-alerts/snooze/end": {"definition": "load_avg_high"},
    "POST /api/v1/expressions/evaluate": {"server": "SERVER", "text": "load[0] > cpu.cores"},
    "PATCH /api/v1/servers/{id}": {"enabled": False},
    "POST /api/v1/servers/tokens": {"hostname": "db-2", "hours": 24},
    "PUT /api/v1/servers/{id}/watch": {"seconds": 3_600},
    "PUT /api/v1/groups/{id}/watch": {"seconds": 3_600},
    "POST /api/v1/servers/{id}/commands": {"command": "cat /proc/sys/fs/file-nr"},
    "POST /api/v1/groups": {"id": "db", "title": "Databases", "hostname_match": "^db-"},
    "PATCH /api/v1/groups/{id}": {"max_jobs_per_server": 4},
    "POST /api/v1/archive/crawls": {"url": "https://example.com/", "note": "Closes in May"},
    "PATCH /api/v1/archive/crawls/{ident}": {"concurrency": 5, "ignore": ["/calendar/"]},
    "POST /api/v1/archive/crawls/{ident}/move": {"where": "front"},
    "POST /api/v1/archive/crawls/{ident}/views": {
        "url": "https://example.com/",
        "timestamp": "20261116195051",
    },
    "PUT /api/v1/archive/ignore-sets/{name}": {"patterns": ["/drafts/", "[?&]preview="]},
    "POST /api/v1/archive/ignore-sets/try": {
        "patterns": ["/drafts/"],
        "urls": ["https://example.com/drafts/1"],
    },
    "POST /api/v1/check-events": _EVENT | {"summary": "200 OK in 12 ms"},
    "POST /api/v2/alerts": _ALERTS,
    "POST /state": _EVENT | {"ttl": 300},
}
"""By method and path: the JSON that the example sends. Words in capitals stand for ids."""

_QUERIES = {
    "GET /api/v1/checks": {"state": "critical", "limit": "10"},
    "GET /api/v1/checks/board": {"entity": "web-1"},
    "GET /api/v1/check/callees": {"state": "critical"},
    "GET /api/v1/alerts": {"outcome": "failed"},
    "GET /api/v1/audit": {"action": "user"},
    "GET /api/v1/cron/jobs": {"sort": "next"},
    "GET /api/v1/runs": {"only": "error", "limit": "10"},
    "GET /api/v1/live": {"topics": "checks"},
    "GET /api/v1/archive/crawls": {"state": "running", "sort": "rate"},
    "GET /api/v1/archive/crawls/{ident}/pages": {"text": "articles"},
    "GET /api/v1/archive/history": {"text": "example.com"},
    "GET /api/v1/server-alerts": {"active": "true"},
    "GET /api/v1/servers/{id}/series": {"resolution": "day", "monitor": "cpu_usage"},
    "GET /api/v1/series": {"group": "main"},
    "GET /api/v1/servers": {"online": "true", "sort": "cpu"},
}
"""Optional parameters that an example shows."""
_VALUES = {
    "check": _CHECK,
    "contact": "alice",
    "entity": "web-1",
    "key": "PING_KEY",
    "medium": "email",
    "signal": "0",
    "hostname_match": "^db-",
    "monitor": "cpu_usage",
}
_VALUES_BY_PATH = {
    "/api/v1/users/": {"name": "bob"},
    "/api/v1/roles/": {"id": "runners"},
    "/api/v1/cron/job": {"name": "backup"},
    "/api/v1/entity": {"name": "web-1"},
    "/api/v1/contact": {"id": "alice"},
    "/api/v1/rules/times": {"text": "mon-fri 08:00-18:00"},
    "/api/v1/rule": {"id": "RULE"},
    "/api/v1/alert-definitions/": {"id": "DEFINITION", "number": "1"},
    "/api/v1/alert": {"id": "ALERT"},
    "/api/v1/sessions": {"id": "SESSION"},
    "/api/v1/api-keys": {"id": "API_KEY"},
    "/api/v1/maintenance": {"id": "WINDOW"},
    "/api/v1/rejected": {"id": "EVENT"},
    "/api/v1/cron/runs": {"id": "RUN", "text": "error"},
    "/api/v1/events/": {"id": "EVENT_ID", "number": "1"},
    "/api/v1/jobs/": {"id": "JOB", "text": "error", "name": "FILE"},
    "/api/v1/categories/": {"id": "CATEGORY", "number": "1"},
    "/api/v1/plugins/": {"id": "PLUGIN", "number": "1"},
    "/api/v1/channels/": {"id": "CHANNEL", "number": "1"},
    "/api/v1/tags/": {"id": "TAG", "number": "1"},
    "/api/v1/monitors/": {"id": "MONITOR", "number": "1"},
    "/api/v1/dashboards/": {"id": "DASHBOARD", "number": "1"},
    "/api/v1/server-alerts/": {"id": "ALERT"},
    "/api/v1/servers/tokens": {"id": "TOKEN"},
    "/api/v1/servers": {"id": "SERVER", "plugin": "open_files"},
    "/api/v1/snapshots": {"id": "SNAPSHOT", "before": "SNAPSHOT", "after": "SNAPSHOT"},
    "/api/v1/groups": {"id": "shop"},
    "/api/v1/archive/crawls": {
        "ident": "IDENT",
        "name": "FILE",
        "url": "https://example.com/",
        "timestamp": "20261116195051",
    },
    "/api/v1/archive/views": {"id": "VIEW"},
    "/api/v1/archive/pipelines": {"id": "PIPELINE"},
    "/api/v1/archive/ignore-sets": {"name": "global"},
}
"""Required parameters: those of the first path that begins so."""

_SIGN_IN = "POST /api/v1/session"
_SESSION_ONLY = frozenset(
    {
        *("DELETE /api/v1/session", "PUT /api/v1/session/password"),
        *("DELETE /api/v1/sessions", "POST /api/v1/api-keys"),
        *("POST /api/v1/archive/crawls/{ident}/views", "GET /api/v1/archive/views/{id}"),
    }
)
"""Operations that an API key can't do. Their examples use the session of the sign-in example."""


def example(method: str, path: str, operation: Mapping[str, Any]) -> str:
    """A command for a shell in which `URL` and `KEY` are set; or, for what only people who have
    signed in can do, `CSRF` from the answer to signing in."""
    name = f"{method.upper()} {path}"
    values = _VALUES | next(
        (found for prefix, found in _VALUES_BY_PATH.items() if path.startswith(prefix)), {}
    )
    required = [one for one in operation.get("parameters", []) if one.get("required")]
    query = {one["name"]: values[one["name"]] for one in required if one["in"] == "query"}
    address = re.sub(r"\{(\w+)\}", lambda found: quote(values[found[1]], safe=""), path)
    pairs = [f"{key}={quote(value, safe=':')}" for key, value in (query | _extra(name)).items()]
    url = f"$URL{address}?{'&'.join(pairs)}" if pairs else f"$URL{address}"
    return " ".join(["curl", *_options(method, path, name, operation), f'"{url}"'])


def _extra(name: str) -> dict[str, str]:
    return _QUERIES.get(name, {})


def _options(method: str, path: str, name: str, operation: Mapping[str, Any]) -> list[str]:
    options = []
    if path.endswith("/live"):
        options.append("--no-buffer")
    if path.endswith("/download"):
        options.append("--output run.log")
    body = BODIES.get(name)
    if method.upper() not in ("GET", "POST") or (method.upper() == "POST" and body is None):
        options.append(f"-X {method.upper()}")
    if name == _SIGN_IN:
        options.append("-c cookies.txt")
    elif name in _SESSION_ONLY:
        options.append('-b cookies.txt -H "X-CSRF-Token: $CSRF"')
    elif operation.get("security"):
        options.append('-H "Authorization: Bearer $KEY"')
    if body is not None:
        options.append("-H 'Content-Type: application/json'")
        options.append(f"-d '{json.dumps(body)}'")
    return options
