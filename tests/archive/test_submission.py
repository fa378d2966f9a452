"""New crawls, as people ask for them, become records in the right queue."""

import pytest

from tests.archive.crawling import NOW
from watchbell import ids
from watchbell.archive import crawls, queues
from watchbell.archive.admission import Denial
from watchbell.archive.commands import Archive, Rank
from watchbell.archive.submission import Starter, Submitted, submit
from watchbell.store.client import Store

SETS = {"global": ["/trap/"], "blogs": [r"\?replytocom="], "forums": ["/search"]}
ALICE = Starter("alice", "#archive")


async def submitted(store: Store, command: Archive, by: Starter = ALICE) -> Submitted:
    made = await submit(store, command, by, SETS, now=NOW, token=ids.token())
    assert isinstance(made, Submitted), made
    return made


async def test_a_site_is_queued_with_the_usual_settings(store: Store) -> None:
    made = await submitted(store, Archive("http://example.com"))
    found = await crawls.get(store, made.added.ident)
    assert found is not None
    assert (found.url, found.fetch_depth, found.queue) == ("http://example.com/", "inf", "pending")
    assert (found.started_by, found.started_in) == ("alice", "#archive")
    settings = found.settings
    assert (settings.age, settings.delay_min, settings.delay_max) == (4, 250, 375)
    assert (settings.concurrency, set(settings.ignores)) == (3, {"/trap/"})
    assert settings.suppress_ignore_reports


@pytest.mark.parametrize(
    ("command", "queue"),
    [
        (Archive("http://example.com/", depth="shallow"), "pending-ao"),
        (Archive("http://example.com/", "--large"), "pending-large"),
        (Archive("http://example.com/", "--pipeline=attic"), "pending:attic"),
        (Archive("http://example.com/", "--pipeline=attic", "shallow"), "pending:attic"),
    ],
)
async def test_a_crawl_gets_into_its_queue(store: Store, command: Archive, queue: str) -> None:
    made = await submitted(store, command)
    assert (await queues.pending(store))[queue] == [made.added.ident]


async def test_options_become_settings(store: Store) -> None:
    words = "--delay=5 --concurrency 9 --ignore-sets=blogs,nothing --user-agent=Firefox --robots"
    made = await submitted(store, Archive("http://example.com/", words))
    found = await crawls.get(store, made.added.ident)
    assert found is not None
    settings = found.settings
    assert (settings.age, settings.delay_min, settings.delay_max) == (7, 5, 5)
    assert settings.concurrency == 9
    assert settings.ignores == {"/trap/", r"\?replytocom="}
    assert "Firefox" in found.user_agent
    assert found.options.obeys_robots
    assert len(made.notices) == 1
    assert "nothing" in made.notices[0]


async def test_ftp_servers_get_one_downloader(store: Store) -> None:
    made = await submitted(store, Archive("ftp://example.com/"))
    found = await crawls.get(store, made.added.ident)
    assert found is not None
    assert found.settings.concurrency == 1


async def test_a_list_is_crawled_from_where_it_is(store: Store) -> None:
    made = await submitted(store, Archive("http://example.com/urls.txt", is_list=True))
    found = await crawls.get(store, made.added.ident)
    assert found is not None
    assert found.url_file == "http://example.com/urls.txt"


async def test_a_url_has_one_crawl(store: Store) -> None:
    made = await submitted(store, Archive("http://example.com/"))
    again = await submit(
        store, Archive("http://EXAMPLE.com"), ALICE, SETS, now=NOW, token=ids.token()
    )
    assert isinstance(again, Denial)
    assert again.code == "exists"
    assert (await queues.pending(store))["pending"] == [made.added.ident]


async def test_people_without_voice_add_no_sites(store: Store) -> None:
    stranger = Starter("mallory", rank=Rank.ALL)
    denied = await submit(
        store, Archive("http://example.com/"), stranger, SETS, now=NOW, token=ids.token()
    )
    assert isinstance(denied, Denial)
    assert denied.code == "rank"
    assert (await queues.pending(store))["pending"] == []
