"""Endpoints for what monitors say of servers: the values now, and series."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from litestar import Router, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from watchbell.errors import Refused
from watchbell.fleet import permissions, servers
from watchbell.fleet.model import Server
from watchbell.fleet.monitoring import alerts, buckets, latest, series
from watchbell.fleet.monitoring.buckets import RINGS, Resolution
from watchbell.fleet.monitoring.evaluator import Failure
from watchbell.jobs import monitor_trials
from watchbell.jobs.monitor_trials import AlertTrial
from watchbell.web.access import needs
from watchbell.web.fleet.monitoring_shapes import (
    AlertTest,
    Failing,
    Failures,
    MonitorSeries,
    MonitorTest,
    MonitorTested,
    SeriesShown,
    ServerValues,
)
from watchbell.web.services import Asked, actor_of, services_of

Id = Annotated[str, PathParameter(max_length=100, description="A server's id.")]
Monitors = Annotated[
    list[str] | None,
    QueryParameter(name="monitor", max_items=100, description="These monitors; all if none."),
]
Resolutions = Annotated[
    Resolution,
    QueryParameter(description="Buckets of a minute, of two, of an hour, or of half a day."),
]
Since = Annotated[
    int | None,
    QueryParameter(ge=0, le=1 << 40, description="The beginning, in seconds since 1970."),
]
Until = Annotated[
    int | None,
    QueryParameter(ge=0, le=1 << 40, description="The end, in seconds since 1970; now if none."),
]
Group = Annotated[
    str, QueryParameter(max_length=100, description="Only servers of this group; empty for all.")
]


@get("/servers/values", opt=needs("read"))
async def server_values(request: Asked, group: Group = "") -> list[ServerValues]:
    """List servers with what their monitors said at the last sample."""
    services, now = services_of(request), services_of(request).now()
    known = [one for one in await _readable(request) if not group or group in one.groups]
    states = await latest.states(services.store, [one.id for one in known])
    active: dict[str, tuple[str, ...]] = {}
    for alert in await alerts.active(services.store):
        active[alert.server] = (*active.get(alert.server, ()), alert.alert)
    monitors = (await services.definitions.catalogue()).monitors.values()
    return [
        ServerValues(
            server=one.id,
            hostname=one.hostname,
            title=one.title,
            groups=one.groups,
            at=state.at,
            is_stale=now - state.at > alerts.STALE_AFTER,
            values={
                monitor.id: value
                for monitor in monitors
                if (value := latest.value(state, monitor)) is not None
            },
            alerts=active.get(one.id, ()),
        )
        for one in known
        if (state := states.get(one.id)) is not None
    ]


async def _readable(request: Asked) -> list[Server]:
    known = await servers.every(services_of(request).store)
    return permissions.readable(actor_of(request), known)


@get("/servers/{id:str}/series", opt=needs("read"))
async def server_series(
    request: Asked,
    id: Id,  # noqa: A002
    resolution: Resolutions = "day",
    monitors: Monitors = None,
    since: Since = None,
    until: Until = None,
) -> SeriesShown:
    """Get the series of a server: of many monitors."""
    services = services_of(request)
    permissions.check_readable(actor_of(request), await servers.get(services.store, id))
    if monitors is None:
        catalogue = await services.definitions.catalogue()
        ordered = sorted(catalogue.monitors.values(), key=lambda one: (one.sort_order, one.id))
        monitors = [one.id for one in ordered]
    return await _series(request, [(id, one) for one in monitors], resolution, since, until)


@get("/series", opt=needs("read"))
async def monitor_series(
    request: Asked,
    monitor: Annotated[str, QueryParameter(max_length=64, description="A monitor's id.")],
    wanted: Annotated[
        list[str] | None,
        QueryParameter(name="server", max_items=100, description="These servers; all if none."),
    ] = None,
    group: Group = "",
    resolution: Resolutions = "day",
    since: Since = None,
    until: Until = None,
) -> SeriesShown:
    """Get the series of one monitor: of several servers."""
    found = [
        one.id
        for one in await _readable(request)
        if (wanted is None or one.id in wanted) and (not group or group in one.groups)
    ]
    pairs = [(one, monitor) for one in found[: series.MOST]]
    return await _series(request, pairs, resolution, since, until)


async def _series(
    request: Asked,
    pairs: Sequence[tuple[str, str]],
    resolution: Resolution,
    since: float | None,
    until: float | None,
) -> SeriesShown:
    services, now = services_of(request), services_of(request).clock.now()
    end = min(now if until is None else until, now)
    start = end - buckets.SPANS[resolution] if since is None else since
    if start > end:
        raise Refused("the beginning is after the end", field="since")
    found = await series.read(services.store, pairs, resolution, since=start, until=end)
    window = buckets.window(resolution, start, end)
    return SeriesShown(
        start=window.start,
        step=RINGS[resolution].step,
        series=[
            MonitorSeries(server=server, monitor=monitor, values=points.values)
            for (server, monitor), points in zip(pairs, found, strict=False)
        ],
    )


@get("/monitors/failures", opt=needs("read"))
async def failures(request: Asked) -> Failures:
    """List monitors and alert definitions that could not be evaluated in the last minutes."""
    services = services_of(request)
    found = await latest.failures(services.store, services.clock.now())
    names = {one.id: one.hostname for one in await _readable(request)}
    return Failures(monitors=_failing(found.monitors, names), alerts=_failing(found.alerts, names))


def _failing(found: dict[str, Failure], names: Mapping[str, str]) -> list[Failing]:
    """`names`: of the servers that may be read. A reason quotes what is measured of a server."""
    return [
        Failing(
            id=name,
            at=one.at,
            server=one.server,
            hostname=names[one.server],
            reason=one.reason,
        )
        for name, one in sorted(found.items())
        if one.server in names
    ]


@post("/monitors/test", status_code=200, opt=needs("edit_monitors"))
async def test_monitor(request: Asked, data: JSONBody[MonitorTest]) -> MonitorTested:
    """Try an expression on the last sample of a server, without saving it."""
    store = services_of(request).store
    given = {"data_match": data.data_match, "data_type": data.data_type, "source": data.source}
    monitor = monitor_trials.as_monitor(given)
    server = await _server(request, data.server)
    return MonitorTested(value=await monitor_trials.try_monitor(store, monitor, server))


@post("/alert-definitions/test", status_code=200, opt=needs("edit_alerts"))
async def test_alert(request: Asked, data: JSONBody[AlertTest]) -> AlertTrial:
    """Try an alert definition on the last sample of a server, without saving it."""
    rule = monitor_trials.as_alert(data.definition)
    server = await _server(request, data.server)
    return await monitor_trials.try_alert(services_of(request).store, rule, server)


async def _server(request: Asked, id_: str) -> Server:
    server = await servers.get(services_of(request).store, id_)
    permissions.check_readable(actor_of(request), server)
    return server


ROUTES = Router(
    "/",
    tags=["Monitors"],
    route_handlers=[
        *(server_values, server_series, monitor_series, failures),
        *(test_monitor, test_alert),
    ],
)
