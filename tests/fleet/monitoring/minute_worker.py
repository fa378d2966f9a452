"""Evaluates the samples of servers whose load is too high, to be killed.

`python -m tests.fleet.monitoring.minute_worker URL MINUTES [FAULT]`: minute after minute.
"""

import asyncio
import sys

from tests.fleet.monitoring.scenes import START, Scene, sample
from watchbell import probes
from watchbell.fleet.monitoring import evaluator
from watchbell.fleet.monitoring.judgement import Reading
from watchbell.store import url as store_url
from watchbell.store.client import Store

SERVERS = 120


async def main(url: str, minutes: int) -> None:
    async with Store(store_url.parse(url)) as store:
        scene = Scene(store)
        for minute in range(minutes):
            at = START + minute * 60
            readings = [Reading(f"s{number}", at, sample(9)) for number in range(SERVERS)]
            await evaluator.evaluate(store, readings, scene.definitions, scene.outlets)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        probes.arm(sys.argv[3])
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
