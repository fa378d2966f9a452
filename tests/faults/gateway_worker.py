"""Gateways to be killed.

`python -m tests.faults.gateway_worker URL CONFIG LEASE [FAULT]`: delivers by all media of the
settings file, under leases of LEASE seconds.
"""

import asyncio
import sys
from pathlib import Path

from tests.gateways.post import hush
from watchbell import logs, probes, settings
from watchbell.clock import SYSTEM
from watchbell.gateways import catalogue
from watchbell.gateways.alert_messages import AlertRenderer
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.message_texts import open_texts
from watchbell.settings import Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def deliver(store: Store, chosen: Settings, one: Configured, lease: float) -> None:
    medium = one.open()
    texts = open_texts(one.name, one.style, "", lambda alert: "", print)  # noqa: ARG005
    render = AlertRenderer(texts, medium.form).message
    delivery = Delivery(store, one.name, medium, render, chosen.delivery, SYSTEM, hush, lease)
    await delivery.run()


async def main(url: str, config: Path, lease: float) -> None:
    chosen = settings.load(config, {}, {"data": "/nonexistent"}).settings
    async with Store(store_url.parse(url)) as store, asyncio.TaskGroup() as group:
        for one in catalogue.configured(chosen):
            group.create_task(deliver(store, chosen, one, lease))


if __name__ == "__main__":
    if len(sys.argv) > 4:
        probes.arm(sys.argv[4])
    logs.configure("error", "json")
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
