"""Handlers for searches."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from watchbell.actors import Kind, may, privilege_to
from watchbell.errors import Refused
from watchbell.fleet import permissions as fleet_permissions
from watchbell.fleet.model import AlertRecord
from watchbell.fleet.monitoring import alerts
from watchbell.jobs import definitions, history, revisions
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.history import Query
from watchbell.jobs.history_index import workflow_of
from watchbell.jobs.model import Event, Job
from watchbell.jobs.server_status import ServerStatus
from watchbell.web import audit
from watchbell.web.app_api import query, records, revision_rows
from watchbell.web.app_api.activity import activity_row
from watchbell.web.app_api.calls import MOST_ROWS, Answer, Call, CallerAccess, Group
from watchbell.web.app_api.definitions import PLURALS
from watchbell.web.app_api.job_reading import shown_jobs
from watchbell.web.app_api.jobs import ordered
from watchbell.web.app_api.monitoring import invocation
from watchbell.web.app_api.query import Fields, Term
from watchbell.web.app_api.servers import readable_servers

T = TypeVar("T")

SEARCH = Group("search")
MOST_WALKED = 10_000
"""Jobs that one search looks at beyond those that it gives, so `length` may be too small."""
_PAGE = 1_000

JOB_FIELDS = Fields(
    words=(
        *("id", "event", "title", "category", "plugin", "server", "groups", "tags", "source"),
        *("username", "code", "state", "workflow"),
    ),
    numbers=("elapsed",),
    times=("date", "completed", "started"),
)
_INDEXED = {
    "event": "events",
    "category": "categories",
    "plugin": "plugins",
    "server": "servers",
    "source": "sources",
    "username": "usernames",
    "workflow": "workflows",
    "code": "codes",
}
SERVER_FIELDS = Fields(
    words=("id", "hostname", "title", "ip", "groups", "enabled", "os_platform", "os_distro"),
    times=("created", "modified"),
)
ALERT_FIELDS = Fields(
    words=("id", "alert", "server", "groups", "active", "jobs"),
    times=("date", "modified", "start", "end"),
)
_INDEXED_ALERTS = {"alert": "alerts", "server": "servers", "groups": "groups"}
ACTIVITY_FIELDS = Fields(
    words=("action", "username", "subject", "description", "ip"), times=("date", "epoch")
)
REVISION_FIELDS = Fields(words=("id", "username", "description"), times=("date", "epoch"))
_LISTED = "query offset limit sort_by sort_dir"


def _terms(call: Call, fields: Fields) -> list[Term]:
    zone = ZoneInfo(call.services.settings.jobs.timezone)
    return query.parse(call.text("query", "*"), fields, zone)


def _limit(call: Call) -> int:
    return min(max(call.number("limit", 1), 0), MOST_ROWS)


@SEARCH.reads(takes=f"{_LISTED} verbose", gives="rows list")
async def search_jobs(call: Call) -> Answer:
    access = await call.access()
    wanted = await _job_search(call, access)
    offset, limit = max(call.number("offset", 0), 0), _limit(call)
    sort_by, is_newest_first = call.text("sort_by", "completed"), call.number("sort_dir", -1) < 0
    is_by_time = sort_by in ("completed", "_id") and is_newest_first
    found = await wanted.jobs(call, offset + limit if is_by_time else MOST_WALKED)
    total = await wanted.total(call, found)
    if not is_by_time:
        found = ordered(found, "completed" if sort_by == "_id" else sort_by, call)
    page = found[offset : offset + limit]
    rows = await shown_jobs(call, page, access, is_short=not call.yes("verbose"))
    return {"rows": rows, "list": {"length": total}}


async def _job_search(call: Call, access: CallerAccess) -> "JobSearch":
    terms, catalogue = _terms(call, JOB_FIELDS), await call.catalogue()
    return JobSearch(terms, catalogue, access, is_limited=call.actor_is_limited)


class JobSearch:
    """Finished jobs that match a query: by indexes as far as they go, then one by one."""

    def __init__(
        self,
        terms: Sequence[Term],
        catalogue: Catalogue,
        access: CallerAccess,
        *,
        is_limited: bool,
    ) -> None:
        self._catalogue, self._access, self._is_limited = catalogue, access, is_limited
        self.query, self.rest = indexed(terms)

    def _is_wanted(self, job: Job) -> bool:
        if self._is_limited and not self._access.allows("read", job.category, job.targets):
            return False
        return not self.rest or query.fits(self.rest, self._fields(job))

    def _fields(self, job: Job) -> dict[str, Any]:
        event = self._catalogue.events.get(job.event)
        title = event.title if event else job.event
        return {
            "": f"{title} {job.label} {job.description}",
            "id": job.id,
            "title": title.split(),
            "event": job.event,
            "category": job.category,
            "plugin": job.plugin,
            "server": job.server,
            "groups": job.groups,
            "tags": job.tags,
            "source": job.source,
            "username": job.username,
            "workflow": workflow_of(job),
            "code": [job.code, "error" if job.code else "success"],
            "state": job.state,
            "elapsed": job.elapsed,
            "date": job.completed,
            "completed": job.completed,
            "started": job.started,
        }

    async def jobs(self, call: Call, most: int) -> list[Job]:
        """The newest first."""
        found: list[Job] = []
        after, walked = "", 0
        while len(found) < most and walked < MOST_WALKED + most:
            size = _PAGE if self.rest or self._is_limited else min(most - len(found), _PAGE)
            page = await history.search(call.store, self.query, size, after)
            found += [one for one in page.jobs if self._is_wanted(one)]
            walked += size
            if page.following is None:
                return found
            after = page.following
        return found

    async def total(self, call: Call, found: Sequence[Job]) -> int:
        """How many there are, as far as that is known without looking at too many."""
        if not self.rest and not self._is_limited:
            count = await history.count(call.store, self.query)
            if count is not None:
                return max(count, len(found))
        return len(await self.jobs(call, MOST_WALKED))


def indexed(terms: Sequence[Term]) -> tuple[Query, list[Term]]:
    """What the indexes of finished jobs answer, and the terms that they do not."""
    known: dict[str, Any] = {}
    tags: list[str] = []
    rest: list[Term] = []
    for term in terms:
        name = _INDEXED.get(term.field, "")
        if term.is_negated:
            rest.append(term)
        elif term.field == "tags" and len(term.values) == 1:
            tags.append(term.values[0])
        elif name and name not in known and term.values:
            known[name] = term.values
        elif term.field in ("date", "completed") and not {"since", "until"} & known.keys():
            known |= {"since": term.low, "until": term.high}
        else:
            rest.append(term)
    return Query(**known, tags=tuple(tags)), rest


async def matching_jobs(call: Call) -> tuple[list[Job], CallerAccess]:
    """The newest first, with what the caller may do with them."""
    access = await call.access()
    wanted = await _job_search(call, access)
    return await wanted.jobs(call, MOST_WALKED), access


def _paged(
    call: Call,
    rows: Sequence[dict[str, Any]],
    fields: Fields,
    text: Callable[[dict[str, Any]], Any],
) -> Answer:
    """Rows that match the query of a call; `text` gives the fields of a row."""
    terms = _terms(call, fields)
    return _page(call, [one for one in rows if query.fits(terms, text(one))])


def _page(call: Call, found: Sequence[T]) -> dict[str, Any]:
    """`found`: the newest first."""
    ordered_rows = found[::-1] if call.number("sort_dir", -1) > 0 else found
    offset = max(call.number("offset", 0), 0)
    return {"rows": ordered_rows[offset : offset + _limit(call)], "list": {"length": len(found)}}


@SEARCH.reads(takes=_LISTED, gives="rows list")
async def search_servers(call: Call) -> Answer:
    known = await readable_servers(call)
    by_id = {one.server.id: _server_fields(one) for one in known}
    rows = [records.server(one) for one in known]
    return _paged(call, rows, SERVER_FIELDS, lambda row: by_id[row["id"]])


def _server_fields(status: ServerStatus) -> dict[str, Any]:
    server = status.server
    return {
        "": " ".join(records.keywords(status)),
        "id": server.id,
        "hostname": server.hostname,
        "title": server.title,
        "ip": server.ip,
        "groups": server.groups,
        "enabled": "true" if server.enabled else "false",
        "os_platform": server.info.platform,
        "os_distro": server.info.os.get("distro", ""),
        "created": server.created,
        "modified": server.modified,
    }


@SEARCH.reads(takes=_LISTED, gives="rows list")
async def search_alerts(call: Call) -> Answer:
    """Alerts of servers, active and past."""
    page = _page(call, await matching_alerts(call))
    return {**page, "rows": [invocation(one) for one in page["rows"]]}


async def matching_alerts(call: Call) -> list[AlertRecord]:
    """The newest first, of some thousand that the indexes find."""
    terms = _terms(call, ALERT_FIELDS)
    wanted = indexed_alerts(terms, fleet_permissions.readable_groups(call.actor))
    found = await alerts.matching(call.store, wanted)
    return [one for one in found if query.fits(terms, _alert_fields(one))]


def indexed_alerts(terms: Sequence[Term], readable: frozenset[str] | None) -> alerts.Query:
    """What the indexes of alerts answer, at least all that match."""
    known: dict[str, Any] = {}
    for term in terms:
        if term.is_negated:
            continue
        name = _INDEXED_ALERTS.get(term.field, "")
        if name and name not in known:
            known[name] = tuple(value.lower() for value in term.values)
        elif term.field == "active" and [one.lower() for one in term.values] == ["true"]:
            known["active"] = True
        elif term.field in ("date", "start") and not {"since", "until"} & known.keys():
            known |= {"since": term.low, "until": term.high}
    return alerts.Query(**known, readable=readable)


def _alert_fields(alert: AlertRecord) -> dict[str, Any]:
    text = f"{alert.title} {alert.message} {alert.hostname}"
    return {
        **msgspec.structs.asdict(alert),
        "": text,
        "active": "true" if alert.active else "false",
        "start": alert.date,
        "end": alert.cleared,
    }


@SEARCH.reads(takes=_LISTED, gives="rows list", needs="admin")
async def search_activity(call: Call) -> Answer:
    found = await audit.read(call.store, "", MOST_WALKED)
    return _paged(call, [activity_row(one) for one in found], ACTIVITY_FIELDS, _activity_fields)


def _activity_fields(row: dict[str, Any]) -> dict[str, Any]:
    text = f"{row['action']} {row['username']} {row.get('subject', '')} {row['description']}"
    return {**row, "": text, "date": row["epoch"]}


_KINDS: dict[str, Kind] = {"events": "event", **{plural: kind for kind, plural in PLURALS.items()}}


@SEARCH.reads(takes=f"type {_LISTED}", gives="rows list")
async def search_revision_history(call: Call) -> Answer:
    """Revisions of records of a kind, the newest first: of those that were changed last, and that
    exist."""
    kind = _KINDS.get(call.text("type"))
    if kind is None:
        raise Refused(f"expected one of {', '.join(sorted(_KINDS))}", field="type", code="search")
    access, rows = await call.access(), list[dict[str, Any]]()
    edit = privilege_to("edit", kind)
    known = await definitions.every(call.store, kind)
    latest = sorted(known.items(), key=lambda pair: -pair[1].modified)[:MOST_ROWS]
    for id, record in latest:  # noqa: A001
        may_edit = bool(may(call.actor, edit))
        if isinstance(record, Event):
            if not access.allows("read", record.category, record.targets):
                continue
            may_edit = access.allows(edit, record.category, record.targets)
        found = await revisions.of(call.store, kind, id)
        rows += revision_rows.rows(kind, id, found, is_masked=not may_edit)
    rows.sort(key=lambda row: -float(row["epoch"]))
    return _paged(call, rows, REVISION_FIELDS, lambda row: _revision_fields(kind, row))


def _revision_fields(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    title = row[kind].get("title", "")
    return {**_activity_fields(row), "id": row[kind].get("id"), "": f"{title} {row['description']}"}
