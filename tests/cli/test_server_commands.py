"""`watchbell servers` and `watchbell groups`."""

import asyncio
import re

from tests.cli.commands import printed, ran
from tests.fleet.crew import NOW, arrival, join
from watchbell.clock import SYSTEM
from watchbell.fleet import joining, servers, tokens
from watchbell.store.client import Store


async def told(store: Store, *arguments: str) -> str:
    words = (*arguments, "--store", store.url.redacted())
    done = await asyncio.to_thread(ran, *words, WATCHBELL_WEB_PORT="8180")
    assert done.returncode == 0, done.stderr
    return done.stdout


async def refused(store: Store, *arguments: str) -> str:
    done = await asyncio.to_thread(ran, *arguments, "--store", store.url.redacted())
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    return done.stderr


async def test_a_server_joins_with_a_token_of_the_command_line(store: Store) -> None:
    assert "There are no servers" in await told(store, "servers", "list")
    line = await told(store, "servers", "token", "db-1", "--valid", "2 hours")
    form = r"watchbell agent --join http://127\.0\.0\.1:8180 --token (wba_\w+_[\w-]{43})\n"
    found = re.fullmatch(form, line)
    assert found is not None
    token = await tokens.authenticate(store, found[1], SYSTEM.now())
    assert token is not None
    assert token.expires == token.created + 7_200
    server, _ = await joining.arrive(store, token.id, arrival("db-1", int(SYSTEM.now())))
    assert server.hostname == "db-1"
    assert "there is no group 'none'" in await refused(store, "servers", "token", "--group", "none")


async def test_servers_are_shown_and_changed(store: Store) -> None:
    server, _ = await join(store, "db-1")
    listed = await told(store, "servers", "list")
    assert re.search(rf"{server.id} +db-1 +- +offline +main +0 of 8 +- +- +never", listed)
    await told(store, "servers", "edit", "db-1", "--title", "Main database", "--slots", "3")
    await told(store, "servers", "disable", "db-1")
    shown = await told(store, "servers", "show", server.id)
    assert re.search("title +Main database\n", shown)
    assert re.search("state +disabled\n", shown)
    assert re.search("jobs +0 of 3\n", shown)
    assert re.search(r"groups +main \(by hostname\)\n", shown)
    await told(store, "servers", "enable", "db-1")
    await told(store, "servers", "edit", "db-1", "--auto-slots")
    url = store.url.redacted()
    status = await asyncio.to_thread(printed, "servers", "show", "db-1", "--store", url)
    assert (status["server"].get("enabled", True), status["slots"]) == (True, 8)
    assert "nothing to change" in await refused(store, "servers", "edit", "db-1")
    assert "exclude" in await refused(
        store, "servers", "edit", "db-1", "--slots", "1", "--auto-slots"
    )
    assert "there is no server 'x'" in await refused(store, "servers", "show", "x")


async def test_a_server_is_removed_unless_it_runs_jobs(store: Store) -> None:
    server, _ = await join(store, "db-1")
    await store.call("SADD", "{jobs}:server_jobs:" + server.id, "j1")
    assert "this server runs 1 job;" in await refused(store, "servers", "remove", "db-1", "--yes")
    await store.call("DEL", "{jobs}:server_jobs:" + server.id)
    await told(store, "servers", "remove", "db-1", "--yes")
    assert await servers.every(store) == []
    assert "server.remove" in await told(store, "audit", "list")


async def test_groups_are_managed(store: Store) -> None:
    await join(store, "db-1")
    assert "There are no groups" in await told(store, "groups", "list")
    await told(store, "groups", "add", "Databases", "--id", "db", "--match", "^db-")
    assert re.search(r"db +Databases +\^db- +- +1", await told(store, "groups", "list"))
    await told(store, "groups", "edit", "db", "--slots", "2", "--title", "SQL")
    shown = await told(store, "groups", "show", "db")
    assert re.search("title +SQL\n", shown)
    assert re.search("servers +db-1\n", shown)
    assert "hostname_match" in await refused(store, "groups", "edit", "db", "--match", "(")
    await told(store, "servers", "edit", "db-1", "--group", "db")
    await told(store, "groups", "remove", "db", "--yes")
    (server,) = await servers.every(store)
    assert (server.groups, server.auto_group) == (("main",), True)
    assert server.created == NOW
