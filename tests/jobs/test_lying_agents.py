"""Agents that send what no honest one does: their jobs end, and nothing else is harmed."""

from typing import Any

import msgspec
import pytest

from tests.fleet.crew import NOW
from tests.jobs.assigned import BOOT, JOBS, assign, connected, numbered, sent
from watchbell.clock import SetClock
from watchbell.fleet import validation
from watchbell.fleet.messages import (
    Body,
    Changes,
    Launch,
    LimitReached,
    Order,
    Output,
    Report,
    Reports,
    Result,
    Started,
    encode,
    from_agent,
)
from watchbell.fleet.model import Sample
from watchbell.jobs import (
    job_packing,
    job_records,
    order_details,
    orders,
    reports,
    value_readers,
)
from watchbell.jobs.finisher import Finisher
from watchbell.settings import Jobs as Settings
from watchbell.store.client import Store

NAN, INFINITE, HUGE, LOW = float("nan"), float("inf"), 2**64 - 1, -(2**63)
DONE = Result(at=NOW + 5, code=0)


BIG = 10**27


def received(some: list[Report]) -> list[Report]:
    """As a session reads them."""
    message = from_agent.decode(encode(Reports(reports=tuple(some))))
    assert isinstance(message, Reports)
    return list(message.reports)


def output(**more: Any) -> Output:
    return Output(**{"at": NOW, "offset": 0, "line": 0, "text": b"hello\n", **more})


@pytest.mark.parametrize(
    "body",
    [
        Started(at=NAN, pid=1),
        Started(at=INFINITE, pid=HUGE),
        Started(at=-INFINITE, pid=LOW),
        Started(at=1e308, pid=0),
        output(at=NAN),
        output(at=1e308),
        output(offset=HUGE, line=HUGE),
        output(offset=LOW, line=LOW),
        Changes(at=NAN, values={"progress": NAN, "data": {"a": NAN}}, activity=("x",)),
        Changes(at=-1e308, values={"progress": HUGE, "perf": {"a": HUGE}}, activity=("x",)),
        Changes(at=INFINITE, values={"data": {"\ud7ff": [1e308] * 3}}, activity=("\0",)),
        LimitReached(at=NAN, limit=HUGE, description="x"),
        LimitReached(at=NOW, limit=LOW, description="x" * 100_000),
        Result(at=NAN, code=NAN, elapsed=NAN, size=HUGE, lines=LOW, cut=HUGE),
        Result(at=INFINITE, code=1e308, elapsed=1e308, size=LOW, cut=LOW),
        Result(at=NOW, code=HUGE, elapsed=-1e308, cpu={"count": 1e300, "total": NAN}),
        Result(at=NOW, code=INFINITE, mem={"count": HUGE, "min": INFINITE}),
        Result(at=NOW, code="\n" * 1_000, net={"count": LOW, "total": 1e308}),
        Result(at=NOW, code=0, files=({"path": "jobs/j1/files/x", "size": HUGE, "date": NAN},)),
        Result(at=NOW, code=0, files=({"path": "jobs/j1/files/../../j2/log.gz"},)),
    ],
)
async def test_a_job_ends_whatever_its_agent_reports(store: Store, body: Body) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    some = received(numbered("j1", body, output(), DONE))
    await reports.apply(store, server.id, "one", some)
    assert (await job_records.read(store, "j1")) is not None
    finisher = Finisher(store, Settings(), "", SetClock(NOW + 9), most_events=100)
    while batch := await finisher.taker.take():
        await finisher.process(batch)
    record = await job_records.read(store, "j1")
    assert record is not None
    assert record.state == "complete"
    assert record.code != "unknown" or not isinstance(body, Started | Output | Changes)
    assert record.log_file_size < 1 << 53
    assert all(".." not in file.path for file in record.files)
    msgspec.json.decode(msgspec.json.encode(record), type=type(record))
    assert await store.call("EXISTS", JOBS.job("j1")) == 0


async def test_many_reports_are_applied_in_parts(store: Store) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    count = 2 * reports.AT_ONCE + 1
    some = [output(offset=6 * n, line=n) for n in range(count)]
    applied = await reports.apply(store, server.id, "one", numbered("j1", *some))
    assert applied.acknowledged == {"j1": count}
    assert await store.call("XLEN", JOBS.log("j1")) == count


@pytest.mark.parametrize("figure", [NAN, INFINITE, -1.0, 1e308])
def test_a_sample_has_figures_that_can_be_added_up(figure: float) -> None:
    given = Sample(at=NOW, cpu=figure, load=(figure, 1, 1), memory=HUGE, memory_total=LOW)
    assert validation.sample(given) == Sample(
        at=NOW, cpu=0, load=(0, 1, 1), memory=0, memory_total=0
    )


async def test_numbers_of_more_than_64_bits_reach_agents_and_records(store: Store) -> None:
    server, _ = await connected(store)
    job = await assign(
        store, server.id, "j1", params={"n": [BIG, 2**64 - 1]}, data={"n": -BIG}, pid=BIG
    )
    taken = await orders.take(store, server.id, "one", BOOT)
    record = order_details.record(taken.orders[0])
    encode(Launch(orders=(Order(job=record),)))
    assert record["params"] == {"n": [1e27, 2**64 - 1]}
    packed = job_packing.unpack(job_packing.pack(job))
    assert packed is not None
    assert packed.job == msgspec.structs.replace(
        job, params={"n": [1e27, 2**64 - 1]}, data={"n": -1e27}, pid=0
    )
    assert value_readers.plain({"n": BIG}) == {"n": 1e27}


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": "jobs/j2/files/f1/x"},
        {"path": "jobs/j1/files/../../j2/log.gz"},
        {"id": "../../../servers"},
        {"id": ""},
        {"size": -1},
        {"size": HUGE},
    ],
)
async def test_a_file_that_the_job_can_not_have_uploaded_is_left_out(
    store: Store, wrong: dict[str, Any]
) -> None:
    server, _ = await connected(store)
    await sent(store, server.id, "j1")
    good = {"id": "f1", "filename": "x", "path": "jobs/j1/files/f1/x", "size": 5, "date": NAN}
    result = Result(at=NOW, code=0, files=(good, good | wrong))
    await reports.apply(store, server.id, "one", received(numbered("j1", result)))
    raw = await store.call("HGET", JOBS.job("j1"), "_result")
    kept = msgspec.json.decode(raw, type=Result).files
    assert kept == ({**good, "job": "j1", "server": server.id, "date": 0.0},)
