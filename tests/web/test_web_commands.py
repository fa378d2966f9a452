"""`watchbell users`, `watchbell api-keys` and what `watchbell up` says at the first start."""

import asyncio
import re
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar

from tests import servers
from tests.cli.commands import printed, ran
from tests.conftest import Up
from tests.waiting import wait_until
from tests.web.site import PASSWORD, Site
from watchbell.actors import PRIVILEGES
from watchbell.store.client import Store


def told(store: Store, *arguments: str) -> str:
    done = ran(*arguments, "--store", store.url.redacted(), WATCHBELL_WEB_PORT="8180")
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(store: Store, *arguments: str) -> str:
    done = ran(*arguments, "--store", store.url.redacted())
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    return done.stderr


async def test_users_are_kept_from_the_command_line(store: Store) -> None:
    await asyncio.to_thread(_keep_users, store)


def _keep_users(store: Store) -> None:
    assert "There are no users" in told(store, "users", "list")
    link = told(store, "users", "add", "alice", "--role", "administrator")
    assert re.fullmatch(r"http://127\.0\.0\.1:8180/sign-in/[0-9a-f]{12}_[A-Za-z0-9_-]{43}\n", link)
    assert told(store, "users", "link", "alice") != link
    assert "already" in refused(store, "users", "add", "alice")
    assert "only administrator" in refused(store, "users", "role", "alice", "viewer")
    told(store, "users", "add", "bob")
    told(store, "users", "role", "bob", "editor")
    given = ran(
        *("users", "password", "bob", "--store", store.url.redacted()), given=PASSWORD + "\n"
    )
    assert given.returncode == 0
    assert PASSWORD not in given.stdout + given.stderr
    rows = printed("users", "list", "--store", store.url.redacted())
    assert [(one["name"], one["role"], one["has_password"]) for one in rows] == [
        ("alice", "administrator", False),
        ("bob", "editor", True),
    ]
    told(store, "users", "remove", "bob")
    assert "there is no user 'bob'" in refused(store, "users", "link", "bob")


async def test_rights_are_kept_from_the_command_line(store: Store) -> None:
    await asyncio.to_thread(_keep_rights, store)


def _keep_rights(store: Store) -> None:
    assert "There are no custom roles" in told(store, "roles", "list")
    given = ("--privilege", "run_jobs", "--privilege", "abort_jobs", "--category", "backups")
    told(store, "roles", "add", "runners", *given)
    assert "not a privilege" in refused(store, "roles", "add", "x", "--privilege", "fly")
    assert "already the name" in refused(store, "roles", "add", "operator")
    told(store, "users", "add", "bob", "--custom-role", "runners", "--group", "db")
    assert "there is no role" in refused(store, "users", "edit", "bob", "--custom-role", "x")
    assert "used by bob" in refused(store, "roles", "remove", "runners")
    said = told(store, "users", "edit", "bob", "--privilege", "tag_jobs", "--group", "none")
    assert said == "bob is now viewer, with runners, tag_jobs\n"
    limited = ("--category", "a", "--group", "b")
    said = told(store, "users", "edit", "bob", "--role", "operator", *limited)
    assert said == "bob is now operator, with runners, tag_jobs, limited to category a; group b\n"
    assert "runners, tag_jobs  category a; group b" in told(store, "users", "list")
    told(store, "users", "edit", "bob", "--custom-role", "none")
    told(store, "roles", "edit", "runners", "--title", "Run backups", "--privilege", "run_jobs")
    told(store, "roles", "disable", "runners")
    (role,) = printed("roles", "list", "--store", store.url.redacted())
    assert (role["title"], role["privileges"], role["enabled"]) == (
        *("Run backups", ["run_jobs"], False),
    )
    told(store, "roles", "enable", "runners")
    secret = told(store, "api-keys", "create", "ci", "--custom-role", "runners").strip()
    id_ = secret.split("_")[1]
    said = told(store, "api-keys", "edit", id_, "--scope", "read", "--category", "a")
    assert said == f"API key {id_} now has read, runners; limited to: category a\n"
    told(store, "api-keys", "revoke", id_)
    told(store, "roles", "remove", "runners")


def test_every_privilege_is_listed_with_its_least_role() -> None:
    rows = {one["privilege"]: one["role"] for one in printed("roles", "privileges")}
    assert set(rows) == set(PRIVILEGES)
    assert (rows["run_jobs"], rows["edit_events"], rows["admin"]) == (
        *("operator", "editor", "administrator"),
    )


async def test_keys_are_kept_from_the_command_line(store: Store) -> None:
    await asyncio.to_thread(_keep_keys, store)


def _keep_keys(store: Store) -> None:
    assert "There are no API keys" in told(store, "api-keys", "list")
    secret = told(store, "api-keys", "create", "prometheus", "--days", "3").strip()
    assert re.fullmatch("wb_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", secret)
    url = told(store, "api-keys", "create", "b", "--ping", "db-1:backup", "--ttl", "1 day")
    assert "/ping/wb_" in url
    assert "--ttl" in refused(store, "api-keys", "create", "b", "--ping", "db-1:backup")
    assert "can't be a check" in refused(
        store, "api-keys", "create", "b", "--ping", "backup", "--ttl", "1 day"
    )
    listed = told(store, "api-keys", "list")
    assert "intake" in listed
    assert "ping db-1:backup" in listed
    assert secret not in listed
    id_ = secret.split("_")[1]
    told(store, "api-keys", "revoke", id_)
    assert "there is no such key" in refused(store, "api-keys", "revoke", id_)


def test_each_start_prints_a_link_that_revokes_the_last_until_there_was_a_sign_in(
    folder: Path,
) -> None:
    with servers.held_port() as hold:
        port = str(hold.getsockname()[1])
        with Up(folder / "data", "--port", "0", WATCHBELL_WEB_PORT=port) as up:
            url = f"http://127.0.0.1:{port}"
            old = printed_link(up, url)
            up.end()
            new = printed_link(up.again(), url)
            assert asyncio.run(posted(url, old)) == 410
            assert asyncio.run(signed_in(url, new)) == "admin"
            assert asyncio.run(posted(url, new)) == 410
            up.end()
            up.again()
            assert "/sign-in/" not in up.log.read_text()


def printed_link(up: Up, url: str) -> str:
    wait_until(lambda: '"event": "serving"' in up.log.read_text())
    said = up.log.read_text()
    assert url in said
    link = re.search(r"http://\S+(/sign-in/\S+) \(once\)", said)
    assert link is not None
    return link[1]


async def posted(url: str, path: str) -> int:
    async with ClientSession() as http, http.post(url + path) as answer:
        return answer.status


async def signed_in(url: str, path: str) -> str:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as http:
        async with http.post(url + path) as answer:
            assert answer.status == 200
        async with http.get(url + "/api/v1/session") as answer:
            return str((await answer.json())["user"])


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_doctor_warns_of_a_server_that_is_open_without_tls(host: str, folder: Path) -> None:
    done = ran("doctor", "--data", str(folder), WATCHBELL_WEB_HOST=host, WATCHBELL_WEB_PORT="8180")
    assert ("passwords travel unencrypted" in done.stdout) is (host == "0.0.0.0")


async def test_a_password_set_on_the_command_line_ends_the_sessions_of_its_user(
    site: Site, store: Store
) -> None:
    async with site.somebody("editor", "bob") as bob, site.somebody("viewer", "carol") as carol:
        command = ("users", "password", "bob", "--store", store.url.redacted())
        done = await asyncio.to_thread(ran, *command, given=PASSWORD + "\n")
        assert done.returncode == 0, done.stderr
        assert (await bob.get("/api/v1/session")).status == 401
        assert (await carol.get("/api/v1/session")).status == 200
