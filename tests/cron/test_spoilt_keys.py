"""An instance of cron while another program has left a key of a wrong type in its way."""

from pathlib import Path

import pytest

from tests.cron.crew import definition, ended, put, running, say, serving, until
from tests.logged import logged
from tests.waiting import eventually
from watchbell.cron.keys import Cron, CronOwn, CronUpstream
from watchbell.store.client import Store

ASIDE = "test:aside"


@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("active", "keep runs alive"),
        ("pending", "look at the store"),
        ("instances", "send heartbeats"),
    ],
)
async def test_a_key_of_a_wrong_type_ends_no_run_and_all_tasks_come_back(
    store: Store, folder: Path, family: str, task: str
) -> None:
    families = {
        "active": Cron(store.prefix).active(),
        "pending": CronOwn(store.prefix).pending(),
        "instances": CronUpstream(store.prefix).instances(),
    }
    gate, key = folder / "gate", families[family]
    await put(store, "long", definition(f"{until(gate)}; echo done", ttl=600))
    await put(store, "later", definition("true", ttl=600))
    with logged() as lines:
        async with serving(store, folder):
            await say(store, "trigger", "long")
            (under_way,) = await running(store, "long")
            if await store.call("EXISTS", key):
                await store.call("RENAME", key, ASIDE)
            await store.call("SET", key, "x")
            await eventually(
                lambda: task in [line.get("task") for line in lines.all()], why=f"{task} fails"
            )
            await store.call("DEL", key)
            if await store.call("EXISTS", ASIDE):
                await store.call("RENAME", ASIDE, key)
            gate.touch()
            (done,) = await ended(store, "long")
            assert (done.id, done.record.status) == (under_way.id, "success")
            await say(store, "trigger", "later")
            await ended(store, "later")
    failed = [line for line in lines.all() if line["level"] == "error"]
    assert all("WRONGTYPE" in line["exception"] for line in failed)
