"""Orders to agents, and what becomes of jobs when an agent comes back."""

from typing import Any

import msgspec
import pytest

from tests.fleet.crew import NOW
from tests.jobs.assigned import BOOT, FLEET, JOBS, assign, connected, field, sent
from watchbell.actors import system
from watchbell.fleet.messages import KnownJob, Result
from watchbell.jobs import definitions, order_details, orders, server_jobs
from watchbell.jobs.orders import SessionLost
from watchbell.jobs.reconcile import FORGOTTEN, REBOOTED, StoredJob, reconcile
from watchbell.store.client import Store


async def order_abort(store: Store, server: str, id_: str) -> None:
    reason = msgspec.json.encode({"reason": "by alice", "retry_ok": False, "by": "alice"})
    await store.call("HSET", JOBS.job(id_), "_abort", reason)
    await store.call("RPUSH", FLEET.orders(server), msgspec.json.encode({"abort": id_}))


async def test_a_job_is_sent_with_its_record_and_is_remote_from_then_on(store: Store) -> None:
    server, _ = await connected(store)
    job = await assign(store, server.id, "j1", params={"script": "true", "empty": []})
    await store.call("HSET", JOBS.job("j1"), "_turn", "5")
    taken = await orders.take(store, server.id, "one", BOOT)
    (order,) = taken.orders
    assert (order.kind, order.job) == ("launch", "j1")
    fields = {name: msgspec.json.decode(text) for name, text in order.fields.items()}
    assert fields == {**msgspec.to_builtins(job), "remote": True}
    assert await field(store, "j1", "remote") is True
    assert await field(store, "j1", "_boot") == BOOT


async def test_an_order_stays_until_it_was_sent(store: Store) -> None:
    """The process may die between taking and sending, or the answer may get lost."""
    server, _ = await connected(store)
    await assign(store, server.id, "j1")
    await assign(store, server.id, "j2")
    first = await orders.take(store, server.id, "one", BOOT)
    assert [one.job for one in first.orders] == ["j1", "j2"]
    again = await orders.take(store, server.id, "one", BOOT)
    assert [one.job for one in again.orders] == ["j1", "j2"]
    await assign(store, server.id, "j3")
    await orders.take(store, server.id, "one", BOOT, again.texts)
    rest = await orders.take(store, server.id, "one", BOOT, again.texts)
    assert [one.job for one in rest.orders] == ["j3"]
    assert (await orders.take(store, server.id, "one", BOOT, rest.texts)).texts == ()
    assert await store.call("EXISTS", FLEET.orders(server.id)) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"server": '"s9"'},
        {"state": '"finishing"'},
        {"_result": "{}"},
        {"_reported": "1"},
        {"_boot": '"another"'},
    ],
)
async def test_a_job_that_is_no_longer_to_be_launched_is_not_sent(
    store: Store, change: dict[str, str]
) -> None:
    server, _ = await connected(store)
    await assign(store, server.id, "j1")
    await store.call("HSET", JOBS.job("j1"), *(word for pair in change.items() for word in pair))
    taken = await orders.take(store, server.id, "one", BOOT)
    assert taken.orders == ()
    assert len(taken.texts) == 1


async def test_an_abort_is_sent_for_a_job_that_the_agent_has(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    await assign(store, server.id, "j2")
    await store.call("DEL", FLEET.orders(server.id))
    await order_abort(store, server.id, "j1")
    await order_abort(store, server.id, "j2")  # not sent: it ends without the agent
    (order,) = (await orders.take(store, server.id, "one", BOOT)).orders
    assert (order.kind, order.job) == ("abort", "j1")
    assert msgspec.json.decode(order.reason)["reason"] == "by alice"


async def test_only_the_session_of_the_server_takes_its_orders(store: Store) -> None:
    server, _ = await connected(store)
    await assign(store, server.id, "j1")
    with pytest.raises(SessionLost):
        await orders.take(store, server.id, "two", BOOT)
    assert await field(store, "j1", "remote") is None


async def test_orders_of_no_sense_are_removed(store: Store) -> None:
    server, _ = await connected(store)
    await store.call("SET", JOBS.job("odd"), "x")
    words: list[Any] = ["no JSON", "[]", "7", '{"launch": 5}', '{"launch":"odd"}', b"\xff\x00"]
    await store.call("RPUSH", FLEET.orders(server.id), *words)
    await assign(store, server.id, "j1")
    taken = await orders.take(store, server.id, "one", BOOT)
    assert [one.job for one in taken.orders] == ["j1"]
    assert (await orders.take(store, server.id, "one", BOOT, taken.texts)).texts == ()
    await store.call("DEL", JOBS.job("odd"))


def stored(id_: str, **more: Any) -> StoredJob:
    return StoredJob(**{"id": id_, "boot": BOOT, "is_remote": True, **more})


@pytest.mark.parametrize(
    ("known", "job", "expected"),
    [
        (True, stored("j1", reported=3), {"acknowledged": {"j1": 3}}),
        (True, stored("j1", is_remote=False), {"acknowledged": {"j1": 0}, "reconnected": ("j1",)}),
        (True, stored("j1", is_aborted=True), {"acknowledged": {"j1": 0}, "abort": ("j1",)}),
        (True, stored("j1", is_over=True), {"drop": ("j1",)}),
        (True, None, {"drop": ("j1",)}),
        (True, stored("j1", boot="old", reported=1), {"acknowledged": {"j1": 1}}),
        (False, stored("j1"), {"resend": ("j1",)}),
        (False, stored("j1", is_remote=False), {"resend": ("j1",)}),
        (False, stored("j1", reported=1), {"lost": {"j1": FORGOTTEN}}),
        (False, stored("j1", boot="old"), {"lost": {"j1": REBOOTED}}),
        (False, stored("j1", boot="old", is_over=True), {}),
        (False, stored("j1", boot="", is_remote=False), {}),
        (False, None, {}),
    ],
)
def test_what_becomes_of_a_job_when_its_agent_connects(
    known: bool, job: StoredJob | None, expected: dict[str, Any]
) -> None:
    found = reconcile([KnownJob("j1", 5)] if known else [], [job] if job else [], BOOT)
    nothing: dict[str, Any] = {
        "acknowledged": {},
        "drop": (),
        "reconnected": (),
        "resend": (),
        "abort": (),
        "lost": {},
    }
    assert msgspec.structs.asdict(found) == {**nothing, **expected}


async def test_the_jobs_of_a_server_are_read(store: Store) -> None:
    server, _ = await connected(store)
    await assign(store, server.id, "j1")
    await sent(store, server.id, "j2")
    await store.call("HSET", JOBS.job("j2"), "_reported", 4, "_abort", "{}")
    await sent(store, server.id, "j3")
    await store.call("HSET", JOBS.job("j3"), "_result", "{}")
    await sent(store, "s9", "j4")
    await store.call("SADD", JOBS.server_jobs(server.id), "j4", "gone")
    found = {job.id: job for job in await server_jobs.read(store, server.id)}
    assert found == {
        "j1": StoredJob(id="j1"),
        "j2": stored("j2", reported=4, is_aborted=True),
        "j3": stored("j3", is_over=True),
    }


async def test_what_was_decided_is_written_once(store: Store) -> None:
    server, _ = await connected(store)
    for id_, boot in (("again", BOOT), ("rebooted", "old"), ("cut", BOOT), ("stop", BOOT)):
        await sent(store, server.id, id_, boot)
    await store.call("HSET", JOBS.job("cut"), "remote", "false")
    await store.call("HSET", JOBS.job("stop"), "_abort", '{"reason": "enough"}')
    known = [KnownJob("cut", 0), KnownJob("stop", 0)]
    jobs = await server_jobs.read(store, server.id)
    found = reconcile(known, jobs, BOOT)
    for _ in range(2):
        await server_jobs.settle(store, server.id, "one", found, jobs, "db-1", NOW)
    assert await field(store, "cut", "remote") is True
    assert await field(store, "cut", "reconnected") > NOW - 1
    assert await store.call("LRANGE", JOBS.finishing(), 0, -1) == [b"rebooted"]
    result = msgspec.convert(await field(store, "rebooted", "_result"), Result)
    assert (result.code, result.retry_ok) == ("abort", True)
    assert result.description == "the job was lost on the server db-1: the server was restarted"
    taken = await orders.take(store, server.id, "one", BOOT)
    assert {(one.kind, one.job) for one in taken.orders} == {("launch", "again"), ("abort", "stop")}


async def test_a_job_that_has_changed_since_is_not_lost(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1", "old")
    jobs = await server_jobs.read(store, server.id)
    found = reconcile([], jobs, BOOT)
    assert found.lost
    await store.call("HSET", JOBS.job("j1"), "_boot", f'"{BOOT}"')
    await server_jobs.settle(store, server.id, "one", found, jobs, "db-1", NOW)
    assert await field(store, "j1", "_result") is None
    with pytest.raises(SessionLost):
        await server_jobs.settle(store, server.id, "two", found, jobs, "db-1", NOW)


async def test_an_agent_learns_which_of_its_jobs_are_over(store: Store) -> None:
    server, _ = await connected(store)
    other, _ = await connected(store, "db-2")
    for id_ in ("j1", "j2"):
        await sent(store, server.id, id_)
    await sent(store, other.id, "j3")
    await store.call("HSET", JOBS.job("j2"), "_result", "{}")
    asked = {server.id: ["j1", "j2", "j3", "none"], other.id: ["j3"]}
    found = await server_jobs.over(store, asked)
    assert found == {server.id: ("j2", "j3", "none"), other.id: ()}


async def test_an_agent_masks_secret_parameters_and_the_environment_of_the_plugin(
    store: Store,
) -> None:
    plugin = {
        "id": "vault",
        "title": "Vault",
        "command": "/bin/true",
        "env": {"KEY": "of the plugin"},
        "params": [
            {"id": "token", "type": "text", "secret": True},
            {"id": "login", "type": "json", "secret": True},
            {"id": "flag", "type": "checkbox", "secret": True},
            {"id": "host", "type": "text"},
        ],
    }
    await definitions.create(store, "plugin", plugin, system("tests"), NOW)
    server, _ = await connected(store)
    params = {"token": "hunter2", "login": {"password": "open"}, "flag": True, "host": "db-1"}
    env = {"KEY": "of the plugin", "LANG": "of the settings"}
    await assign(store, server.id, "j1", plugin="vault", params=params, env=env)
    await assign(store, server.id, "j2", plugin="gone", params=params)
    taken = await orders.take(store, server.id, "one", BOOT)
    records = [order_details.record(order) for order in taken.orders]
    assert order_details.secrets(records, taken.plugins) == [
        {"token": "hunter2", "login": '{"password":"open"}', "KEY": "of the plugin"},
        {},
    ]
