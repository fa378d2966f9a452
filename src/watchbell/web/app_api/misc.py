"""Handlers that are about nothing in particular."""

from collections import Counter
from typing import Any

import watchbell
from watchbell.errors import Refused
from watchbell.fleet import groups
from watchbell.jobs import job_records
from watchbell.web.app_api import records
from watchbell.web.app_api.calls import Answer, Call, Group
from watchbell.web.app_api.definitions import PLURALS
from watchbell.web.problems import HttpProblem
from watchbell.web.server_url import server_url
from watchbell.web.services import address_of

MISC = Group("api")
_HIDDEN = ("authorization", "cookie", "x-api-key", "x-csrf-token")


@MISC.reads()
async def ping(_: Call) -> Answer:
    return {}


@MISC.reads(takes="*", gives="method uri ips headers cookies params files")
async def echo(call: Call) -> Answer:
    """What was sent, without credentials."""
    headers = {
        name: value for name, value in call.request.headers.items() if name.lower() not in _HIDDEN
    }
    return {
        "method": call.request.method,
        "uri": call.request.url.path,
        "ips": [address_of(call.request)],
        "headers": headers,
        "cookies": {},
        "params": call.record(),
        "files": {},
    }


@MISC.reads()
async def error(_: Call) -> Answer:
    """An error, to try how a client handles it."""
    raise HttpProblem(400, "this is an error to test with", code="test")


@MISC.reads(gives="version epoch port config masters")
async def config(call: Call) -> Answer:
    settings = call.services.settings
    return {
        "version": watchbell.__version__,
        "epoch": call.now,
        "port": settings.web.port,
        "config": {
            "name": "Watchbell",
            "base_url": server_url(settings),
            "timezone": settings.jobs.timezone,
        },
        "masters": [],
    }


@MISC.reads(gives="stats")
async def dash_stats(call: Call) -> Answer:
    """Counts of what there is and what runs."""
    catalogue, live = await call.catalogue(), await job_records.live(call.store)
    seen = await call.services.definitions.overview()
    return {
        "stats": {
            "events": len(catalogue.events),
            "failing": sum(seen.is_failing(one) for one in catalogue.events),
            "jobs": len(live),
            "states": Counter(one.state for one in live),
        }
    }


@MISC.reads(takes="lists", gives="lists")
async def get_multiple(call: Call) -> Answer:
    """Several lists of definitions at once, each under its name."""
    names, catalogue, access = call.texts("lists"), await call.catalogue(), await call.access()
    found: dict[str, Any] = {}
    for name in names:
        if name == "events":
            found[name] = [
                records.event(
                    one,
                    catalogue,
                    is_masked=not access.allows("edit_events", one.category, one.targets),
                )
                for one in catalogue.events.values()
                if access.allows("read", one.category, one.targets)
            ]
        elif name == "groups":
            found[name] = [records.group(one) for one in await groups.every(call.store)]
        elif name in PLURALS.values():
            kind = next(kind for kind, plural in PLURALS.items() if plural == name)
            found[name] = [
                records.definition(kind, one, is_masked=True) for one in catalogue.of(kind).values()
            ]
        else:
            raise Refused(f"there is no list {name[:40]!r}", field="lists")
    return {"lists": found}
