"""What the archive says in chat."""

import pytest
from msgspec.structs import replace

from watchbell.archive import phrases
from watchbell.archive.model import Crawl, CrawlSettings, CrawlState


def test_a_running_crawl_in_words() -> None:
    crawl = Crawl(
        ident="abc",
        url="https://example.com/",
        started_by="Alice",
        note="closes in May",
        bytes_downloaded=3 << 20,
        items_downloaded=7,
        items_queued=20,
        error_count=1,
        r2xx=7,
        r4xx=1,
        settings=CrawlSettings(concurrency=1, delay_min=10, delay_max=20),
    )
    assert phrases.summary(crawl, "running") == [
        "abc: https://example.com/, added by Alice (closes in May)",
        (
            "In progress. Downloaded 3.0 MiB in 7 responses, 1 error, 12 queued. "
            "1 worker, delay: 10, 20 ms."
        ),
    ]
    assert phrases.summary(crawl, "paused")[1].startswith("Paused.")
    assert " in 1 response, " in phrases.summary(replace(crawl, items_downloaded=1), "running")[1]


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("completed", "completed", "It has completed."),
        ("completed", "", "It has completed."),
        ("aborted", "aborted by Bob", "It has been aborted by Bob."),
        ("failed", "The disk was full.", "It has failed: The disk was full."),
    ],
)
def test_an_ended_crawl_says_how_it_ended_and_when_it_can_be_archived_again(
    state: CrawlState, reason: str, words: str
) -> None:
    crawl = Crawl(ident="abc", url="https://example.com/", reason=reason)
    assert phrases.summary(crawl, state, 3_661) == [
        "abc: https://example.com/, added",
        f"{words} Downloaded 0 B in 0 responses, 0 errors, 0 queued.",
        "It can be archived again in 1 hour, 1 minute, 1 second.",
    ]


def test_a_crawl_that_was_given_back_says_why() -> None:
    crawl = Crawl(ident="abc", url="https://example.com/", queue="pending", reason="back in it")
    assert phrases.summary(crawl, "queued")[1] == "In queue pending. It is back in it."


def test_counts_are_in_the_form_that_programs_know() -> None:
    assert phrases.counts(
        completed=1, aborted=2, failed=3, working=4, pending=5, pending_ao=6, pending_other=7
    ) == (
        "Job status: 1 completed, 2 aborted, 3 failed, 4 in progress, 5 pending, "
        "6 pending-ao, 7 pending in other queues"
    )


def test_a_long_queue_is_not_listed() -> None:
    crawls = [Crawl(ident=f"a{n}", url="https://example.com/", started_by="Bob") for n in (1, 2)]
    assert phrases.pending(crawls, 2) == [
        "1. a1 https://example.com/ by Bob",
        "2. a2 https://example.com/ by Bob",
    ]
    assert phrases.pending([], 0) == ["No crawls are waiting."]
    assert phrases.pending(crawls, 11) == ["11 crawls are waiting, too many to list here."]


def test_what_others_wrote_stays_on_one_short_line() -> None:
    line = phrases.no_crawl_of("http://example.com/\r\nQUIT " + "a" * 5_000)
    assert "\n" not in line
    assert "\r" not in line
    assert len(line) < 400


def test_help_lists_each_form_with_its_aliases() -> None:
    lines = phrases.help_lines()
    assert "!archive URL [OPTIONS], !a: crawl a site" in lines
    assert any(line.startswith("!unignore IDENT REGEX, !unig, !ug:") for line in lines)
