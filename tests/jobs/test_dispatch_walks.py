"""Whatever happens in whatever order, the dispatcher keeps to limits, order, and every job."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests import servers
from tests.jobs.dispatch_walk import EVENTS, SERVERS, Walk
from watchbell.store import url as store_url
from watchbell.store.client import Store

event, server = st.sampled_from(sorted(EVENTS)), st.sampled_from(SERVERS)
who, which = st.integers(0, 1), st.integers(0, 20)
LIKELY = [
    st.tuples(st.just("launch_some"), event, st.integers(1, 5)),
    st.tuples(st.just("apply"), who),
    st.tuples(st.just("finish"), which),
    st.tuples(st.just("set_limit"), event, st.integers(0, 2), st.integers(0, 4)),
    st.tuples(st.just("set_slots"), server, st.integers(0, 3)),
    st.tuples(st.just("connect"), server),
    st.tuples(st.just("enable"), server, st.just(True)),
]
RARE = [
    st.tuples(st.just("launch"), event, st.just(1)),
    st.tuples(st.just("take"), who),
    st.tuples(st.just("apply again"), who),
    st.tuples(st.just("die"), who),
    st.tuples(st.just("abort"), which),
    st.tuples(st.just("send"), which),
    st.tuples(st.just("enable"), server, st.just(False)),
    st.tuples(st.just("lose"), server),
    st.tuples(st.just("reap")),
    st.tuples(st.just("drain")),
]
STEPS = st.one_of(*LIKELY, *LIKELY, *LIKELY, *RARE)


async def walked(url: str, steps: list[tuple[object, ...]]) -> None:
    async with Store(store_url.parse(url)) as store:
        await store.call("FLUSHALL")
        walk = Walk(store)
        await walk.begin()
        before = await walk.snapshot()
        for name, *arguments in steps:
            if name == "apply again":
                await walk.apply(arguments[0], again=True)  # type: ignore[arg-type]
            else:
                await getattr(walk, str(name))(*arguments)
            before = await walk.check(before)
        await walk.check_nobody_waits_in_vain()
        await walk.finish_everything()


def test_random_walks(server: servers.Single) -> None:
    @settings(max_examples=60)
    @given(st.lists(STEPS, min_size=30, max_size=80))
    def walk(steps: list[tuple[object, ...]]) -> None:
        asyncio.run(walked(server.url, steps))

    walk()
