"""A fleet with a little of everything, so that each page has something to show."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp import ClientSession, CookieJar

from tests.browser.house import House
from tests.fleet.measured_servers import measured
from tests.waiting import eventually
from tests.web.site import BY, Site, Visitor
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.jobs import snapshot_taker
from watchbell.web.people import sign_in_links

LONG = "x" * 200
HOUR = 3_600
SERVER_TABS = ("", "&span=minute", "&tab=processes", "&tab=network", "&tab=alerts", "&tab=settings")
PANELS = [
    {"type": "plot", "monitor": "load_avg"},
    *({"type": one} for one in ("servers", "checks", "alerts", "jobs", "crawls")),
    {"type": "text", "text": "Call `Bob` at night."},
]
SHOUT = "printf 'one\\ntwo\\n\\033[31mred\\033[0m\\n'; exit 3"


@asynccontextmanager
async def administrator(house: House) -> AsyncIterator[Visitor]:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as http:
        visitor = Visitor(Site(house.url, house.services), http)
        alice = await house.services.users.add("alice", "administrator", BY)
        await visitor.post(await sign_in_links.make(house.store, alice, BY))
        visitor.csrf = (await visitor.get("/api/v1/session")).json()["csrf"]
        yield visitor


async def sent(visitor: Visitor, path: str, body: dict[str, Any]) -> Any:
    answer = await visitor.post(f"/api/v1/{path}", json=body)
    assert answer.status < 300, (path, answer.text)
    return answer.json()


async def fill(house: House) -> list[str]:
    """Fills the house; returns the paths of pages that show one thing."""
    server, snapshot = await measured_server(house)
    async with administrator(house) as alice:
        await people(alice)
        await checks(house, alice)
        await windows(alice)
        run = await cron(alice)
        event = await events(alice)
        job = await workflow(alice, event)
        await sent(alice, "api-keys", {"name": "deploy script", "scopes": ["read"]})
        await sent(alice, "dashboards", {"id": "night", "title": "Night shift", "panels": PANELS})
        await sent(alice, "users", {"name": "bob", "role": "operator"})
    names = ("web-1:HTTP", f"{LONG}:HTTP")
    return [
        *(f"/check?id={quote(name, safe='')}" for name in names),
        *("/contact?id=alice", "/cron/job?name=backup", f"/cron/run?id={run}"),
        *(f"/events/event?id={event}{tab}" for tab in ("", "&tab=edit", "&tab=history")),
        *(f"/events/event?id=release{tab}" for tab in ("", "&tab=edit")),
        f"/jobs/job?id={job}",
        *("/dashboards/dashboard?id=night", "/dashboards/dashboard?id=night&edit=yes"),
        *("/dashboards/dashboard?id=night&history=yes", "/dashboards?new=yes"),
        *("/categories?id=databases", "/channels?id=dba", "/plugins?id=httpplug&tab=try"),
        *(f"/servers/server?id={server}{tab}" for tab in SERVER_TABS),
        *("/alert-definitions?id=load_avg_high", "/alert-definitions?new=yes"),
        *("/monitors?id=load_avg", "/monitors?id=load_avg&tab=compare"),
        *(f"/snapshots/snapshot?id={snapshot}", "/snapshots/compare?before=x"),
    ]


async def measured_server(house: House) -> tuple[str, str]:
    """A server with samples and an alert, and a snapshot of it; their ids."""
    now = SYSTEM.now()
    server = await measured(house.store, "db-1", now, loads=[1, 9, 9])
    taken, _ = await snapshot_taker.take(
        house.store, "server", server.id, source="user", now=now, username="alice"
    )
    return server.id, taken.id


async def people(alice: Visitor) -> None:
    media = {"email": {"address": "alice@example.com"}, "sms": {"address": "+390551234567"}}
    contact = {"id": "alice", "first_name": "Alice", "media": media, "tags": ["on-call"]}
    await sent(alice, "contacts", contact)
    await sent(alice, "contact/links?id=alice", {"entity": "ALL"})
    office = "0" * 16 + "1" * 20 + "0" * 12
    week = ["0" * 48, *[office] * 5, "0" * 48]
    rule = {"tags": ["database"], "week": week, "critical_media": ["email"]}
    await sent(alice, "rules?contact=alice", rule)


async def checks(house: House, alice: Visitor) -> None:
    reports = (
        ("web-1", "HTTP", "critical", "connection refused"),
        ("web-1", "Disk /var", "warning", "91 % of 40 GB used"),
        (LONG, "HTTP", "critical", "timeout " * 30),
        ("db-1", "MySQL", "critical", "too many connections"),
        ("db-1", "Load", "ok", "0.12 0.10 0.08"),
    )
    for entity, check, state, summary in reports:
        event = {"type": "service", "entity": entity, "check": check, "state": state}
        at_once = {"initial_failure_delay": 0} if check == "HTTP" else {}
        more = at_once | {
            "summary": summary,
            "perfdata": "time=2s;;;0;9 size=512B",
            "tags": ["shop"],
        }
        await sent(alice, "check-events", event | more)
    await house.store.call("LPUSH", Alerting().events(), "not json")

    async def known() -> bool:
        return int(await house.store.call("ZCARD", Alerting().all_checks())) >= len(reports)

    await eventually(known, 30, "all events are processed")
    words = {"summary": "a cable", "duration": "2 hours"}
    await sent(alice, "checks/acknowledge", {"checks": ["db-1:MySQL"], **words})


async def windows(alice: Visitor) -> None:
    now = int(SYSTEM.now())
    planned = (
        (now - 30 * HOUR, 2 * HOUR, "new disks"),
        (now - 3 * HOUR, HOUR, "a reboot"),
        (now + HOUR, 2 * HOUR, "new cables"),
        (now - 50 * HOUR, 150 * HOUR, "move to the other room"),
    )
    for start, duration, summary in planned:
        body = {"start": start, "duration": duration, "summary": summary, "checks": ["db-1:Load"]}
        await sent(alice, "maintenance", body)


async def cron(alice: Visitor) -> str:
    """A job that ran and failed, and one that is paused; the id of the run."""
    nightly = {"cronstring": "30 2 * * *", "timezone": "Europe/Rome"}
    for name in ("backup", "paused"):
        args = {"cmd": SHOUT, "lock": True, "ttl": 60}
        await sent(
            alice,
            "cron/jobs",
            {"name": name, "definition": {"cron_args": nightly, "job_args": args}},
        )
    await sent(alice, "cron/jobs/pause", {"names": ["paused"]})
    await sent(alice, "cron/jobs/trigger", {"names": ["backup"]})

    async def ended() -> str:
        answer = await alice.get("/api/v1/cron/runs?job=backup")
        items = answer.json()["items"]
        return str(items[0]["id"]) if items and items[0]["status"] == "fail" else ""

    return await eventually(ended, 30, "the job has run")


async def events(alice: Visitor) -> str:
    """An event with timings, limits and actions, and what it is made of; its id."""
    limits = [{"type": "time", "duration": 3_600}, {"type": "job", "amount": 1}]
    await sent(alice, "categories", {"id": "databases", "title": "Databases", "limits": limits})
    await sent(alice, "tags", {"id": "nightly", "title": "Nightly"})
    await sent(alice, "channels", {"id": "dba", "title": LONG, "email": "alice@example.com"})
    nightly = {"type": "schedule", "hours": [2], "minutes": [30], "timezone": "Europe/Rome"}
    event = {
        "title": "Nightly backup",
        "category": "databases",
        "params": {"script": SHOUT},
        "tags": ["nightly"],
        "timings": [nightly, {"type": "schedule", "weekdays": [1], "hours": [8, 9]}],
        "limits": limits,
        "actions": [{"trigger": "error", "type": "channel", "channel_id": "dba"}],
    }
    identifier: str = (await sent(alice, "events", event))["id"]
    change = {"notes": "Ask Alice."}
    await alice.ask("PUT", f"/api/v1/events/{identifier}", json=change)
    await sent(alice, f"events/{identifier}/run", {})
    return identifier


async def workflow(alice: Visitor, event: str) -> str:
    """A workflow with nodes of all types, and one that would never run; the id of a run."""
    job = {"plugin": "shellplug", "label": "Build"}
    nodes = [
        ("start", "trigger", {}),
        ("backup", "event", {"event": event}),
        ("each", "controller", {"controller": "split", "split": "data.items"}),
        ("build", "job", job),
        ("limit", "limit", {"type": "time", "duration": 60}),
        ("mail", "action", {"type": "email", "email": "alice@example.com"}),
        ("note", "note", {"title": "Why", "body": LONG}),
        ("alone", "job", {**job, "label": LONG}),
    ]
    wires = [
        ("start", "backup", ""),
        ("backup", "each", ""),
        ("each", "build", ""),
        ("build", "limit", ""),
        ("build", "mail", "error"),
    ]
    body = {
        "id": "release",
        "title": "Release",
        "type": "workflow",
        "timings": [{"type": "manual", "id": "start"}],
        "workflow": {
            "nodes": [
                {"id": id_, "type": kind, "data": data, "x": 120 * place, "y": 160 * (place % 3)}
                for place, (id_, kind, data) in enumerate(nodes)
            ],
            "connections": [
                {"source": source, "dest": dest, **({"condition": when} if when else {})}
                for source, dest, when in wires
            ],
        },
    }
    await sent(alice, "events", body)
    run: str = (await sent(alice, "events/release/run", {}))["id"]
    return run
