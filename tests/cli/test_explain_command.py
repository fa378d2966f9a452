"""`watchbell explain`: why somebody was told, or nobody, line by line."""

from tests import servers
from tests.alerting.scenes import Stage
from tests.cli.commands import printed, ran
from tests.jobs import acting
from watchbell.store.client import Store


async def test_decisions_are_told_with_their_reasons(store: Store, server: servers.Single) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", rule={"entities": ("db",)})
    await stage.fails("web:http")
    await stage.later(70).send("critical", "web:http", summary="still \x1b[31mdown")
    said = ran("explain", "WEB:http", "--store", server.url, TZ="Europe/Berlin").stdout
    told, *rest = said.splitlines()
    assert told == "2023-11-14 23:15:00  critical: no alerts  (still \\x1b[31mdown)"
    assert rest.pop(0) == "    tags: http, web"
    assert rest[0] == "    alice: critical: email"
    rules = sorted(rest[1:3], key=lambda line: line.endswith(": matches"))  # ids are as they come
    assert rules[0].endswith(": it applies to other entities")
    assert "alice-rule" not in rules[0]
    assert rules[1].endswith(": matches")
    assert (
        rest[3] == "        email: already notified within its interval, until 2023-11-14 23:28:50"
    )
    assert rest[-1] == (
        "2023-11-14 23:13:20  critical: held back, it has not failed for long enough,"
        " until 2023-11-14 23:13:50"
    )
    decisions = printed("explain", "web:http", "--store", server.url, "--limit", "2")
    assert [(one["by"], one["verdict"]) for one in decisions] == [
        ("notifier", "NOBODY"),
        ("processor", "TELL"),
    ]
    everything = printed("explain", "web:http", "--store", server.url, "--limit", "0")
    assert [one["verdict"] for one in everything[2:]] == ["TOLD", "TELL", "FAILURE_DELAY"]


async def test_a_check_that_nobody_is_interested_in_says_so(
    store: Store, server: servers.Single
) -> None:
    await Stage(store).fails("web:http")
    said = ran("explain", "web:http", "--store", server.url).stdout
    assert "\n    no contact is linked to this check\n" in said
    nothing = ran("explain", "web:other", "--store", server.url)
    assert nothing.returncode == 1
    assert "no decisions about 'web:other' are kept" in nothing.stderr


async def test_jobs_and_events_are_explained_too(store: Store, server: servers.Single) -> None:
    await acting.known(store)
    await acting.finish(store, acting.job(notes="x"))
    said = ran("explain", "j1", "--store", server.url, TZ="UTC").stdout.splitlines()
    assert said[0] == "Job j1 of Backup failed: disk full"
    assert "    ended, after 9.0 s: 2026-03-05 13:07:09" in said
    assert printed("explain", "backup", "--store", server.url)["headline"] == (
        "Backup runs only on demand: it has no timing that starts it"
    )
    nothing = ran("explain", "nothing", "--store", server.url)
    assert nothing.returncode == 1
    assert "there is no job and no event 'nothing'" in nothing.stderr
