"""Groups of servers, and which servers belong to them."""

import asyncio

import pytest

from tests.fleet.crew import NOW, arrival, join
from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet import grouping, groups, joining, records, servers, tokens
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Group, Server, ServerInfo
from watchbell.fleet.records import Change
from watchbell.store.client import Store
from watchbell.store.live import Gap, listen


async def of(store: Store, server: Server) -> tuple[str, ...]:
    return (await servers.get(store, server.id)).groups


async def test_a_server_that_matches_no_group_is_in_main(store: Store) -> None:
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    server, _ = await join(store, "web-1")
    assert server.groups == ("main",)
    assert server.auto_group


async def test_a_server_joins_every_group_whose_expression_matches(store: Store) -> None:
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    await groups.create(store, {"title": "Firsts", "hostname_match": "-1$"}, "alice", NOW, "firsts")
    server, _ = await join(store, "DB-1")
    assert server.groups == ("db", "firsts")


async def test_each_change_of_a_group_assigns_the_servers_anew(store: Store) -> None:
    server, _ = await join(store, "db-1")
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    assert await of(store, server) == ("db",)
    await groups.update(store, "db", {"hostname_match": "^sql-"}, NOW)
    assert await of(store, server) == ("main",)
    await groups.update(store, "db", {"hostname_match": "d.*1"}, NOW)
    assert await of(store, server) == ("db",)
    await groups.remove(store, "db")
    assert await of(store, server) == ("main",)


async def test_groups_that_a_person_assigns_stay(store: Store) -> None:
    server, _ = await join(store, "db-1")
    await groups.create(store, {"title": "Canaries"}, "alice", NOW, "canaries")
    changed = await servers.update(store, server.id, {"groups": ["canaries"]}, NOW)
    assert changed.groups == ("canaries",)
    assert not changed.auto_group
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    assert await of(store, server) == ("canaries",)
    back = await servers.update(store, server.id, {"autoGroup": True}, NOW)
    assert back.groups == ("db",)


async def test_a_server_is_put_into_main_by_hand(store: Store) -> None:
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    server, _ = await join(store, "db-1")
    assert server.groups == ("db",)
    changed = await servers.update(store, server.id, {"groups": ["main"]}, NOW)
    assert (changed.groups, changed.auto_group) == (("main",), False)


async def test_a_server_whose_last_group_is_deleted_is_assigned_automatically_again(
    store: Store,
) -> None:
    server, _ = await join(store, "db-1")
    for id_ in ("canaries", "spares"):
        await groups.create(store, {"title": id_}, "alice", NOW, id_)
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    await servers.update(store, server.id, {"groups": ["canaries", "spares"]}, NOW)
    await groups.remove(store, "canaries")
    assert await of(store, server) == ("spares",)
    await groups.remove(store, "spares")
    found = await servers.get(store, server.id)
    assert found.groups == ("db",)
    assert found.auto_group


async def test_a_server_that_joins_during_a_change_of_groups_is_not_missed(store: Store) -> None:
    """Whichever comes first, both are in effect at the end."""
    made = [await tokens.create_join(store, "alice", NOW) for _ in range(20)]
    async with asyncio.TaskGroup() as tasks:
        for n, (_, token) in enumerate(made):
            tasks.create_task(joining.arrive(store, token.id, arrival(f"db-{n}")))
            fields = {"title": f"{n}", "hostname_match": f"^db-{n}$"}
            tasks.create_task(groups.create(store, fields, "alice", NOW, f"g{n}"))
    for server in await servers.every(store):
        assert server.groups == (f"g{server.hostname.removeprefix('db-')}",)
    assert len(await servers.every(store)) == 20


async def test_a_change_that_follows_from_something_else_is_not_written(store: Store) -> None:
    await groups.create(store, {"title": "Databases"}, "alice", NOW, "db")
    before = await records.load(store)
    await groups.update(store, "db", {"title": "SQL"}, NOW)
    server = Server(id="s1", hostname="db-1", groups=("db",))
    change = Change(Server, "s1", b"", server)
    assert not await records.write(store, [change], groups=before.group_texts)
    assert await servers.every(store) == []
    now = await records.load(store)
    assert await records.write(store, [change], groups=now.group_texts)
    assert await servers.every(store) == [server]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": " "}, "title"),
        ({}, "title"),
        ({"title": "x" * 101}, "title"),
        ({"title": 5}, "title"),
        ({"title": "x", "hostname_match": "("}, "hostname_match"),
        ({"title": "x", "hostname_match": "(?=x)"}, "hostname_match"),
        ({"title": "x", "max_jobs_per_server": -1}, "max_jobs_per_server"),
        ({"title": "x", "max_jobs_per_server": "many"}, "max_jobs_per_server"),
        ({"title": "x", "revision": 5}, "revision"),
    ],
)
async def test_what_is_wrong_with_a_group_is_refused_by_field(
    store: Store, fields: dict[str, object], field: str
) -> None:
    with pytest.raises(Refused) as refused:
        await groups.create(store, fields, "alice", NOW)
    assert refused.value.field == field
    assert await groups.every(store) == []


async def test_groups_have_ids_revisions_and_an_order(store: Store) -> None:
    with pytest.raises(Refused, match="lower-case"):
        await groups.create(store, {"title": "x"}, "alice", NOW, "Not An Id")
    await groups.create(store, {"title": "b", "sort_order": 2}, "alice", NOW, "first")
    made = await groups.create(store, {"title": "a", "sort_order": 1}, "alice", NOW)
    assert made.id.startswith("g")
    assert [one.title for one in await groups.every(store)] == ["a", "b"]
    with pytest.raises(Refused, match="already"):
        await groups.create(store, {"title": "x"}, "alice", NOW, "first")
    changed = await groups.update(store, "first", {"title": "c"}, NOW + 5, revision=1)
    assert (changed.revision, changed.modified, changed.username) == (2, NOW + 5, "alice")
    with pytest.raises(Changed):
        await groups.update(store, "first", {"title": "d"}, NOW, revision=1)
    with pytest.raises(Refused, match="main"):
        await groups.remove(store, "main")
    for act in (groups.remove(store, "none"), groups.get(store, "none")):
        with pytest.raises(NotFound):
            await act


async def test_changes_are_published(store: Store) -> None:
    server, _ = await join(store, "db-1")
    heard = []
    async for item in listen(store, Fleet().changes()):
        if isinstance(item, Gap):
            fields = {"title": "Databases", "hostname_match": "^db-"}
            await groups.create(store, fields, "alice", NOW, "db")
            await servers.update(store, server.id, {"enabled": False}, NOW)
            await groups.remove(store, "db")
            await store.call("PUBLISH", Fleet().changes(), "end")
        elif item.body == b"end":
            break
        else:
            heard.append(item.body.decode())
    assert heard == ["db", server.id, server.id, "db", server.id]


async def test_a_spoilt_record_is_left_out(store: Store) -> None:
    server, _ = await join(store, "db-1")
    await store.call("HSET", Fleet().servers(), "odd", "no JSON")
    await store.call("HSET", Fleet().groups(), "odd", b"\xff")
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    assert [one.id for one in await servers.every(store)] == [server.id]
    assert [one.id for one in await groups.every(store)] == ["db"]
    assert await of(store, server) == ("db",)
    await servers.remove(store, "odd")
    await groups.remove(store, "odd")


@pytest.mark.parametrize(
    ("own", "limits", "agent", "cores", "slots"),
    [
        (None, [], 0, 2, 8),
        (None, [], 0, None, 4),
        (None, [], 0, "two", 4),
        (None, [], 3, 2, 3),
        (None, [5], 3, 2, 5),
        (None, [5, 2], 3, 2, 2),
        (None, [None, 7], 0, 2, 7),
        (1, [5], 3, 2, 1),
        (0, [5], 3, 2, 0),
    ],
)
def test_slots(
    own: int | None, limits: list[int | None], agent: int, cores: object, slots: int
) -> None:
    known = {
        f"g{n}": Group(id=f"g{n}", title="", max_jobs_per_server=limit)
        for n, limit in enumerate(limits)
    }
    server = Server(
        id="s1",
        hostname="db-1",
        groups=(*known, "deleted"),
        max_jobs=own,
        info=ServerInfo(cpu={"cores": cores}, slots=agent),
    )
    assert grouping.slots(server, known) == slots
