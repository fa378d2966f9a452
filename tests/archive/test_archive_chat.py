"""Commands that people give in a chat, on a real store: what they do, and what is answered."""

import pytest

from tests.archive.crawling import KEYS, NOW, OWN, PIPELINE, added, append, job, running
from watchbell.archive import chat, crawls, finishing, idents, pipelines
from watchbell.archive.chat import Person
from watchbell.archive.command_forms import FORMS, Form
from watchbell.archive.model import CrawlSettings, Ending, Pipeline
from watchbell.archive.pipelines import Capacity
from watchbell.settings import Archive as Settings
from watchbell.store.client import Store

URL = "https://www.example.com/some-file.txt"
IDENT = "byu50bzfdbnlyl6mrgn6dd24h"
PASSER = Person("dave", "#archive")
VOICED = Person("bob", "#archive", is_voiced=True)
OP = Person("alice", "#archive", is_op=True)


async def said(store: Store, text: str, person: Person = OP) -> list[str]:
    return await chat.answer(store, Settings(), text, person, NOW)


async def settings_of(store: Store) -> CrawlSettings:
    found = await crawls.settings(store, IDENT)
    assert found is not None
    return found


async def test_talk_is_not_answered(store: Store) -> None:
    for text in ("hello", "", "!weather Paris", "archive this"):
        assert await said(store, text) == []


async def test_a_crawl_is_queued_for_who_asks(store: Store) -> None:
    lines = await said(store, f"!ao {URL} --explain 'it closes'", PASSER)
    assert lines == [f"Queued {URL} as {IDENT} in pending-ao, next in line."]
    record = await job(store, IDENT)
    assert (record["started_by"], record["started_in"]) == ("dave", "#archive")
    assert (record["note"], record["fetch_depth"], record["settings_age"]) == (
        "it closes",
        "shallow",
        "4",
    )
    assert await store.call("SCARD", KEYS.ignores(IDENT)) > 0, "the set `global`"


async def test_a_url_that_has_a_crawl_shows_it(store: Store) -> None:
    await said(store, f"!a {URL}")
    lines = await said(store, f"!ao {URL}")
    assert lines[0] == f"There is a crawl of {URL} already: {IDENT}"
    assert lines[1:] == await said(store, f"!status {IDENT}")


@pytest.mark.parametrize(
    ("text", "person", "start"),
    [
        (f"!a {URL}", PASSER, "Only people with voice may do that."),
        (f"!a < {URL}", VOICED, "Only operators may do that."),
        (f"!abort {IDENT}", PASSER, "Only people with voice may do that."),
        (f"!expire {IDENT}", VOICED, "Only operators may do that."),
        ("!a gopher://example.com/", OP, "gopher:// can't be archived."),
        (f"!a {URL} --wrong", OP, "'--wrong' is no option"),
        (f"!ig {IDENT} (", OP, "pattern:"),
        ("!a", OP, "Expected: !archive"),
    ],
)
async def test_what_is_not_allowed_changes_nothing(
    store: Store, text: str, person: Person, start: str
) -> None:
    (line,) = await said(store, text, person)
    assert line.startswith(start)
    assert await store.call("DBSIZE") == 0


@pytest.mark.parametrize("form", [form for form in FORMS if "IDENT" in form.usage])
async def test_commands_about_no_crawl_say_so(store: Store, form: Form) -> None:
    text = form.usage.replace("IDENT", IDENT).replace("REGEX", "x").replace("SET[,SET]", "global")
    text = text.replace("on|off", "on").replace("MIN MAX", "1 2").replace("NUMBER", "3")
    (line,) = await said(store, text)
    assert line.lower().startswith(f"there is no crawl {IDENT}")
    assert await store.call("DBSIZE") == 0


async def test_settings_are_changed(store: Store) -> None:
    await said(store, f"!a {URL}")
    before = await settings_of(store)
    answers = [
        await said(store, text, VOICED)
        for text in (
            f"!d {IDENT} 10 20",
            f"!con {IDENT} 7",
            f"!ig {IDENT} ^https?://ads\\.",
            f"!igon {IDENT}",
            f"!pause {IDENT}",
        )
    ]
    assert answers == [
        [f"{IDENT} waits 10 to 20 ms between requests."],
        [f"{IDENT} uses 7 downloaders."],
        [f"{IDENT} now ignores ^https?://ads\\."],
        [f"{IDENT} logs ignored URLs."],
        [f"Paused {IDENT}. Continue it with !resume {IDENT}"],
    ]
    assert await settings_of(store) == CrawlSettings(
        age=before.age + 5,
        delay_min=10,
        delay_max=20,
        concurrency=7,
        ignores=before.ignores | {"^https?://ads\\."},
        suppress_ignore_reports=False,
        is_paused=True,
    )
    for text in (f"!ug {IDENT} ^https?://ads\\.", f"!igoff {IDENT}", f"!resume {IDENT}"):
        await said(store, text, VOICED)
    await said(store, f"!yahoo {IDENT}", VOICED)
    now = await settings_of(store)
    assert (now.ignores, now.is_paused) == (before.ignores, False)
    assert (now.delay_min, now.delay_max, now.concurrency, now.age) == (0, 0, 4, before.age + 9)
    assert await said(store, f"!ug {IDENT} ^nothing$", VOICED) == [
        f"{IDENT} has no ignore pattern ^nothing$"
    ]


async def test_a_note_is_kept(store: Store) -> None:
    await said(store, f"!a {URL}")
    assert await said(store, f"!ex {IDENT} before it closes") == [f"Noted for {IDENT}."]
    assert (await job(store, IDENT))["note"] == "before it closes"


async def test_ignore_sets_are_added_and_unknown_ones_reported(store: Store) -> None:
    await said(store, f"!a {URL}")
    await store.call("HSET", OWN.ignore_sets(), "mine", '["/one/","/two/"]')
    assert await said(store, f"!igset {IDENT} mine,nothing") == [
        f"Added 2 patterns of mine to {IDENT}.",
        "Unknown ignore sets: nothing",
    ]
    assert await said(store, f"!igset {IDENT} nothing") == ["Unknown ignore sets: nothing"]
    assert {"/one/", "/two/"} <= (await settings_of(store)).ignores


async def test_a_waiting_crawl_is_aborted_and_forgotten(store: Store) -> None:
    await said(store, f"!a {URL}")
    assert await said(store, f"!expire {IDENT}") == [
        f"{IDENT} has not ended, so it does not have an expiry timer yet."
    ]
    assert await said(store, f"!abort {IDENT}", VOICED) == [f"Aborted {IDENT}."]
    assert await said(store, f"!con {IDENT} 4") == [f"{IDENT} has ended: aborted."]
    assert await said(store, f"!abort {IDENT}") == [f"{IDENT} has ended: aborted."]
    assert await said(store, f"!expire {IDENT}") == [
        f"Expired {IDENT}; its URL can be archived again."
    ]
    assert (await said(store, f"!ex {IDENT}"))[0].startswith(
        f"{IDENT}: Its last crawl has been aborted"
    )
    assert (await said(store, f"!status {URL}"))[1].startswith("It has been aborted by bob.")


async def test_a_running_crawl_is_shown_and_found(store: Store) -> None:
    await pipelines.report(store, RECORD, Capacity(concurrent=20, running=1))
    owned = await running(store, IDENT, url=URL)
    await append(store, owned, 1, 200)
    assert await said(store, f"!whereis {IDENT}") == [f"{IDENT} is on alice ({PIPELINE})."]
    lines = await said(store, f"!status {URL}")
    assert lines[1].startswith("In progress. Downloaded 100 B in 1 response,")
    assert await said(store, f"!abort {IDENT}") == [f"Aborting {IDENT}."]
    assert await said(store, "!pipelines") == [
        "alice: running, 1 of 20 crawls, 12 % of its disk in use"
    ]
    await finishing.finish(store, owned, Ending(finished_at=NOW, is_aborted=True))
    assert await said(store, f"!w {IDENT}") == [f"{IDENT} is not on a pipeline."]


async def test_waiting_crawls_are_listed_and_counted(store: Store) -> None:
    assert await said(store, "!pending") == ["No crawls are waiting."]
    await said(store, f"!a {URL}")
    await added(store, queue="pending-large")
    assert await said(store, "!pending") == [f"1. {IDENT} {URL} by alice"]
    assert await said(store, f"!w {IDENT}") == [f"{IDENT} waits in pending, 0 ahead of it."]
    assert await said(store, "!status") == [
        (
            "Job status: 0 completed, 0 aborted, 0 failed, 0 in progress, 1 pending, 0 pending-ao, "
            "1 pending in other queues"
        )
    ]
    assert chat.is_private("!pending")
    assert not chat.is_private("!status")


async def test_idents_of_other_programs_are_found_without_leading_zeros(store: Store) -> None:
    short = "5sid4pgxkiu6zynhbt3q1g"
    await store.call("HSET", KEYS.job(short), "url", "https://example.com/")
    assert idents.spellings(short)[0] != short
    assert (await said(store, f"!status {short}"))[0].startswith(f"{short}: https://example.com/")
    assert await said(store, f"!con {short} 5") == [f"{short} uses 5 downloaders."]
    assert (await job(store, short))["concurrency"] == "5"
    await store.call("DEL", KEYS.job(short))


async def test_help_is_given(store: Store) -> None:
    assert len(await said(store, "!help", PASSER)) == len(FORMS)
    assert (await said(store, "!stanbush bob"))[0].startswith("bob:")


RECORD = Pipeline(
    id=PIPELINE,
    nickname="alice",
    hostname="h1",
    fqdn="h1",
    pid=1,
    version="1",
    python="3",
    ts=NOW,
    disk_usage=12.3,
    disk_available=0,
    mem_usage=0,
    mem_available=0,
    load_average_1m=0,
    load_average_5m=0,
    load_average_15m=0,
)
