"""Commands for the archive in rooms of Jabber: moderators are operators, guests may do little."""

from functools import partial
from pathlib import Path

from tests.gateways.test_jabber import attended
from tests.gateways.xmpp import OPS, person, prosody
from watchbell.archive import crawls, idents
from watchbell.clock import SYSTEM
from watchbell.roles.gateways import _archive
from watchbell.roles.role import Context
from watchbell.settings import Settings
from watchbell.store.client import Store

URL = "https://example.com/page"
IDENT = idents.ident_of(URL)


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
