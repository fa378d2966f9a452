"""A store that was emptied or replaced: noticed, told as a check of our own, and accepted."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import servers
from tests.alerting.scenes import START, Stage
from tests.conftest import Up, bare_environment, emptied, watchbell
from tests.waiting import wait_until
from watchbell.alerting.event import parse
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent
from watchbell.clock import SetClock
from watchbell.roles.role import Context
from watchbell.roles.store_loss import Watch
from watchbell.settings import Settings
from watchbell.settings import Store as StoreSettings
from watchbell.store import store_identity
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently
from watchbell.store.keys import StoreKeys
from watchbell.store.store_identity import ACCEPTED, SETTLED, StoreIdentity, next_identity

KEY = StoreKeys().mark()
LOST = "store lost: it was emptied, or is another one than before, noticed on 20"
OLD, NEW = StoreIdentity("old", 1), StoreIdentity("new", 50, ("old",), 50)


@pytest.mark.parametrize(
    ("known", "found", "wanted"),
    [
        (None, None, StoreIdentity("fresh", 99)),
        (None, OLD, OLD),
        (None, NEW, NEW),
        (OLD, OLD, OLD),
        (OLD, None, StoreIdentity("fresh", 99, ("old",), 99)),
        (OLD, StoreIdentity("other", 7), StoreIdentity("other", 7, ("old",), 99)),
        (OLD, NEW, NEW),  # noticed by somebody else
        (
            OLD,
            StoreIdentity("new", 50, ("old",)),
            StoreIdentity("new", 50, ("old",)),
        ),  # and accepted
        (NEW, OLD, OLD),  # a backup came back
        (NEW, None, StoreIdentity("fresh", 99, ("new", "old"), 99)),
        (
            NEW,
            StoreIdentity("other", 7, ("x",)),
            StoreIdentity("other", 7, ("new", "old", "x"), 99),
        ),
    ],
)
def test_a_store_is_marked_by_what_it_is_known_by(
    known: StoreIdentity | None, found: StoreIdentity | None, wanted: StoreIdentity
) -> None:
    assert next_identity(known, found, "fresh", 99) == wanted


def test_of_many_losses_the_latest_are_remembered() -> None:
    known: StoreIdentity | None = None
    for number in range(50):
        known = next_identity(known, None, str(number), number)
    assert known is not None
    assert known.after == tuple(map(str, range(48, 28, -1)))


class Post:
    """A lookout's watch, on a machine with a clock and a data folder of its own."""

    def __init__(self, store: Store, data: Path, url: str = "x") -> None:
        self.clock = SetClock(START)
        self._settings = Settings(data=data, store=StoreSettings(url=url))
        self._store = store
        self.again()

    def again(self) -> None:
        """The process is started anew."""
        context = Context(self._settings, self._store, self.clock, lambda _: None)
        self._watch = Watch(context)

    async def look(self, after: float = SETTLED) -> list[str]:
        self.clock.advance(after)
        return [finding.text for finding in await self._watch.look()]


def written(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.fixture
def post(store: Store, tmp_path: Path) -> Post:
    return Post(store, tmp_path)


async def reports(store: Store) -> list[CheckEvent]:
    """What was pushed since the last look."""
    key = Alerting(store.prefix).events()
    items = await store.call("LRANGE", key, 0, -1)
    await store.call("DEL", key)
    parsed = [parse(item, 0) for item in items[::-1]]
    return [one for one in parsed if isinstance(one, CheckEvent)]


async def settled(*posts: Post) -> None:
    for _ in range(2):
        for post in posts:
            assert await post.look() == []


async def test_a_store_that_stays_what_it_is_is_not_worth_a_word(store: Store, post: Post) -> None:
    await settled(post)
    post.again()
    await settled(post)
    assert await reports(store) == []
    assert await store.call("GET", KEY) is not None


async def test_an_emptied_store_is_noticed_and_told_until_it_is_accepted(
    store: Store, post: Post
) -> None:
    await settled(post)
    await emptied(store)
    (told,) = await post.look()
    assert told == (
        "store lost: it was emptied, or is another one than before, noticed on 2023-11-14 22:13 UTC"
    )
    (report,) = await reports(store)
    assert (report.id, report.state, report.summary) == ("watchbell:store", "critical", told)
    assert report.details is not None
    assert "watchbell ack watchbell:store" in report.details
    for _ in range(20):  # nobody processes it, so it is not said again
        assert await post.look() == [told]
    assert await reports(store) == []


async def test_people_are_told_once_they_are_contacts_again_and_of_nothing_else(
    store: Store, post: Post
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", interval=900)
    for number in range(50):
        await stage.send("critical", f"host-{number}:disk", initial_failure_delay=0)
    await settled(post)
    await emptied(store)

    async def pass_by(seconds: int) -> None:
        for _ in range(seconds // 10):
            stage.later(10)
            await post.look(10)
            await stage.drain()

    await pass_by(120)
    assert await stage.alert_lines() == []
    await stage.contact("bob", "email", interval=900)
    for number in range(50):
        await stage.send("ok", f"host-{number}:disk")
    await pass_by(300)
    assert await stage.alert_lines() == ["bob problem watchbell:store critical"]
    await stage.send("acknowledgement", "watchbell:store")
    await pass_by(20)
    assert await stage.alert_lines() == [
        "bob acknowledgement watchbell:store acknowledgement",
        "bob recovery watchbell:store ok",
    ]
    await pass_by(300)
    assert await stage.alert_lines() == []
    assert await post.look() == []


async def acknowledged(stage: Stage, _: Post) -> None:
    await stage.send("acknowledgement", "watchbell:store")


async def reported_well(stage: Stage, _: Post) -> None:
    await stage.send("ok", "watchbell:store")


async def forgotten(_: Stage, post: Post) -> None:
    post.clock.advance(ACCEPTED)


@pytest.mark.parametrize("accept", [acknowledged, reported_well, forgotten])
async def test_a_loss_is_accepted(store: Store, post: Post, accept: Any) -> None:
    stage = Stage(store)
    await settled(post)
    await emptied(store)
    assert await post.look()
    await stage.later(60).drain()
    await accept(stage.later(5), post)
    assert await post.look() == []
    await stage.drain()
    current = await store.call("HGET", stage.keys.current("watchbell", "store"), "state")
    assert current == b"ok"
    post.again()
    assert await post.look() == []
    assert await reports(store) == []


async def test_a_loss_is_told_again_by_whoever_starts_later(store: Store, post: Post) -> None:
    await settled(post)
    await emptied(store)
    (told,) = await post.look()
    later = Post(store, Path("/nonexistent/data"))
    assert await later.look() == [told]
    assert [one.state for one in await reports(store)] == ["critical", "critical"]


async def test_of_several_lookouts_one_marks_the_store_anew(store: Store, tmp_path: Path) -> None:
    posts = [Post(store, tmp_path / str(n)) for n in range(3)]
    for folder in "012":
        (tmp_path / folder).mkdir()
    await settled(*posts)
    await emptied(store)
    texts = [await post.look() for post in posts]
    assert len({text for (text,) in texts}) == 1
    found, raw = await store_identity.read(store)
    assert found is not None
    assert len(found.after) == 1
    assert not await store_identity.put(store, StoreIdentity("mine", 5), b"what was there before")
    assert await store_identity.read(store) == (found, raw)


async def test_who_was_away_while_a_loss_was_accepted_does_not_cry(
    store: Store, post: Post, tmp_path: Path
) -> None:
    away = Post(store, tmp_path / "away")
    await settled(post, away)
    await emptied(store)
    await post.look()
    post.clock.advance(ACCEPTED)
    assert await post.look() == []
    away.again()
    assert await away.look() == []


async def test_a_backup_that_comes_back_ends_the_loss(store: Store, post: Post) -> None:
    await settled(post)
    backup = await store.call("GET", KEY)
    await emptied(store)
    for _ in range(3):
        assert await post.look()
    await emptied(store)
    await store.call("SET", KEY, backup)
    assert await post.look() == []
    assert await store.call("GET", KEY) == backup


async def test_every_loss_is_told(store: Store, post: Post) -> None:
    await settled(post)
    backup = await store.call("GET", KEY)
    for _ in range(3):
        await emptied(store)
        assert await post.look()
        assert await post.look()
        assert [one.state for one in await reports(store)] == ["critical"]
    await store.call("SET", KEY, backup)
    assert await post.look() == []
    await emptied(store)
    assert await post.look()
    assert [one.state for one in await reports(store)] == ["critical"]


async def test_another_store_in_its_place_is_noticed(store: Store, post: Post) -> None:
    await settled(post)
    await store.call("SET", KEY, msgspec.json.encode(StoreIdentity("other", START - 100)))
    assert await post.look()
    found, _ = await store_identity.read(store)
    assert found is not None
    assert (found.id, len(found.after), found.lost) == ("other", 1, int(post.clock.now()))


@pytest.mark.parametrize(
    "command",
    [
        ("SET", KEY, b"\xff\x00"),
        ("SET", KEY, "[]"),
        ("SET", KEY, '{"id":"x","since":1,"lost":99999999999999999}'),
        ("RPUSH", KEY, "x"),
        ("DEL", KEY),
    ],
)
async def test_a_mark_that_is_none_is_missed(
    store: Store, post: Post, command: tuple[str | bytes, ...]
) -> None:
    await settled(post)
    await store.call("DEL", KEY)
    await store.call(*command)
    assert await post.look()
    assert (await store_identity.read(store))[0] is not None


async def test_a_mark_of_a_moment_ago_is_not_missed(store: Store, post: Post) -> None:
    """A crash may take the last second with it, which is no loss of a store."""
    for _ in range(3):
        assert await post.look(after=SETTLED - 1) == []
        await emptied(store)
        post.again()
    assert await post.look() == []


async def test_a_new_data_folder_is_a_new_beginning(
    store: Store, post: Post, tmp_path: Path
) -> None:
    await settled(post)
    await emptied(store)
    (kept,) = files(tmp_path)
    kept.unlink()
    post.again()
    await settled(post)
    assert await reports(store) == []


async def test_stores_are_told_apart_by_their_place(
    server: servers.Single, store: Store, post: Post, tmp_path: Path
) -> None:
    await settled(post)
    for options in ("/1", "?prefix=wb:"):
        async with Store(store_url.parse(server.url + options)) as other:
            await settled(Post(other, tmp_path))
    assert await post.look() == []
    assert len(files(tmp_path)) == 3
    await emptied(store)


@pytest.mark.parametrize("content", [b"", b"\xff", b"{}", b'{"id":5}'])
async def test_a_file_that_is_none_is_no_knowledge(
    store: Store, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "store.mark"
    written(file, content)
    await settled(Post(store, tmp_path, url=""))
    assert await reports(store) == []
    assert file.stat().st_size > len(content)


@pytest.fixture
def forgetful(folder: Path) -> Iterator[servers.Server]:
    """A server that keeps nothing on disk."""
    with servers.Server(folder / "forgetful", ['save ""', "appendonly no"]) as server:
        yield server


@pytest.mark.parametrize("is_new", [False, True], ids=["the same lookout", "a new one"])
async def test_a_restart_that_lost_everything_is_noticed(
    forgetful: servers.Server, tmp_path: Path, is_new: bool
) -> None:
    async with Store(store_url.parse(forgetful.url)) as store:
        post = Post(store, tmp_path if is_new else Path("/nonexistent/data"))
        await settled(post)
        forgetful.kill()
        forgetful.start()
        await patiently(lambda: store.call("PING"))
        if is_new:
            post.again()
        (told,) = await post.look()
        assert told.startswith(LOST)
        (report,) = await reports(store)
        assert report.state == "critical"


def test_up_on_an_emptied_store_says_so_and_doctor_too(folder: Path) -> None:
    data = folder / "data"
    data.mkdir(mode=0o700)
    (data / "store.mark").write_bytes(msgspec.json.encode(StoreIdentity("before", 1)))
    with Up(data, "--port", "0") as up:
        said = f'"event": "{LOST}'
        wait_until(lambda: said in up.log.read_text(), 20, "the loss is told")
        doctor = subprocess.run(
            watchbell("doctor", "--data", str(data)),
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert doctor.returncode == 1
    assert f"✗ loss        {LOST}" in doctor.stdout
    assert "`watchbell ack watchbell:store` accepts it" in doctor.stdout
