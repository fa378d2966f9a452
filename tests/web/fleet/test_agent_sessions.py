"""The link of agents: who gets in, and what passes over it."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from tests.fleet.crew import INFO, NOW, sample
from tests.jobs.assigned import BOOT, FLEET, JOBS, assign, field, numbered, sent
from tests.waiting import eventually
from tests.web.fleet.agents import join_token, joined, linked, url
from tests.web.site import BY, Site, served
from watchbell.fleet import presence, samples, servers, tokens
from watchbell.fleet.messages import (
    Abort,
    Acks,
    Changes,
    Hello,
    JobUsage,
    KnownJob,
    Launch,
    Leaving,
    Output,
    Renew,
    Renewed,
    Reports,
    Result,
    Sampled,
    Started,
    Usages,
    encode,
)
from watchbell.jobs.model import Job, Parameter, Plugin
from watchbell.store.client import Argument, Store
from watchbell.store.url import StoreURL

STARTED, DONE = Started(at=NOW, pid=1), Result(at=NOW, code=0)


def hello(hostname: str) -> Hello:
    return Hello(hostname=hostname, info=INFO, boot=BOOT)


async def order_abort(store: Store, server: str, id_: str) -> None:
    reason = msgspec.json.encode({"reason": "by alice", "retry_ok": True, "by": "alice"})
    await store.call("HSET", JOBS.job(id_), "_abort", reason)
    await store.call("RPUSH", FLEET.orders(server), msgspec.json.encode({"abort": id_}))
    await store.call("PUBLISH", FLEET.orders_channel(), server)


async def is_offline(site: Site, server: str) -> bool:
    return not (await presence.read(site.store)).is_online(server, 100)


async def test_a_job_goes_to_an_agent_and_its_reports_come_back(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        job = await assign(site.store, welcome.server, "j1", params={"script": "true"})
        (order,) = (await agent.next(Launch)).orders
        assert msgspec.convert(order.job, Job) == msgspec.structs.replace(job, remote=True)
        assert order.base_url.startswith("http://127.0.0.1:")
        text = Output(at=NOW, offset=0, line=0, text=b"hello\n")
        await agent.report(*numbered("j1", STARTED, text))
        assert (await agent.next(Acks)).acknowledged == {"j1": 2}
        assert await site.store.call("XLEN", JOBS.log("j1")) == 1
        await agent.report(*numbered("j1", DONE, first=3))
        assert (await agent.next(Acks)).acknowledged == {"j1": 3}
        assert await site.store.call("LRANGE", JOBS.finishing(), 0, -1) == [b"j1"]
        await order_abort(site.store, welcome.server, "j1")  # too late
        await assign(site.store, welcome.server, "j2")
        await agent.next(Launch)
        await order_abort(site.store, welcome.server, "j2")
        abort = await agent.next(Abort)
        assert (abort.job, abort.reason, abort.retry_ok) == ("j2", "by alice", True)


async def test_orders_from_before_the_connection_are_sent(site: Site) -> None:
    async with joined(site) as (_, first):
        pass
    await assign(site.store, first.server, "j1")
    async with linked(site, first.token) as agent:
        await agent.greet()
        assert (await agent.next(Launch)).orders[0].job["id"] == "j1"


async def test_a_copy_of_a_connected_agent_is_refused(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        job = await assign(site.store, welcome.server, "j1")
        await agent.next(Launch)
        async with linked(site, welcome.token) as copy:
            await copy.send(Hello(hostname="db-1", info=INFO, boot="another boot"))
            refusal = await copy.refused()
        assert refusal.reason == "another agent is connected as db-1"
        assert not refusal.is_final
        await agent.report(*numbered(job.id, STARTED))
        assert (await agent.next(Acks)).acknowledged == {"j1": 1}
    await eventually(lambda: is_offline(site, welcome.server))
    async with linked(site, welcome.token) as later:
        await later.greet(boot="after a restart of the machine")


async def test_the_link_tells_the_agent_how_to_behave(site: Site) -> None:
    async with joined(site) as (_, welcome):
        jobs = site.services.settings.jobs
        assert welcome.heartbeat == jobs.heartbeat
        assert welcome.lost_after == jobs.lost_after
        assert welcome.kill_after == jobs.kill_after
        assert welcome.file_limit == jobs.file_limit << 20


async def test_secret_parameters_are_named_to_the_agent(site: Site) -> None:
    params = (
        Parameter(id="password", type="text", secret=True),
        Parameter(id="host", type="text"),
    )
    plugin = Plugin(id="p1", title="Plugin", params=params)
    await site.store.call("HSET", JOBS.plugins(), "p1", msgspec.json.encode(plugin))
    async with joined(site) as (agent, welcome):
        given = {"password": "hunter2", "host": "db"}
        await assign(site.store, welcome.server, "j1", plugin="p1", params=given)
        (order,) = (await agent.next(Launch)).orders
    assert order.secrets == {"password": "hunter2"}


@pytest.mark.parametrize("given", ["", "x", "wba_000000000000_" + "x" * 43, "Basic"])
async def test_who_has_no_token_gets_nothing(site: Site, given: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with linked(site, given):
            pass
    assert refused.value.response.status_code == 401
    assert b"revoked or expired" in (refused.value.response.body or b"")
    assert await servers.every(site.store) == []


async def test_people_and_programs_are_no_agents(site: Site) -> None:
    secret, _ = await site.services.api_keys.make("a program", ("admin",), BY)
    with pytest.raises(InvalidStatus) as refused:
        async with linked(site, secret):
            pass
    assert refused.value.response.status_code == 401


async def test_an_agent_is_no_program(site: Site) -> None:
    token = await join_token(site)
    async with site.stranger() as visitor:
        headers = {"Authorization": f"Bearer {token}"}
        assert (await visitor.get("/api/v1/session", headers=headers)).status == 401


async def test_no_other_place_has_a_websocket(site: Site) -> None:
    address = url(site).replace("/api/agent/v1/link", "/api/v1/session")
    with pytest.raises(InvalidStatus) as refused:
        async with connect(address):
            pass
    assert refused.value.response.status_code >= 400


async def test_a_server_gets_a_token_of_its_own_and_the_first_one_is_of_no_use_then(
    site: Site,
) -> None:
    first = await join_token(site)
    async with linked(site, first) as agent:
        own = (await agent.greet()).token
    async with linked(site, own) as agent:
        assert (await agent.greet()).token == ""
    with pytest.raises(InvalidStatus):
        async with linked(site, first):
            pass


async def test_an_agent_may_confirm_its_token_at_once(site: Site) -> None:
    first = await join_token(site)
    async with linked(site, first) as agent:
        await agent.greet()
        await agent.send(Hello(hostname="db-1", info=INFO, boot=BOOT, has_stored=True))
        await agent.send(Renew(number=1))
        assert (await agent.next(Renewed)).number == 1
        assert await tokens.authenticate(site.store, first, NOW) is None


class BeatsHeldBack(Store):
    """Heartbeats wait at a gate on their way to the store."""

    def __init__(self, url: StoreURL) -> None:
        super().__init__(url)
        self.gate, self.held = asyncio.Event(), 0

    async def call(self, *command: Argument) -> Any:
        if command[1:2] == (presence.BEAT.digest,):
            self.held += 1
            await self.gate.wait()
        return await super().call(*command)


async def test_a_heartbeat_that_names_the_token_before_ends_no_connection(store: Store) -> None:
    async with BeatsHeldBack(store.url) as slow, served(slow) as site, joined(site) as (agent, _):
        await agent.send(Renew(number=1))
        await eventually(lambda: slow.held, why="the heartbeat")
        first = await store.call("HLEN", FLEET.tokens())
        await agent.send(Hello(hostname="db-1", info=INFO, boot=BOOT, has_stored=True))

        async def is_confirmed() -> bool:
            return bool(await store.call("HLEN", FLEET.tokens()) < first)

        await eventually(is_confirmed, why="the deletion of the first token")
        slow.gate.set()
        await agent.send(Renew(number=2))
        assert (await agent.next(Renewed)).number in (1, 2)
        await agent.send(Renew(number=3))
        while (await agent.next(Renewed)).number < 3:
            pass


async def test_a_revoked_token_ends_the_connection(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        await tokens.revoke_of(site.store, welcome.server)
        refusal = await agent.refused()
    assert refusal.is_final
    assert "revoked" in refusal.reason
    with pytest.raises(InvalidStatus):
        async with linked(site, welcome.token):
            pass


async def test_a_removed_server_is_disconnected(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        await servers.remove(site.store, welcome.server)
        assert (await agent.refused()).is_final


async def test_a_token_of_one_server_is_of_no_use_to_another_machine(site: Site) -> None:
    async with joined(site) as (_, welcome):
        pass
    async with linked(site, welcome.token) as thief:
        await thief.send(hello("db-2"))
        refusal = await thief.refused()
    assert "this token is for db-1" in refusal.reason
    assert [one.hostname for one in await servers.every(site.store)] == ["db-1"]


async def test_an_agent_neither_reads_nor_writes_jobs_of_others(site: Site) -> None:
    async with joined(site) as (victim, first), joined(site, "db-2") as (thief, second):
        await assign(site.store, first.server, "j1")
        await victim.next(Launch)
        order_of_other = msgspec.json.encode({"launch": "j1"})
        await site.store.call("RPUSH", FLEET.orders(second.server), order_of_other)
        await assign(site.store, second.server, "j2")
        (order,) = (await thief.next(Launch)).orders
        assert order.job["id"] == "j2"
        await thief.report(*numbered("j1", STARTED, Changes(at=NOW, values={"data": {"a": 1}})))
        assert (await thief.next(Acks)).drop == ("j1",)
        assert await field(site.store, "j1", "pid") is None
        await thief.send(Renew(number=1, jobs=("j1", "j2")))
        assert (await thief.next(Renewed)).over == ("j1",)


async def test_a_new_connection_takes_the_place_of_the_old_one(site: Site) -> None:
    async with joined(site) as (old, first):
        await sent(site.store, first.server, "j1")
        async with linked(site, first.token) as new:
            await new.greet(jobs=(KnownJob("j1", 0),))
            assert not (await old.refused()).is_final
            await new.report(*numbered("j1", STARTED))
            assert (await new.next(Acks)).acknowledged == {"j1": 1}
            assert (await presence.read(site.store)).is_online(first.server, 100)


async def test_a_new_connection_to_another_process_takes_the_place_of_the_old_one(
    site: Site, store: Store
) -> None:
    async with (
        served(store) as other,
        joined(site) as (old, first),
        linked(other, first.token) as new,
    ):
        await new.greet()
        await old.refused()
        await assign(store, first.server, "j1")
        assert (await new.next(Launch)).orders[0].job["id"] == "j1"


async def test_jobs_are_reconciled_when_an_agent_comes_back(site: Site) -> None:
    async with joined(site) as (_, first):
        for id_, boot in (("known", BOOT), ("unsent", BOOT), ("lost", "old"), ("over", BOOT)):
            await sent(site.store, first.server, id_, boot)
        await site.store.call("HSET", JOBS.job("known"), "_reported", 4)
        await site.store.call("HSET", JOBS.job("over"), "_result", "{}")
    known = (KnownJob("known", 9), KnownJob("over", 2), KnownJob("never", 1))
    async with linked(site, first.token) as agent:
        welcome = await agent.greet(jobs=known)
        assert welcome.acknowledged == {"known": 4}
        assert welcome.drop == ("never", "over")
        (order,) = (await agent.next(Launch)).orders
        assert order.job["id"] == "unsent"
        assert (await field(site.store, "lost", "_result"))["code"] == "abort"


async def test_heartbeats_are_answered_and_keep_the_server_online(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        await site.store.call("ZADD", FLEET.seen(), 5, welcome.server)
        await sent(site.store, welcome.server, "j1")
        await agent.send(Renew(number=7, jobs=("j1", "gone")))
        renewed = await agent.next(Renewed)
        assert (renewed.number, renewed.over) == (7, ("gone",))
        assert (await presence.read(site.store)).is_online(welcome.server, 100)
    await eventually(lambda: is_offline(site, welcome.server))


async def test_an_agent_that_leaves_gets_no_more_jobs_and_reports_to_the_end(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        await sent(site.store, welcome.server, "j1")
        await agent.send(Leaving())
        await eventually(lambda: is_offline(site, welcome.server))
        await agent.report(*numbered("j1", STARTED, DONE))
        assert (await agent.next(Acks)).acknowledged == {"j1": 2}


async def test_samples_and_usage_are_kept(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        await sent(site.store, welcome.server, "j1")
        await agent.send(Sampled(sample=sample(5, cpu=33.0), is_minute=True))
        await agent.send(Sampled(sample=sample(6, cpu=44.0)))
        usage = {"min": 1.0, "max": 3.0, "total": 4.0, "count": 2, "current": 3.0}
        procs: dict[str, dict[str, Any]] = {"1": {"pid": 1, "cpu": 3.0, "args": []}}
        mine = JobUsage(job="j1", at=5, cpu=usage, mem=usage, procs=procs)
        other = JobUsage(job="j9", at=5, cpu=usage, mem=usage)
        await agent.send(Usages(usages=(mine, other)))

        async def kept() -> Any:
            return await field(site.store, "j1", "cpu")

        assert (await eventually(kept))["current"] == 3.0
        assert await field(site.store, "j1", "procs") == procs
        assert await site.store.call("LLEN", JOBS.seconds("j1")) == 1
        assert await site.store.call("LLEN", JOBS.minutes("j1")) == 1
        assert await site.store.call("EXISTS", JOBS.job("j9")) == 0
        found = await eventually(lambda: samples.latest(site.store))
        assert found[welcome.server].cpu == 44.0
        assert found[welcome.server].at > NOW
        assert [one.cpu for one in await samples.minutes(site.store, welcome.server)] == [33.0]


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xc1",
        b"no message",
        encode(Renew(number=1)),
        encode(hello("db-1"))[:-3],
        msgspec.msgpack.encode({"t": "hello", "hostname": 5}),
        b"\x81\xa1t" + b"\x91" * 20_000,
    ],
)
async def test_a_wrong_greeting_is_refused(site: Site, message: bytes) -> None:
    async with linked(site, await join_token(site)) as agent:
        await agent.link.send(message)
        assert not (await agent.refused()).is_final
    assert await servers.every(site.store) == []


@pytest.mark.parametrize("message", [b"\xc1", b"\x91" * 20_000, "text", encode(STARTED)])
async def test_a_wrong_message_ends_one_connection_and_no_other(site: Site, message: Any) -> None:
    async with joined(site) as (agent, _), joined(site, "db-2") as (other, _):
        await agent.link.send(message)
        await agent.closed()
        await other.send(Renew(number=1))
        await other.next(Renewed)


async def test_a_message_that_is_too_large_ends_the_connection(site: Site) -> None:
    async with joined(site) as (agent, _):
        with suppress(ConnectionClosed):
            await agent.link.send(b"x" * (17 << 20))
        await agent.closed()


async def test_what_comes_while_reports_are_written_is_written_together(site: Site) -> None:
    """A store that stalls makes one batch of everything that comes meanwhile."""
    async with joined(site) as (agent, welcome):
        for n in range(20):
            await sent(site.store, welcome.server, f"j{n}")
        session = site.services.agents.sessions[welcome.server]
        before = session.last_message
        await site.store.call("CLIENT", "PAUSE", 100_000, "WRITE")
        await agent.report(*numbered("j0", STARTED, DONE))
        await eventually(lambda: session.last_message != before and not session._pending)
        for n in range(1, 20):
            await agent.report(*numbered(f"j{n}", STARTED, DONE))
        await eventually(lambda: len(session._pending) == 38)
        await site.store.call("CLIENT", "UNPAUSE")
        batches = [await agent.next(Acks), await agent.next(Acks)]
        assert [len(acks.acknowledged) for acks in batches] == [1, 19]


async def test_reports_wait_while_a_key_is_spoilt_and_others_go_on(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        await sent(site.store, welcome.server, "j1")
        await site.store.call("SET", JOBS.finishing(), "x")
        await agent.report(*numbered("j1", STARTED, DONE))
        await agent.send(Renew(number=1))
        await agent.next(Renewed)
        await site.store.call("DEL", JOBS.finishing())
        assert (await agent.next(Acks)).acknowledged == {"j1": 2}


async def test_a_server_that_stops_closes_the_links_and_lets_go_of_them(store: Store) -> None:
    async with served(store) as site:
        link = linked(site, await join_token(site))
        agent = await link.__aenter__()
        await agent.greet()
    await agent.closed()
    await link.__aexit__(None, None, None)
    assert (await presence.read(store)).links == {}


async def test_a_connection_of_an_agent_counts_until_it_ends(store: Store) -> None:
    async with served(store, connections_per_address=1) as site:
        for n in range(4):
            token = await join_token(site)
            async with linked(site, token) as agent:
                await agent.greet(f"db-{n}")
                with pytest.raises(InvalidHandshake):
                    async with linked(site, token):
                        pass


async def test_many_reports_of_one_message_are_one_batch(site: Site) -> None:
    async with joined(site) as (agent, welcome):
        await sent(site.store, welcome.server, "j1")
        outputs = [Output(at=NOW, offset=n, line=0, text=b"x") for n in range(2_000)]
        await agent.send(Reports(reports=tuple(numbered("j1", *outputs))))
        assert (await agent.next(Acks)).acknowledged == {"j1": 2_000}
