"""What checks of jobs and servers are about, by the API."""

from typing import Any

import msgspec
import pytest

from tests.fleet.crew import join
from tests.web.site import BY, Site, Visitor
from watchbell.actors import system
from watchbell.jobs import definitions, stock
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import EventState
from watchbell.store.client import Store
from watchbell.web.people.rights import Rights


@pytest.fixture(autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, 1_000)


async def define(store: Store, kind: str, **values: Any) -> None:
    await definitions.create(store, kind, values, system("tests"), 1_000)


async def subjects(visitor: Visitor, *checks: str) -> list[dict[str, Any]]:
    answer = await visitor.get("/api/v1/checks/subjects", params=[("check", one) for one in checks])
    assert answer.status == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_checks_of_jobs_and_servers_name_their_subjects(site: Site, store: Store) -> None:
    await define(store, "event", id="backup", title="Nightly backup")
    state = msgspec.json.encode(EventState(last_job="j1", total_count=1))
    await store.call("HSET", Jobs(store.prefix).event_states(), "backup", state)
    server, _ = await join(store, "db-1")
    async with site.somebody("viewer") as alice:
        named = await subjects(alice, "jobs:backup", "servers:db-1", "jobs:gone", "web-1:HTTP")
    assert [(one["check"], one["kind"], one["title"], one["last_job"]) for one in named] == [
        ("jobs:backup", "event", "Nightly backup", "j1"),
        ("servers:db-1", "server", "db-1", ""),
    ]
    assert named[1]["id"] == server.id


async def test_events_that_somebody_may_not_read_are_not_named(site: Site, store: Store) -> None:
    await define(store, "category", id="reports", title="Reports")
    await define(store, "event", id="hidden", title="Secret plans")
    await define(store, "event", id="seen", title="Invoices", category="reports")
    await site.services.users.add("dave", "viewer", BY, Rights(categories=("reports",)))
    async with site.somebody("viewer", "dave") as dave:
        named = await subjects(dave, "jobs:hidden", "jobs:seen")
    assert [one["title"] for one in named] == ["Invoices"]
