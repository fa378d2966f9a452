"""Actions, with who carries them out killed at every step: each is done once."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.jobs import acting
from tests.jobs.acting import NOW, begin, finish, job, record
from tests.waiting import eventually
from watchbell.gateways.keys import Gateways
from watchbell.jobs import definitions
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action
from watchbell.store.client import Store

COUNT = 12
STEPS = (
    "queue.taken:1",
    "message.queueing:3",
    "message.queued:3",
    "jobs.launched:2",
    "actions.carried_out:4",
    "jobs.amending:3",
    "actions.recorded:5",
    "actions.done:1",
    "queue.before_acknowledge:1",
    "queue.acknowledged:1",
)
WANTED = (
    Action(trigger="error", type="email", email="alice@example.com"),
    Action(trigger="error", type="channel", channel_id="ops"),
    Action(trigger="error", type="run_event", event_id="tidy"),
    Action(trigger="start", type="tag", tags=("big",)),
)


def command(store: Store, *fault: str) -> list[str]:
    return [sys.executable, "-m", "tests.jobs.action_worker", store.url.redacted(), *fault]


@contextmanager
def working(store: Store, *faults: str) -> Iterator[None]:
    """One process that lives, and one for each fault."""
    lasting = subprocess.Popen(command(store))
    others = [subprocess.Popen(command(store, fault)) for fault in faults]
    try:
        yield
        assert lasting.poll() is None
    finally:
        for one in (lasting, *others):
            one.kill()
            one.wait()


def killed(store: Store, fault: str) -> None:
    assert subprocess.run(command(store, fault), check=False).returncode == -signal.SIGKILL


async def prepared(store: Store) -> None:
    await acting.known(store)
    await definitions.create(store, "event", {"id": "tidy", "title": "Tidy up"}, acting.WHO, NOW)
    ways = {"url": "https://example.com/hook", "max_per_day": COUNT}
    channel = {"id": "ops", "title": "Operations", **ways}
    await definitions.create(store, "channel", channel, acting.WHO, NOW)
    for number in range(COUNT):
        await finish(store, job(*WANTED, id=f"j{number}"))
    await begin(store, job(*WANTED, id="live", state="active"))


async def is_done(store: Store) -> bool:
    found = [(await record(store, f"j{number}")).actions for number in range(COUNT)]
    found.append(((await record(store, "live")).actions[3],) * 4)
    return all(one.code is not None for actions in found for one in actions[:3])


async def check(store: Store) -> None:
    keys, boxes = Jobs(store.prefix), Gateways(store.prefix)
    launched = set()
    for number in range(COUNT):
        known = await record(store, f"j{number}")
        assert [one.code for one in known.actions] == [0, 0, 0, None]
        (child,) = known.jobs
        launched.add(child.id)
    live = await record(store, "live")
    assert (live.tags, live.actions[3].code) == (("big",), 0)
    assert {raw.decode() for raw in await store.call("LRANGE", keys.ready(), 0, -1)} == launched
    assert await store.call("LLEN", keys.ready()) == COUNT
    for medium, suffix in (("email", "-0"), ("webhook", "-1-web_hook")):
        queued = {raw.decode() for raw in await store.call("HKEYS", boxes.outbox(medium))}
        assert queued == {f"j{number}{suffix}" for number in range(COUNT)}


@pytest.mark.parametrize("step", STEPS)
async def test_a_kill_at_any_step_loses_and_repeats_nothing(store: Store, step: str) -> None:
    await prepared(store)
    killed(store, step)
    with working(store):
        await eventually(lambda: is_done(store))
    await check(store)


async def test_several_processes_share_the_work_and_some_die(store: Store) -> None:
    await prepared(store)
    with working(store, "queue.taken:1", "message.queued:2", "actions.recorded:1"):
        await eventually(lambda: is_done(store))
    await check(store)
