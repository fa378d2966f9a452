"""What pages of servers ask for: expressions on live samples, quick values, alerts in lists."""

import pytest

from tests.fleet.measured_servers import measured
from tests.web.site import Site
from watchbell.fleet.keys import Fleet
from watchbell.jobs import snapshot_taker
from watchbell.store.client import Store

EXPRESSIONS = [
    ("load[0] + 1", {"value": "10", "is_true": True}),
    ("monitors.load_avg > 20", {"value": "false", "is_true": False}),
    ("processes.list[.cpu > 50].pid", {"value": "53"}),
    ("conns[0].state", {"value": '"ESTABLISHED"'}),
    ("gpu.load", {"value": "null"}),
    ("cpu.cores >= )", {"value": None, "position": 14}),
    ("hostname * 2", {"value": None, "position": 10}),
]


@pytest.mark.parametrize(("text", "wanted"), EXPRESSIONS)
async def test_an_expression_is_evaluated_on_the_last_sample(
    site: Site, store: Store, text: str, wanted: dict[str, object]
) -> None:
    server = await measured(store, "db-1", site.services.clock.now(), loads=[9])
    async with site.somebody("viewer") as bob:
        body = {"server": server.id, "text": text}
        found = (await bob.post("/api/v1/expressions/evaluate", json=body)).json()
    assert {name: found[name] for name in wanted} == wanted
    assert bool(found["error"]) == ("position" in wanted)


async def test_a_message_is_rendered_and_a_long_value_is_cut(site: Site, store: Store) -> None:
    long = {"long": "x" * 30_000}
    server = await measured(store, "db-1", site.services.clock.now(), loads=[9], commands=long)
    async with site.somebody("viewer") as bob:
        body = {"server": server.id, "text": "Load {{load[0]}}", "is_message": True}
        found = (await bob.post("/api/v1/expressions/evaluate", json=body)).json()
        assert found["value"] == "Load 9"
        body = {"server": server.id, "text": "commands.long"}
        found = (await bob.post("/api/v1/expressions/evaluate", json=body)).json()
        assert (len(found["value"]), found["is_cut"]) == (20_000, True)
        nobody = {"server": "nobody", "text": "1"}
        assert (await bob.post("/api/v1/expressions/evaluate", json=nobody)).status == 404
        await store.call("DEL", Fleet(store.prefix).machines())
        answer = await bob.post("/api/v1/expressions/evaluate", json=body)
        assert (answer.status, answer.json()["code"]) == (422, "no_sample")


async def test_quick_values_are_read_as_they_come(site: Site, store: Store) -> None:
    server = await measured(store, "db-1", 1_900_000_000)
    async with site.somebody("viewer") as bob:
        path = f"/api/v1/servers/{server.id}/quick"
        items = (await bob.get(path)).json()["items"]
        assert [one["date"] for one in items] == [1_899_999_999, 1_900_000_000]
        later = (await bob.get(f"{path}?since=1899999999")).json()["items"]
        assert [one["date"] for one in later] == [1_900_000_000]
        assert (await bob.get("/api/v1/servers/nobody/quick")).status == 404


async def test_lists_count_alerts_and_snapshots_name_them(site: Site, store: Store) -> None:
    now = site.services.clock.now()
    busy = await measured(store, "db-1", now, loads=[9, 9])
    calm = await measured(store, "db-2", now)
    async with site.somebody("viewer") as bob:
        page = (await bob.get("/api/v1/servers")).json()
        assert {one["id"]: one["alerts"] for one in page["items"]} == {busy.id: 1, calm.id: 0}
        assert page["counts"]["alerting"] == 1
        assert (await bob.get(f"/api/v1/servers/{busy.id}")).json()["row"]["alerts"] == 1
        (alert,) = (await bob.get("/api/v1/server-alerts")).json()["items"]
    for server, wanted in ((busy, (alert["id"],)), (calm, ())):
        head, _ = await snapshot_taker.take(store, "server", server.id, source="user", now=now)
        assert head.alerts == wanted
