"""A crawl whose pipeline, archivist and store are killed at random, again and again.

`--seed N` repeats a run: the seed of a failure is in its output.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.archive.crawled import add, is_over
from tests.archive.site import Site, served
from tests.faults.crawl_scene import Broadcast, Scene, check, scene
from tests.waiting import eventually
from watchbell.archive import crawls
from watchbell.archive.model import CrawlSettings
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently

PACE = CrawlSettings(age=4, delay_min=50, delay_max=50, concurrency=4)
VICTIMS = ("pipeline", "pipeline", "pipeline", "store", "archivist")


class Fire:
    """Strikes whenever some more URLs were asked for."""

    def __init__(self, one: Scene, site: Site, chance: Random) -> None:
        self._scene, self._site, self._chance = one, site, chance
        self.victims = {"pipeline": one.pipeline(), "archivist": one.archivist()}
        for process in self.victims.values():
            process.start()
        self.kills = dict.fromkeys(VICTIMS, 0)

    async def strike(self, ident: str) -> bool:
        """False once the crawl is over."""
        target = self._site.asked.total() + self._chance.randrange(25)

        async def is_time() -> bool:
            return (
                self._site.asked.total() >= target
                or len(self._site.asked) == len(self._site.urls)
                or await patiently(lambda: is_over(self._scene.store, ident))
            )

        await eventually(is_time)
        victim = self._chance.choice(VICTIMS)
        await asyncio.to_thread(self._kill, victim)
        self.kills[victim] += 1
        return not await patiently(lambda: is_over(self._scene.store, ident))

    def _kill(self, victim: str) -> None:
        if victim == "store":
            self._scene.server.kill()
            self._scene.server.start()
            return
        self.victims[victim].kill()
        self.victims[victim].start()


async def test_nothing_is_lost_by_kills_at_random(
    folder: Path, seed: int, repetitions: Callable[[int], int]
) -> None:
    strikes = repetitions(100) // 2
    async with (
        scene(folder, "appendfsync always") as one,
        served(Site(15 * strikes)) as site,
        Store(store_url.parse(one.server.url)) as other,
        asyncio.TaskGroup() as group,
    ):
        fire = Fire(one, site, Random(seed))
        ident = await add(one.store, site.start, PACE)
        heard = Broadcast(ident)
        listening = group.create_task(heard.follow(other))
        for _ in range(strikes):
            if not await fire.strike(ident):
                break
        await one.over(ident)
        await check(one, ident, site, one.finished(), interruptions=fire.kills["pipeline"])
        crawl = await crawls.get(one.store, ident)
        assert crawl
        every = set(range(1, crawl.log_score + 1))
        await eventually(lambda: heard.indexes >= every, why="all entries were broadcast")
        assert heard.indexes == every
        left = one.folder / "one" / "archive" / "crawls"
        await eventually(lambda: not list(left.iterdir()), why="the folder of the crawl is gone")
        listening.cancel()
        print(f"killed: {fire.kills}")
