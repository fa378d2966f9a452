"""The role `processor` goes on although what it does about records is refused."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from tests.logged import logged
from tests.waiting import eventually
from watchbell.alerting import intake
from watchbell.alerting.model import CheckEvent
from watchbell.roles.alerting import PROCESSOR
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Settings
from watchbell.store.client import Store


async def test_events_are_processed_although_the_stamps_of_records_are_garbage(
    store: Store,
) -> None:
    settings = Settings(data=Path())
    settings = replace(settings, alerting=replace(settings.alerting, records=True))
    await store.call("SET", "record_stamps", "garbage")
    supervisor = Supervisor([PROCESSOR], settings, store)
    with logged() as lines:
        task = asyncio.create_task(supervisor.run())
        await eventually(lambda: any(line.get("task") == "records" for line in lines.all()))
        event = CheckEvent(type="service", state="ok", entity="web", check="disk")
        await intake.submit(store, event)
        await eventually(lambda: store.call("SCARD", "check::ids"))
        assert [status.failures for status in supervisor.statuses] == [0]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await store.call("DEL", "record_stamps")
