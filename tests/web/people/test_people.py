"""Users, sessions and keys: how people come in, what they keep, and how they leave."""

import asyncio
import re
from contextlib import suppress
from urllib.parse import unquote

import msgspec
import pytest

from tests.waiting import eventually
from tests.web.site import BY, PASSWORD, Site, served
from watchbell.clock import SYSTEM, SetClock
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.keys import Web
from watchbell.web.limits import BY_ADDRESS, BY_USER, KEYS_MADE, sender
from watchbell.web.people import passwords, sign_in_links
from watchbell.web.people.users import Users, user_name
from watchbell.web.secrets import digest

KEYS = Web()


async def test_the_first_administrator_comes_in_by_a_link_once(site: Site, store: Store) -> None:
    path = await sign_in_links.first(store, int(SYSTEM.now()))
    assert path is not None
    async with site.stranger() as visitor:
        looked = await visitor.get(path)
        assert looked.status == 200
        assert "admin" in looked.text
        first = await visitor.post(path)
        assert (first.status, first.headers["Location"]) == (303, "/account/password")
        page = await visitor.get("/account/password")
        assert "Set a password" in page.text
        token = re.search('name="csrf" value="([^"]+)"', page.text)
        assert token is not None
        form = {"csrf": token[1], "new": PASSWORD}
        short = await visitor.post("/account/password", data={**form, "new": "short"})
        assert (short.status, "a password has 10 to" in short.text) == (422, True)
        done = await visitor.post("/account/password", data=form)
        assert (done.status, done.headers["Location"]) == (303, "/")
        assert "Change your password" in (await visitor.get("/account/password")).text
    async with site.stranger() as late:
        assert (await late.post(path)).status == 410
        assert (await late.get(path)).status == 410
        form = {"user": "admin", "password": PASSWORD}
        entered = await late.post("/sign-in", data=form)
        assert (entered.status, entered.headers["Location"]) == (303, "/")
    assert await sign_in_links.first(store, int(SYSTEM.now())) is None


async def test_a_link_is_kept_as_its_digest_and_ends(site: Site, store: Store) -> None:
    alice = await site.services.users.add("alice", "viewer", BY)
    path = await sign_in_links.make(store, alice, BY)
    key = KEYS.link(alice.id)
    assert await store.call("GET", key) == f"{digest(path.partition('_')[2])} alice".encode()
    assert 0 < await store.call("TTL", key) <= sign_in_links.LASTS
    await store.call("DEL", key)
    async with site.stranger() as visitor:
        answer = await visitor.post(path, headers={"Accept": "text/html"})
    assert answer.status == 410
    assert "ask for a new one" in answer.text


async def test_of_two_who_use_a_link_at_once_one_gets_in(site: Site, store: Store) -> None:
    path = await sign_in_links.make(store, await site.services.users.add("alice", "viewer", BY), BY)
    async with site.stranger() as one, site.stranger() as other, asyncio.TaskGroup() as group:
        tasks = [group.create_task(visitor.post(path)) for visitor in (one, other) for _ in "ab"]
    assert sorted(task.result().status for task in tasks) == [303, 410, 410, 410]


async def test_a_new_link_revokes_the_one_before(site: Site, store: Store) -> None:
    alice = await site.services.users.add("alice", "viewer", BY)
    bob = await site.services.users.add("bob", "viewer", BY)
    his = await sign_in_links.make(store, bob, BY)
    old, new = [await sign_in_links.make(store, alice, BY) for _ in range(2)]
    async with site.stranger() as visitor:
        assert [(await visitor.get(path)).status for path in (old, new)] == [410, 200]
        assert [(await visitor.post(path)).status for path in (old, new)] == [410, 303]
        assert (await visitor.post(his)).status == 303


async def test_the_first_link_is_another_after_each_start(site: Site, store: Store) -> None:
    old, new = [await sign_in_links.first(store, int(SYSTEM.now())) for _ in range(2)]
    assert old is not None
    assert new is not None
    async with site.stranger() as visitor:
        assert [(await visitor.post(path)).status for path in (old, new)] == [410, 303]


async def test_a_sign_in_by_password_revokes_the_link(site: Site, store: Store) -> None:
    alice = await site.services.users.add("alice", "viewer", BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    path = await sign_in_links.make(store, alice, BY)
    given = {"user": "alice", "password": PASSWORD}
    async with site.stranger() as visitor:
        wrong = await visitor.post("/api/v1/session", json={**given, "password": "wrong"})
        assert (wrong.status, (await visitor.get(path)).status) == (401, 200)
        assert (await visitor.post("/api/v1/session", json=given)).status == 201
        assert (await visitor.post(path)).status == 410


async def test_a_new_password_revokes_the_link(site: Site, store: Store) -> None:
    async with site.somebody("viewer", "alice") as alice, site.stranger() as visitor:
        path = await sign_in_links.make(store, await site.services.users.get("alice"), BY)
        body = {"new": PASSWORD}
        assert (await alice.ask("PUT", "/api/v1/session/password", json=body)).status == 204
        assert (await visitor.post(path)).status == 410
        path = await sign_in_links.make(store, await site.services.users.get("alice"), BY)
        await site.services.users.set_password("alice", PASSWORD + "!", BY)
        assert (await visitor.post(path)).status == 410


async def test_a_link_and_a_new_password_at_once_leave_no_link(site: Site, store: Store) -> None:
    """Whichever comes first, nothing is left that lets anybody in without the new password."""
    alice = await site.services.users.add("alice", "viewer", BY)
    for number in range(10):
        path = await sign_in_links.make(store, alice, BY)
        async with site.stranger() as visitor, asyncio.TaskGroup() as group:
            used = group.create_task(visitor.post(path))
            group.create_task(site.services.users.set_password("alice", f"{PASSWORD} {number}", BY))
        assert used.result().status in (303, 410)
        assert await sign_in_links.peek(store, path.rpartition("/")[2]) is None


async def test_a_refused_link_is_in_the_audit_log(site: Site, store: Store) -> None:
    alice = await site.services.users.add("alice", "viewer", BY)
    old = await sign_in_links.make(store, alice, BY)
    await sign_in_links.make(store, alice, BY)
    async with site.stranger() as visitor:
        assert (await visitor.post(old)).status == 410
    (last,) = await audit.read(store, "", 1)
    assert (last.entry.action, last.entry.details) == ("session.refused", "link")
    assert last.entry.address == "127.0.0.1"


async def test_a_password_lets_its_user_in_and_nobody_else(site: Site) -> None:
    await site.services.users.add("alice", "editor", BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    await site.services.users.add("bob", "viewer", BY)
    async with site.stranger() as visitor:
        right = await visitor.post("/api/v1/session", json={"user": "Alice", "password": PASSWORD})
        wrong = [
            await visitor.post("/api/v1/session", json={"user": user, "password": password})
            for user, password in [
                ("alice", PASSWORD + "x"),
                ("bob", PASSWORD),
                ("bob", "x"),
                ("nobody", PASSWORD),
                ("nobody", "a password of nobody"),
            ]
        ]
    assert right.status == 201
    assert right.json()["role"] == "editor"
    assert [answer.status for answer in wrong] == [401] * 5
    assert {answer.text for answer in wrong} == {wrong[0].text}
    cookie = right.headers["Set-Cookie"]
    assert cookie.startswith("watchbell=")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=lax", "Path=/"))
    assert "Secure" not in cookie


async def test_no_secret_is_in_the_store(site: Site, store: Store) -> None:
    path = await sign_in_links.make(store, await site.services.users.add("alice", "editor", BY), BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    secret, _ = await site.services.api_keys.make("ours", ("read",), BY)
    async with site.stranger() as visitor:
        answer = await visitor.post("/api/v1/session", json={"user": "alice", "password": PASSWORD})
        cookie = answer.cookies["watchbell"].value
        kept = await everything(store)
    for word in (PASSWORD, path.partition("_")[2], secret.rpartition("_")[2], cookie):
        assert word.encode() not in kept
    assert b"$argon2id$" in kept


async def everything(store: Store) -> bytes:
    """All that the store has, keys and values."""
    kept = b""
    for key in await store.call("KEYS", "*"):
        kept += key + bytes(await store.call("DUMP", key))
        kind = await store.call("TYPE", key)
        if kind == b"hash":
            kept += repr(await store.call("HGETALL", key)).encode()
        elif kind == b"string":
            kept += await store.call("GET", key)
        elif kind == b"stream":
            kept += repr(await store.call("XRANGE", key, "-", "+")).encode()
    return kept


async def test_sign_in_is_limited_by_user_and_by_address(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BY_USER, "most", 2)
    monkeypatch.setattr(BY_ADDRESS, "most", 4)
    await site.services.users.add("alice", "viewer", BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    async with site.stranger() as visitor:
        tries = [
            await visitor.post("/api/v1/session", json={"user": user, "password": password})
            for user, password in [
                ("alice", "wrong"),
                ("alice", PASSWORD),  # which forgives
                ("alice", "wrong"),
                ("alice", "wrong"),
                ("bob", "wrong"),
            ]
        ]
        page = await visitor.post("/sign-in", data={"user": "alice", "password": PASSWORD})
    assert [one.status for one in tries] == [401, 201, 401, 401, 429]
    assert 0 < int(tries[-1].headers["Retry-After"]) <= 300
    assert page.status == 429
    assert "too often" in page.text


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2::7", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:1:2:3", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::7", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_who_has_many_addresses_has_no_more_tries(address: str, counted: str) -> None:
    assert sender(address) == counted


async def test_a_user_who_was_tried_too_often_waits_from_wherever(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BY_USER, "most", 1)
    async with site.stranger() as visitor:
        given = {"user": "alice", "password": "wrong"}
        first = await visitor.post("/api/v1/session", json=given)
        second = await visitor.post("/api/v1/session", json={**given, "user": " ALICE "})
    assert (first.status, second.status) == (401, 429)


async def test_the_session_is_another_after_signing_in(site: Site) -> None:
    await site.services.users.add("alice", "viewer", BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    async with site.somebody("viewer", "alice") as alice:
        before = {c.key: c.value for c in alice.http.cookie_jar}["watchbell"]
        given = {"user": "alice", "password": PASSWORD}
        assert (await alice.post("/api/v1/session", json=given)).status == 201
        after = {c.key: c.value for c in alice.http.cookie_jar}["watchbell"]
        assert after != before
    assert len(await site.services.sessions.all(int(SYSTEM.now()))) == 1
    assert await site.services.sessions.find(before, int(SYSTEM.now())) is None


async def test_a_session_ends_unused_and_in_any_case(store: Store) -> None:
    clock = SetClock(SYSTEM.now())
    async with served(store, clock, session_idle_hours=2, session_days=1) as site:
        async with site.somebody("viewer") as alice:
            for _ in range(16):  # an hour and a half each, which adds up to the day
                assert (await alice.get("/api/v1/session")).status == 200
                clock.advance(5_400)
            assert (await alice.get("/api/v1/session")).status == 401
        async with site.somebody("viewer") as alice:
            (name,) = await site.services.sessions.all(int(clock.now()))
            assert 0 < await store.call("TTL", KEYS.session(name)) <= 7_200
            clock.advance(7_200)
            assert (await alice.get("/api/v1/session")).status == 401


async def test_who_signs_out_is_out(site: Site) -> None:
    async with site.somebody("viewer") as alice:
        left = await alice.ask("DELETE", "/api/v1/session")
        assert left.status == 204
        assert 'watchbell=""' in left.headers["Set-Cookie"]
        assert (await alice.get("/api/v1/session")).status == 401
    async with site.somebody("viewer") as alice:
        assert (await alice.post("/sign-out", data={"csrf": alice.csrf})).status == 303
        assert (await alice.get("/api/v1/session")).status == 401


async def test_sessions_are_listed_and_ended_by_their_owner_or_an_administrator(
    site: Site,
) -> None:
    async with (
        site.somebody("viewer", "alice") as alice,
        site.somebody("viewer", "bob") as bob,
        site.somebody("administrator", "charlie") as charlie,
    ):
        hers = (await alice.get("/api/v1/sessions")).json()["items"]
        his = (await bob.get("/api/v1/sessions")).json()["items"]
        everybody = (await charlie.get("/api/v1/sessions")).json()["items"]
        assert [one["user"] for one in hers] == ["alice"]
        assert hers[0]["is_this"] is True
        assert sorted(one["user"] for one in everybody) == ["alice", "bob", "charlie"]
        foreign = await alice.ask("DELETE", f"/api/v1/sessions/{his[0]['id']}")
        assert foreign.status == 404
        assert (await bob.get("/api/v1/session")).status == 200
        ended = await charlie.ask("DELETE", f"/api/v1/sessions/{his[0]['id']}")
        assert ended.status == 204
        assert (await bob.get("/api/v1/session")).status == 401
        other = next(one["id"] for one in everybody if one["user"] == "charlie")
        assert (await alice.ask("DELETE", f"/api/v1/sessions/{other}")).status == 404
        assert (await charlie.get("/api/v1/session")).status == 200


async def test_a_key_puts_nobody_out_of_the_door(site: Site) -> None:
    async with site.somebody("operator", "alice") as alice:
        owner = await site.services.users.get("alice")
        session = (await alice.get("/api/v1/sessions")).json()["items"][0]["id"]
        async with site.program("operate", owner=owner) as program:
            for path in ("/api/v1/sessions", f"/api/v1/sessions/{session}"):
                assert (await program.ask("DELETE", path)).status == 403
        assert (await alice.get("/api/v1/session")).status == 200


async def test_who_forgot_a_password_sets_another_by_a_link_once(site: Site) -> None:
    alice = await site.services.users.add("alice", "viewer", BY)
    await site.services.users.set_password("alice", PASSWORD, BY)
    path = "/api/v1/session/password"
    async with site.stranger() as visitor:
        led = await visitor.post(await sign_in_links.make(site.store, alice, BY))
        assert led.headers["Location"] == "/account/password"
        page = await visitor.get("/account/password")
        assert 'name="old"' not in page.text
        told = (await visitor.get("/api/v1/session")).json()
        assert (told["has_password"], told["asks_old"]) == (True, False)
        visitor.csrf = told["csrf"]
        assert (await visitor.ask("PUT", path, json={"new": "another horse 1"})).status == 204
        assert (await visitor.get("/api/v1/session")).json()["asks_old"] is True
        again = await visitor.ask("PUT", path, json={"new": "another horse 2"})
        assert (again.status, again.json()["errors"][0]["field"]) == (403, "old")
        assert 'name="old"' in (await visitor.get("/account/password")).text


async def test_a_link_of_long_ago_forgets_no_password(store: Store) -> None:
    clock = SetClock(BY.now)
    async with served(store, clock) as site, site.somebody("viewer", "alice") as alice:
        await site.services.users.set_password("alice", PASSWORD, BY)
        clock.set(BY.now + 900)
        body = {"new": "another horse 1"}
        answer = await alice.ask("PUT", "/api/v1/session/password", json=body)
    assert (answer.status, answer.json()["errors"][0]["field"]) == (403, "old")


async def test_a_new_password_ends_the_other_sessions(site: Site) -> None:
    async with site.somebody("viewer", "alice") as here, site.somebody("viewer", "alice") as there:
        path = "/api/v1/session/password"
        assert (await here.ask("PUT", path, json={"new": PASSWORD})).status == 204
        assert (await there.get("/api/v1/session")).status == 401
        assert (await here.get("/api/v1/session")).json()["has_password"] is True
        wrong = await here.ask("PUT", path, json={"new": PASSWORD + "!", "old": "wrong"})
        assert wrong.status == 403
        assert wrong.json()["errors"][0]["field"] == "old"
        right = await here.ask("PUT", path, json={"new": PASSWORD + "!", "old": PASSWORD})
        assert right.status == 204


@pytest.mark.parametrize("password", ["", "short", "aaaaaaaaaaaaaaa", "alice-alice-1", "x" * 1_001])
def test_a_password_that_is_easily_guessed_is_refused(password: str) -> None:
    with pytest.raises(Refused, match="a password has"):
        passwords.check(password, "alice")


@pytest.mark.parametrize(
    "password", [PASSWORD, "ü" * 5 + "pqrst", "a" * 100 + "bcdef", "\ud800bcdefghijk"]
)
async def test_all_of_a_password_counts(password: str) -> None:
    passwords.check(password, "alice")
    kept = await passwords.hashed(password)
    assert kept.startswith("$argon2id$")
    assert await passwords.matches(password, kept)
    assert not await passwords.matches(password[:-1], kept)
    assert not await passwords.matches(password, "")
    assert not await passwords.matches(password, "nonsense")


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a:b", "ü", "a" * 65, "a\nb", "<script>"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="a user's name has"):
        user_name(name)


async def test_the_only_administrator_stays(store: Store) -> None:
    users = Users(store)
    await users.add("alice", "administrator", BY)
    await users.add("bob", "viewer", BY)
    for attempt in (users.set_role("alice", "viewer", BY), users.remove("alice", BY)):
        with pytest.raises(Refused, match="alice is the only administrator"):
            await attempt
    await users.set_role("bob", "administrator", BY)
    await users.remove("alice", BY)
    with pytest.raises(NotFound, match="there is no user 'alice'"):
        await users.get("alice")


async def test_of_two_administrators_who_end_each_other_one_stays(store: Store) -> None:
    users = Users(store)
    for _ in range(10):
        for name in ("alice", "bob"):
            if await users.find(name) is None:
                await users.add(name, "administrator", BY)
            await users.set_role(name, "administrator", BY)

        async def demote(name: str) -> None:
            with suppress(Refused):
                await users.set_role(name, "viewer", BY)

        async with asyncio.TaskGroup() as group:
            group.create_task(demote("alice"))
            group.create_task(demote("bob"))
        assert [user.role for user in await users.all()].count("administrator") == 1


async def test_a_role_holds_at_once_for_sessions_and_keys(site: Site) -> None:
    async with (
        site.somebody("administrator", "alice") as alice,
        site.somebody("editor", "bob") as bob,
        site.program("read", "write", owner=await site.services.users.get("bob")) as program,
    ):
        changed = await alice.ask("PATCH", "/api/v1/users/bob", json={"role": "administrator"})
        assert changed.json()["role"] == "administrator"
        assert (await bob.get("/api/v1/users")).status == 200
        assert (await program.get("/api/v1/session")).json()["scopes"] == [
            *("intake", "metrics", "operate", "read", "write")
        ]
        assert (await alice.ask("DELETE", "/api/v1/users/bob")).status == 204
        assert (await bob.get("/api/v1/session")).status == 401

        async def is_out() -> bool:
            return (await program.get("/api/v1/session")).status == 401

        await eventually(is_out, why="a key outlives its owner by a second at most")


async def test_who_gets_a_name_of_old_gets_nothing_that_went_with_it(site: Site) -> None:
    users = site.services.users
    async with (
        site.somebody("administrator", "charlie"),
        site.somebody("editor", "bob") as bob,
        site.program("read", owner=await users.get("bob")) as program,
    ):
        path = await sign_in_links.make(site.store, await users.get("bob"), BY)
        await users.remove("bob", BY)
        await users.add("bob", "administrator", BY)
        assert (await bob.get("/api/v1/session")).status == 401
        assert (await bob.post(path)).status == 410
        assert (await program.get("/api/v1/session")).status == 401


async def test_users_are_added_by_administrators_and_come_in_by_link(site: Site) -> None:
    async with site.somebody("administrator") as alice:
        added = await alice.post("/api/v1/users", json={"name": "bob", "role": "operator"})
        assert added.status == 201
        again = await alice.post("/api/v1/users", json={"name": "BOB"})
        assert (again.status, again.json()["detail"]) == (422, "user bob already exists")
        link = await alice.post("/api/v1/users/bob/link")
        nobody = await alice.post("/api/v1/users/nobody/link")
        assert nobody.status == 404
        names = [one["name"] for one in (await alice.get("/api/v1/users")).json()["items"]]
        assert names == ["administrator", "bob"]
    async with site.stranger() as bob:
        old, new = (one.json()["link"].rpartition("/")[2] for one in (added, link))
        assert (await bob.post(f"/sign-in/{old}")).status == 410
        assert (await bob.post(f"/sign-in/{new}")).status == 303
        assert (await bob.get("/api/v1/session")).json()["user"] == "bob"


async def test_a_key_is_shown_once_and_its_use_is_noted(site: Site) -> None:
    async with site.somebody("operator", "alice") as alice:
        given = {"name": "deploy", "scopes": ["read", "intake"], "days": 30}
        made = await alice.post("/api/v1/api-keys", json=given)
        assert made.status == 201
        secret = made.json()["secret"]
        assert re.fullmatch("wb_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", secret)
        async with site.stranger() as program:
            headers = {"Authorization": f"Bearer {secret}"}
            me = await program.get("/api/v1/session", headers=headers)
        assert (me.json()["user"], me.json()["scopes"]) == ("alice", ["intake", "metrics", "read"])
        (listed,) = (await alice.get("/api/v1/api-keys")).json()["items"]
        assert listed["last_use"] >= listed["created"]
        assert listed["expires"] == listed["created"] + 30 * 86_400
        assert secret not in msgspec.json.encode(listed).decode()
        too_much = await alice.post("/api/v1/api-keys", json={"name": "x", "scopes": ["admin"]})
        assert (too_much.status, too_much.json()["errors"][0]["field"]) == (403, "scopes")


async def test_who_makes_keys_without_end_is_told_to_wait(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key is two entries of the audit log, which keeps so many."""
    monkeypatch.setattr(KEYS_MADE, "most", 2)
    given = {"name": "deploy", "scopes": ["read"]}
    async with site.somebody("viewer") as bob, site.somebody("administrator") as alice:
        tries = [(await bob.post("/api/v1/api-keys", json=given)).status for _ in range(3)]
        assert tries == [201, 201, 429]
        assert [(await alice.post("/api/v1/api-keys", json=given)).status for _ in range(3)] == [
            201
        ] * 3


async def test_keys_of_others_are_seen_and_revoked_by_administrators_alone(site: Site) -> None:
    async with (
        site.somebody("operator", "alice") as alice,
        site.somebody("operator", "bob") as bob,
        site.somebody("administrator", "charlie") as charlie,
    ):
        given = {"name": "deploy", "scopes": ["read"]}
        made = (await alice.post("/api/v1/api-keys", json=given)).json()
        path = f"/api/v1/api-keys/{made['key']['id']}"
        assert (await bob.get("/api/v1/api-keys")).json()["items"] == []
        assert (await bob.ask("DELETE", path)).status == 404
        assert len((await charlie.get("/api/v1/api-keys")).json()["items"]) == 1
        assert (await charlie.ask("DELETE", path)).status == 204
        assert (await charlie.ask("DELETE", path)).status == 404


async def test_a_key_makes_no_keys(site: Site) -> None:
    async with site.program("admin") as program:
        given = {"name": "x", "scopes": ["read"]}
        assert (await program.post("/api/v1/api-keys", json=given)).status == 403
        assert (await program.ask("DELETE", "/api/v1/session")).status == 403
        assert (
            await program.ask("PUT", "/api/v1/session/password", json={"new": "x"})
        ).status == 403
        assert (await program.get("/account/password")).status == 403


async def test_who_changed_what_is_told_to_administrators(site: Site) -> None:
    async with site.somebody("administrator", "alice") as alice:
        await alice.post("/api/v1/users", json={"name": "bob", "role": "operator"})
        await alice.ask("PATCH", "/api/v1/users/bob", json={"role": "viewer"})
        wrong = {"user": "bob\n<script>", "password": "x"}
        await alice.post("/api/v1/session", json=wrong)
        found = (await alice.get("/api/v1/audit")).json()["items"]
    told = [(one["who"], one["action"], one["subject"], one["details"]) for one in found]
    assert told[:4] == [
        ("", "session.refused", "bob\n<script>", "password"),
        ("alice", "user.role", "bob", "operator to viewer"),
        ("alice", "link.add", "bob", ""),
        ("alice", "user.add", "bob", "operator"),
    ]
    assert found[0]["address"] == "127.0.0.1"


async def test_the_audit_log_comes_in_pages_and_does_not_grow_for_ever(
    site: Site, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MOST", 100)
    for number in range(400):
        await audit.record(store, BY.entry("test", str(number)))
    assert await store.call("XLEN", KEYS.audit()) < 300
    seen: list[str] = []
    cursor: str | None = ""
    async with site.program("admin") as program:
        while cursor is not None:
            page = (await program.get(f"/api/v1/audit?limit=30&cursor={cursor}")).json()
            assert len(page["items"]) <= 30
            seen += [one["subject"] for one in page["items"] if one["action"] == "test"]
            cursor = page["next"]
        wrong = await program.get("/api/v1/audit?cursor=soon")
    assert seen[:3] == ["399", "398", "397"]
    assert len(seen) == len(set(seen)) >= 100
    assert (wrong.status, wrong.json()["errors"][0]["field"]) == (400, "cursor")


async def test_what_did_not_change_is_not_sent_again(site: Site) -> None:
    async with site.somebody("administrator") as alice:
        first = await alice.get("/api/v1/users")
        tag = first.headers["ETag"]
        again = await alice.get("/api/v1/users", headers={"If-None-Match": f'"x", W/{tag}'})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
        await alice.post("/api/v1/users", json={"name": "bob"})
        after = await alice.get("/api/v1/users", headers={"If-None-Match": tag})
    assert after.status == 200
    assert after.headers["ETag"] != tag


async def test_lists_come_in_pages(site: Site) -> None:
    for number in range(25):
        await site.services.users.add(f"user-{number:02}", "viewer", BY)
    seen: list[str] = []
    cursor: str | None = ""
    async with site.program("admin") as program:
        while cursor is not None:
            page = (await program.get(f"/api/v1/users?limit=10&cursor={cursor}")).json()
            seen += [one["name"] for one in page["items"]]
            cursor = page["next"]
    assert seen == [f"user-{number:02}" for number in range(25)]


async def test_names_are_text_on_pages_whatever_they_look_like(site: Site) -> None:
    evil = "<script>alert(1)</script>"
    async with site.somebody("viewer", "alice") as alice:
        form = {"csrf": alice.csrf, "new": evil, "old": evil}
        pages = [
            await alice.get(f"/sign-in?next={evil}"),
            await alice.post("/sign-in", data={"user": evil, "password": evil, "next": evil}),
            await alice.get(f"/sign-in/{evil}", headers={"Accept": "text/html"}),
            await alice.post("/account/password", data=form | {"new": "short" + evil[:4]}),
            await alice.get(f"/{evil}", headers={"Accept": "text/html"}),
        ]
    for answer in pages:
        assert "text/html" in answer.headers["Content-Type"]
        assert evil not in answer.text


async def test_a_stranger_with_a_browser_is_led_to_the_door(site: Site) -> None:
    async with site.stranger() as visitor:
        answer = await visitor.get("/account", headers={"Accept": "text/html"})
        door = await visitor.get("/sign-in?next=//evil.example.com")
        given = {"user": "a", "password": "b", "next": "//evil.example.com"}
        refused = await visitor.post("/sign-in", data=given)
        deep = await visitor.get("/check?id=web-1:HTTP%20x", headers={"Accept": "text/html"})
    assert (answer.status, answer.headers["Location"]) == (303, "/sign-in?next=/account")
    back = unquote(deep.headers["Location"].partition("next=")[2])
    assert back == "/check?id=web-1:HTTP%20x"
    assert "evil" not in door.text + refused.text
    assert refused.status == 401


async def test_sessions_and_keys_of_one_are_found_among_all(site: Site) -> None:
    async with (
        site.somebody("administrator", "alice") as alice,
        site.somebody("viewer", "bob") as bob,
        site.somebody("viewer", "bob"),
        site.somebody("viewer", "bob"),
    ):
        await bob.post("/api/v1/api-keys", json={"name": "his", "scopes": ["read"]})
        await site.services.api_keys.make("of the command line", ("read",), BY)
        his = (await alice.get("/api/v1/sessions?user=bob")).json()["items"]
        keys = [
            [one["name"] for one in (await alice.get(f"/api/v1/api-keys{owner}")).json()["items"]]
            for owner in ("?owner=bob", "?owner=", "?owner=alice")
        ]
        assert len(his) == 3
        assert keys == [["his"], ["of the command line"], []]
        assert (await bob.get("/api/v1/sessions?user=alice")).json()["items"] == []
        assert (await bob.ask("DELETE", "/api/v1/sessions")).status == 204
        left = (await alice.get("/api/v1/sessions")).json()["items"]
        assert sorted(one["user"] for one in left) == ["alice", "bob"]
        assert (await bob.get("/api/v1/session")).status == 200
