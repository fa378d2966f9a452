"""Handlers that delete what a search finds."""

from collections.abc import Awaitable, Callable

from watchbell.errors import Refused
from watchbell.fleet import snapshots
from watchbell.fleet.monitoring import alerts
from watchbell.jobs import history
from watchbell.units import counted
from watchbell.web.app_api.calls import Answer, Call, Group
from watchbell.web.app_api.search import matching_alerts, matching_jobs
from watchbell.web.app_api.snapshots import matching_snapshots

DELETION = Group("search")
_AT_ONCE = 500


@DELETION.changes("delete_jobs", takes="query", gives="count")
async def bulk_search_delete_jobs(call: Call) -> Answer:
    """Deletes the jobs that match, at most some thousand at a time; `count` says how many."""
    return {"count": await _delete_jobs(call)}


@DELETION.changes("admin", takes="index query", gives="count")
async def bulk_search_delete(call: Call) -> Answer:
    """Likewise the records of an index: jobs, snapshots, or alerts that are not active."""
    delete = _WAYS.get(call.text("index"))
    if delete is None:
        raise Refused(f"expected one of {', '.join(sorted(_WAYS))}", field="index")
    return {"count": await delete(call)}


async def _delete_jobs(call: Call) -> int:
    asked = call.text("query")
    found, access = await matching_jobs(call)
    allowed = [one.id for one in found if access.allows("delete_jobs", one.category, one.targets)]
    count = 0
    for first in range(0, len(allowed), _AT_ONCE):
        some = allowed[first : first + _AT_ONCE]
        count += await history.delete(call.store, call.services.files(), some)
    await call.audit("jobs.delete", asked[:200], counted(count, "job"))
    return count


async def _delete_alerts(call: Call) -> int:
    asked = call.text("query")
    found = await matching_alerts(call)
    count = 0
    for first in range(0, len(found), _AT_ONCE):
        count += await alerts.delete_some(call.store, found[first : first + _AT_ONCE])
    await call.audit("server_alerts.delete", asked[:200], counted(count, "alert"))
    return count


async def _delete_snapshots(call: Call) -> int:
    asked = call.text("query")
    ids = [one.id for one in await matching_snapshots(call)]
    count = 0
    for first in range(0, len(ids), _AT_ONCE):
        count += await snapshots.delete(call.store, ids[first : first + _AT_ONCE])
    await call.audit("snapshots.delete", asked[:200], counted(count, "snapshot"))
    return count


_WAYS: dict[str, Callable[[Call], Awaitable[int]]] = {
    "alerts": _delete_alerts,
    "jobs": _delete_jobs,
    "snapshots": _delete_snapshots,
}
