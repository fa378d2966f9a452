"""What is said of changes, to those who show checks live."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from tests.alerting.scenes import Stage
from watchbell.alerting import change_feed, check_settings, entities, maintenance
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import AlertingOwn
from watchbell.store.client import Store
from watchbell.store.live import Gap, Message, listen

Said = tuple[str, list[str]]


@asynccontextmanager
async def listening(store: Store) -> AsyncIterator["Ear"]:
    own = AlertingOwn(store.prefix)
    channels = own.changed_checks(), own.changed_windows()
    async with aclosing(listen(store, *channels)) as heard:
        assert isinstance(await anext(heard), Gap)
        yield Ear(store, heard)


class Ear:
    def __init__(self, store: Store, heard: AsyncIterator[Message | Gap]) -> None:
        self._store, self._heard = store, heard

    async def said(self) -> list[Said]:
        """All that was said since the last time."""
        end = "the end"
        await change_feed.publish(self._store, [end])
        found: list[Said] = []
        while True:
            message = await anext(self._heard)
            assert isinstance(message, Message)
            names = change_feed.checks_named(message.body)
            if names == [end]:
                return found
            found.append((message.channel.removeprefix(self._store.prefix), names))


async def test_a_batch_says_what_changed_in_it_once(store: Store) -> None:
    stage = Stage(store)
    async with listening(store) as ear:
        for name, state in (("a", "ok"), ("b", "critical"), ("b", "critical"), ("a", "warning")):
            event = {"type": "service", "state": state, "entity": name, "check": "http"}
            await stage.push(event)
        await stage.drain()
        assert await ear.said() == [("changed_checks", ["a:http", "b:http"])]
        await stage.later(60).send("critical", "b:http", summary="still")
        await stage.later(60).send("warning", "a:http")
        assert await ear.said() == []
        await stage.later(60).send("ok", "a:http")
        await stage.later(60).send("ok", "a:http")
        assert await ear.said() == [("changed_checks", ["a:http"])]


async def test_acknowledgements_and_what_ends_them_are_windows(store: Store) -> None:
    stage = Stage(store, initial_failure_delay=0)
    await stage.send("critical")
    async with listening(store) as ear:
        await stage.later(1).send("acknowledgement")
        assert await ear.said() == [("changed_windows", ["web:http"])]
        await stage.later(1).send("ok")
        assert await ear.said() == [("changed_windows", ["web:http"])]
        await stage.later(1).send("test_notifications")
        assert await ear.said() == []


async def test_maintenance_is_told_as_it_is_planned_and_ended(store: Store) -> None:
    stage = Stage(store)
    await stage.send("ok")
    async with listening(store) as ear:
        now = stage.now
        await maintenance.create_scheduled(store, "web:http", now + 60, 60, "disks", now)
        assert await ear.said() == [("changed_windows", ["web:http"])]
        await stage.later(61).send("ok")  # by which it is found to be open
        assert await ear.said() == [("changed_windows", ["web:http"])]
        assert await maintenance.end_scheduled(store, "web:http", now + 60, now + 70)
        assert await ear.said() == [("changed_windows", ["web:http"])]
        assert not await maintenance.end_scheduled(store, "web:http", now + 60, now + 70)
        assert await ear.said() == []


async def test_switches_and_tags_are_told(store: Store) -> None:
    stage = Stage(store)
    await stage.send("ok")
    async with listening(store) as ear:
        await check_settings.disable(store, "web:http")
        await check_settings.enable(store, "web:http")
        await check_settings.enable(store, "web:http")
        assert await ear.said() == [("changed_checks", ["web:http"])] * 2
        (entity_id,) = await entities.names(store)
        await entities.save(store, Entity(id=entity_id, name="web", tags=("eu",)))
        await entities.remove(store, entity_id)
        assert await ear.said() == [("changed_checks", ["web:"])] * 2


async def test_what_is_enabled_again_is_where_it_was(store: Store) -> None:
    stage = Stage(store)
    await stage.send("ok")
    scores = await store.call("ZRANGE", stage.keys.current_checks("web"), 0, -1, "WITHSCORES")
    await check_settings.disable(store, "web:http")
    await check_settings.enable(store, "web:http")
    key = stage.keys.current_checks("web")
    assert await store.call("ZRANGE", key, 0, -1, "WITHSCORES") == scores
    assert await store.call("ZCARD", stage.keys.current_entities()) == 1


def test_words_of_others_on_the_channels_are_no_news() -> None:
    for body in (b"", b"\xff", b"{}", b"[1]", b'"web:http"', b"[" * 10_000):
        assert change_feed.checks_named(body) == []
    assert change_feed.checks_named(b'["web:http"]') == ["web:http"]
