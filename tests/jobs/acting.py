"""A store with an event, finished jobs, and somebody who carries out their actions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from watchbell.actors import system
from watchbell.clock import SYSTEM, Clock
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.jobs import definitions, job_defaults, job_records, stock
from watchbell.jobs.action_runner import ActionRunner
from watchbell.jobs.action_work import ActionWork
from watchbell.jobs.alert_work import AlertWork
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.decide import actions
from watchbell.jobs.job_packing import fields, pack
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action, Job
from watchbell.settings import Jobs as JobsSettings
from watchbell.settings import Settings, Tables
from watchbell.store.client import Store

BASE_URL = "https://watchbell.example.com"
NOW = 1_772_716_029.5
MEDIA = {"email": {"from_address": "w@example.com"}, "webhook": {}}
WHO = system("tests")


def settings(
    media: Mapping[str, Mapping[str, Any]] = MEDIA, *, private_hooks: bool = False
) -> Settings:
    jobs = JobsSettings(private_hooks=private_hooks)
    return Settings(data=Path("/nonexistent"), jobs=jobs, gateways=Tables(media))


async def known(store: Store) -> Catalogue:
    """What a new store has, with the event `backup` and the server `db-1`."""
    await stock.ensure(store, NOW)
    if not await store.call("HEXISTS", Jobs(store.prefix).events(), "backup"):
        event = {"id": "backup", "title": "Backup", "params": {"script": "true"}}
        await definitions.create(store, "event", event, WHO, NOW)
    server = msgspec.json.encode(Server(id="s1", hostname="db-1"))
    await store.call("HSET", Fleet(store.prefix).servers(), "s1", server)
    catalogue = Catalogue(store)
    await catalogue.load()
    return catalogue


def job(*wanted: Action, **more: Any) -> Job:
    values: dict[str, Any] = {
        "id": "j1",
        "event": "backup",
        "state": "complete",
        "server": "s1",
        "code": 3,
        "description": "disk full",
        "source": "scheduler",
        "started": NOW - 9,
        "completed": NOW,
        "elapsed": 9.0,
        "actions": wanted,
    }
    return Job(**{**values, **more})


async def finish(store: Store, ended: Job) -> None:
    """As the finisher does it, as far as actions are concerned."""
    keys = Jobs(store.prefix)
    done = actions.completed(ended, NOW)
    await store.call("HSET", keys.finished(), ended.id, pack(done.job))
    if done.items:
        await store.call("RPUSH", keys.actions(), *done.items)


async def begin(store: Store, active: Job) -> None:
    """As the dispatcher does it."""
    keys = Jobs(store.prefix)
    words = [word for pair in fields(active).items() for word in pair]
    await store.call("HSET", keys.job(active.id), *words)
    if items := actions.started(active):
        await store.call("RPUSH", keys.actions(), *items)


async def log_end(job_id: str) -> str:
    return f"last words of {job_id}\n"


async def worker(
    store: Store, chosen: Settings | None = None, clock: Clock = SYSTEM, lease: float = 30
) -> ActionRunner:
    catalogue = await known(store)
    work = ActionWork(
        store, catalogue, chosen or settings(), clock, base_url=BASE_URL, log_end=log_end
    )
    given = chosen or settings()
    defaults = job_defaults.of(given)
    of_alerts = AlertWork(store, catalogue, given, clock, base_url=BASE_URL, defaults=defaults)
    return ActionRunner(store, work, of_alerts, clock, lease)


async def carry_out(store: Store, chosen: Settings | None = None, clock: Clock = SYSTEM) -> None:
    """Everything that is queued now."""
    runner = await worker(store, chosen, clock)
    await drain(store, runner)


async def drain(store: Store, runner: ActionRunner) -> None:
    while await runner.once():
        pass
    assert not await store.call("LLEN", Jobs(store.prefix).actions())


async def record(store: Store, job_id: str = "j1") -> Job:
    found = await job_records.read(store, job_id)
    assert found is not None
    return found


async def result(store: Store, n: int = 0, job_id: str = "j1") -> Action:
    return (await record(store, job_id)).actions[n]
