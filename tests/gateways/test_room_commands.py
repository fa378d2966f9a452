"""Commands for the archive in rooms of Jabber: moderators are operators, guests may do little."""

import asyncio
from functools import partial
from pathlib import Path

from tests.gateways.test_jabber import attended
from tests.gateways.xmpp import OPS, person, prosody
from tests.waiting import eventually
from watchbell.archive import announcements, crawls, finishing, idents
from watchbell.clock import SYSTEM
from watchbell.roles.gateways import _announce, _archive
from watchbell.roles.role import Context
from watchbell.settings import Settings
from watchbell.store.client import Store

URL = "https://example.com/page"
IDENT = idents.ident_of(URL)


async def test_the_end_of_a_crawl_is_announced_in_its_room(store: Store) -> None:
    context = Context(Settings(data=Path("/nonexistent")), store, SYSTEM, lambda _: None)
    with prosody() as server:
        async with (
            person(server, "alice", OPS) as alice,
            attended(server, store) as medium,
            asyncio.TaskGroup() as group,
        ):
            medium.room_commands = partial(_archive, context)
            tasks = [group.create_task(_announce(context, medium)) for _ in range(2)]
            alice.says(OPS, f"!ao {URL}")
            await alice.hears("Alice: Queued", IDENT)
            await finishing.abort(store, IDENT, "", SYSTEM.now())
            await alice.hears(URL, "aborted")

            async def is_done() -> bool:
                return not await announcements.ended(store)

            await eventually(is_done)
            for task in tasks:
                task.cancel()
        said = [text for text in alice.texts if "aborted" in text]
        assert len(said) == 1, "one of several processes announces it"


async def test_a_crawl_is_started_and_aborted_in_a_room(store: Store) -> None:
    context = Context(Settings(data=Path("/nonexistent")), store, SYSTEM, lambda _: None)
    with prosody() as server:
        async with (
            person(server, "alice", OPS) as alice,  # made the room, so she moderates it
            person(server, "bob", OPS) as bob,
            attended(server, store) as medium,
        ):
            medium.room_commands = partial(_archive, context)
            bob.says(OPS, "!unknown command")
            bob.says(OPS, f"!ao {URL}")
            await bob.hears("Bob: Queued", IDENT)
            crawl = await crawls.get(store, IDENT)
            assert crawl is not None
            assert (crawl.started_by, crawl.started_in) == ("Bob", OPS)
            bob.says(OPS, f"!abort {IDENT}")
            await bob.hears("Bob: Only people with voice may do that.")
            bob.says(OPS, "!pending")
            await bob.hears("No crawls are waiting.")
            alice.says(OPS, f"!abort {IDENT}")
            await alice.hears(f"Alice: Aborted {IDENT}.")
            alice.says(OPS, "watchbell: identify")
            await alice.hears("I am Watchbell")
        assert not any("No crawls are waiting." in text for text in alice.texts)
        assert not any("unknown" in text for text in bob.texts if text.startswith("Bob:"))
