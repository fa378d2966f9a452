"""Tokens of agents, and how servers join with them."""

import asyncio
import re

import pytest

from tests.fleet.crew import NOW, arrival, join
from watchbell.errors import NotFound, Refused
from watchbell.fleet import groups, joining, servers, tokens
from watchbell.fleet.joining import REVOKED
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import ServerInfo
from watchbell.store.client import Store


async def ids(store: Store) -> set[str]:
    return {token.id for token in await tokens.every(store)}


async def test_a_token_is_known_by_its_text_alone_and_stored_as_a_digest(store: Store) -> None:
    text, made = await tokens.create_join(store, "alice", NOW)
    assert re.fullmatch("wba_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", text)
    assert await tokens.authenticate(store, text, NOW) == made
    secret = text.rpartition("_")[2]
    stored = await store.call("HGETALL", Fleet().tokens())
    assert secret.encode() not in b"".join(stored.values())
    other = text[:-1] + ("A" if text[-1] != "A" else "B")
    for wrong in (other, "", text[4:], f"{text} ", text.replace(made.id, "0" * 12)):
        assert await tokens.authenticate(store, wrong, NOW) is None


async def test_a_token_expires_until_a_server_has_joined_with_it(store: Store) -> None:
    text, made = await tokens.create_join(store, "alice", NOW, expires=NOW + 60)
    assert await tokens.authenticate(store, text, NOW + 59) is not None
    assert await tokens.authenticate(store, text, NOW + 60) is None
    with pytest.raises(Refused, match="expired"):
        await joining.arrive(store, made.id, arrival("db-1", NOW + 60))
    await joining.arrive(store, made.id, arrival("db-1"))
    assert await tokens.authenticate(store, text, NOW + 60) is not None
    with pytest.raises(Refused, match="future"):
        await tokens.create_join(store, "alice", NOW, expires=NOW)


async def test_one_server_joins_with_a_token_and_no_other(store: Store) -> None:
    server, token = await join(store, "db-1")
    assert token.server == server.id
    again, _ = await joining.arrive(store, token.id, arrival("db-1"))
    assert again == server
    with pytest.raises(Refused, match="is for db-1, and this machine is db-2"):
        await joining.arrive(store, token.id, arrival("db-2"))
    assert [one.hostname for one in await servers.every(store)] == ["db-1"]


async def test_of_servers_that_join_at_the_same_time_with_one_token_one_does(store: Store) -> None:
    _, token = await tokens.create_join(store, "alice", NOW)
    acts = [joining.arrive(store, token.id, arrival(f"db-{n}")) for n in range(10)]
    found = await asyncio.gather(*acts, return_exceptions=True)
    assert sum(not isinstance(one, Exception) for one in found) == 1
    assert len(await servers.every(store)) == 1


async def test_a_token_for_a_hostname_is_of_use_to_no_other(store: Store) -> None:
    with pytest.raises(Refused, match="this token is for db-1") as refused:
        await join(store, "db-2", hostname="db-1")
    assert refused.value.code == REVOKED
    server, _ = await join(store, "DB-1.", hostname="Db-1")
    assert server.hostname == "db-1"


async def test_a_token_for_any_hostname_takes_no_servers_place(store: Store) -> None:
    first, token = await join(store, "db-1")
    with pytest.raises(Refused, match="there is a server db-1 already"):
        await join(store, "db-1")
    second, _ = await join(store, "db-1", hostname="db-1")
    assert second.id == first.id
    with pytest.raises(Refused, match="revoked"):  # the machine that was replaced
        await joining.arrive(store, token.id, arrival("db-1"))


async def test_a_token_may_name_the_groups(store: Store) -> None:
    with pytest.raises(Refused, match="there is no group 'db'"):
        await join(store, "db-1", groups=["db"])
    await groups.create(store, {"title": "Databases"}, "alice", NOW, "db")
    server, _ = await join(store, "db-1", groups=["db"])
    assert server.groups == ("db",)
    assert not server.auto_group


async def test_a_replaced_token_is_valid_until_the_next_one_is_used(store: Store) -> None:
    _, token = await join(store, "db-1")
    assert tokens.is_replaced(token, NOW)
    text, new = await tokens.rotate(store, token.id, NOW)
    assert await ids(store) == {token.id, new.id}
    # The agent died before it stored the new one.
    _, token = await joining.arrive(store, token.id, arrival("db-1"))
    assert await tokens.authenticate(store, text, NOW) is None
    text, new = await tokens.rotate(store, token.id, NOW)
    _, used = await joining.arrive(store, new.id, arrival("db-1"))
    assert await ids(store) == {new.id}
    assert not tokens.is_replaced(used, NOW + tokens.REPLACED_AFTER - 1)
    assert tokens.is_replaced(used, NOW + tokens.REPLACED_AFTER)


async def test_only_the_last_replacement_counts(store: Store) -> None:
    _, token = await join(store, "db-1")
    first, _ = await tokens.rotate(store, token.id, NOW)
    second, new = await tokens.rotate(store, token.id, NOW)
    assert await tokens.authenticate(store, first, NOW) is None
    assert await tokens.authenticate(store, second, NOW) is not None
    await tokens.confirm(store, new.id)
    assert await ids(store) == {new.id}
    with pytest.raises(NotFound):
        await tokens.rotate(store, token.id, NOW)


async def test_a_revoked_token_is_of_no_use(store: Store) -> None:
    text, token = await tokens.create_join(store, "alice", NOW)
    await tokens.revoke(store, token.id)
    assert await tokens.authenticate(store, text, NOW) is None
    with pytest.raises(Refused) as refused:
        await joining.arrive(store, token.id, arrival("db-1"))
    assert refused.value.code == REVOKED
    with pytest.raises(NotFound):
        await tokens.revoke(store, token.id)


async def test_all_tokens_of_a_server_are_revoked_together(store: Store) -> None:
    server, token = await join(store, "db-1")
    await tokens.rotate(store, token.id, NOW)
    _, other = await join(store, "db-2")
    assert await tokens.revoke_of(store, server.id) == 2
    assert await ids(store) == {other.id}


async def test_a_removed_server_leaves_nothing_and_does_not_come_back(store: Store) -> None:
    server, token = await join(store, "db-1")
    await servers.remove(store, server.id)
    with pytest.raises(Refused):
        await joining.arrive(store, token.id, arrival("db-1"))
    assert await store.call("DBSIZE") == 0
    with pytest.raises(NotFound):
        await servers.remove(store, server.id)


@pytest.mark.parametrize("name", ["", " ", "a b", "x" * 300, "db/1", "-db", "{jobs}"])
async def test_a_machine_without_a_proper_hostname_is_refused(store: Store, name: str) -> None:
    with pytest.raises(Refused) as refused:
        await join(store, name)
    assert refused.value.field == "hostname"


async def test_an_agent_that_says_too_much_about_its_machine_is_refused(store: Store) -> None:
    _, token = await tokens.create_join(store, "alice", NOW)
    info = ServerInfo(os={"distro": "x" * 20_000})
    with pytest.raises(Refused, match="longer"):
        await joining.arrive(store, token.id, arrival("db-1", info=info))
