"""Searches for alerts of servers find all of them, however many there are."""

from collections import defaultdict

import msgspec
import pytest

from tests.fleet.monitoring.scenes import START
from tests.web.app_api.app_client import AppClient
from tests.web.site import Site
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import AlertRecord
from watchbell.store.client import Store

MANY = 1_100


@pytest.fixture
async def known(store: Store) -> None:
    """One alert each minute; the oldest is of another definition."""
    keys = Fleet(store.prefix)
    scored: dict[str, list[str | float]] = defaultdict(list)
    for number in range(MANY):
        one = AlertRecord(
            id=f"a{number:04}",
            alert="high" if number else "old",
            server="s1",
            groups=("main",),
            active=False,
            date=START + number * 60,
        )
        fields = msgspec.structs.asdict(one).items()
        parts = [part for name, value in fields for part in (name, msgspec.json.encode(value))]
        await store.call("HSET", keys.alert(one.id), *parts)
        for key in (
            keys.alerts(),
            keys.alerts_by("alert", one.alert),
            keys.alerts_by("server", "s1"),
            keys.alerts_by("group", "main"),
        ):
            scored[key] += [one.date, one.id]
    for key, members in scored.items():
        await store.call("ZADD", key, *members)


COUNTS = {
    "*": MANY,
    "alert:OLD": 1,
    "alert:old|high server:s1": MANY,
    "-alert:high": 1,
    f"date:{START:.0f}": 1,
    f"date:<{START + 120:.0f}": 2,
    f"date:>={START + 60:.0f} start:<{START + 120:.0f}": 1,
    "groups:main active:false": MANY,
    "active:true": 0,
    "server:s2": 0,
}


@pytest.mark.usefixtures("known")
async def test_alerts_are_found_beyond_the_newest_thousand(site: Site) -> None:
    async with site.somebody("administrator") as alice:
        app = AppClient(alice)
        for query, count in COUNTS.items():
            found = await app.ok("search_alerts", query=query, limit=2, sort_dir=1)
            assert (query, found["list"]["length"]) == (query, count)
            assert len(found["rows"]) == min(count, 2)


@pytest.mark.usefixtures("known")
async def test_old_alerts_are_deleted_by_a_query(site: Site, store: Store) -> None:
    asked = {"index": "alerts", "query": f"date:<{START + 1_000 * 60:.0f}"}
    async with site.somebody("administrator") as alice:
        app = AppClient(alice)
        assert (await app.ok("bulk_search_delete", **asked))["count"] == 1_000
        assert (await app.ok("search_alerts"))["list"]["length"] == MANY - 1_000
    by_server = Fleet(store.prefix).alerts_by("server", "s1")
    assert await store.call("ZCARD", by_server) == MANY - 1_000
