"""robots.txt: its rules, its absence, and files meant to hurt."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.fetching.model import Fetched
from watchbell.archive.fetching.robots import MOST, Robots, robots, robots_url
from watchbell.archive.fetching.spool import Spool
from watchbell.archive.fetching.user_agents import ALIASES, DEFAULT

RULES = """\
# Who may see what
User-agent: Googlebot
User-agent: otherbot
Disallow: /

User-agent: *
Crawl-delay: 7
Disallow: /private/
Disallow: /*.pdf$
Allow: /private/open.html
Sitemap: https://example.com/sitemap.xml

User-Agent: Watchbell
Disallow: /calendar
"""


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        (ALIASES["firefox"], "/", True),
        (ALIASES["firefox"], "/private/a", False),
        (ALIASES["firefox"], "/private/open.html", True),
        (ALIASES["firefox"], "/a/b.pdf", False),
        (ALIASES["firefox"], "/a/b.pdf?x", True),
        (ALIASES["firefox"], "/robots.txt", True),
        (ALIASES["googlebot"], "/", False),
        (DEFAULT, "/private/a", True),
        (DEFAULT, "/calendar/2026", False),
    ],
)
def test_rules_hold_for_their_agents(agent: str, path: str, allowed: bool) -> None:
    assert Robots(RULES, agent).allows(f"https://example.com{path}") == allowed


def test_delay_and_sitemaps_are_read() -> None:
    rules = Robots(RULES, ALIASES["firefox"])
    assert rules.delay == 7
    assert rules.sitemaps == ["https://example.com/sitemap.xml"]
    assert Robots("User-agent: *\nCrawl-delay: 86400", DEFAULT).delay == 60
    assert Robots("", DEFAULT).delay == 0


def answer(folder: Path, status: int, body: bytes, **headers: str) -> Fetched:
    spool = Spool.of(body, folder)
    return Fetched(
        url="https://example.com/robots.txt",
        status=status,
        response=spool,
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
        started=0,
    )


@pytest.mark.parametrize(
    ("status", "allowed"),
    [(200, False), (404, True), (403, True), (301, True), (429, False), (500, False), (0, False)],
)
def test_a_status_decides_about_the_rules(folder: Path, status: int, allowed: bool) -> None:
    one = answer(folder, status, b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n")
    assert robots(one, DEFAULT).allows("https://example.com/a") == allowed


def test_rules_are_decoded(folder: Path) -> None:
    body = gzip.compress(b"User-agent: *\nDisallow: /a")
    one = answer(folder, 200, body, Content_Encoding="gzip")
    assert not robots(one, DEFAULT).allows("https://example.com/a")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"User-agent: bot{number}\n" for number in range(20_000))
        + "Disallow: /a\n" * 20_000,
        "".join(f"User-agent: {DEFAULT[:size]}\n" for size in range(1, 60)) * 100
        + "Disallow: /a\n" * 20_000,
        "User-agent: *\nDisallow: /" + "*a" * 200_000,
        "User-agent: *\n" + "".join(f"Disallow: /*{number}*x\n" for number in range(40_000)),
        "User-agent:" + " " * 500_000,
    ],
    ids=["agents", "names of ours", "wildcards", "rules", "blanks"],
)
def test_a_hostile_file_costs_little(folder: Path, text: str) -> None:
    """It ends: within the time of a test, where it could take hours."""
    rules = robots(answer(folder, 200, text[: MOST * 2].encode()), DEFAULT)
    for number in range(20):
        assert rules.allows(f"https://example.com/{'a' * 8_000}{number}") in (True, False)


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    Robots(f"User-agent: *\n{text}", DEFAULT).allows("https://example.com/a")
    Robots(text, DEFAULT).allows("https://example.com/a")


def test_the_file_is_at_the_root_of_its_server() -> None:
    assert robots_url("https://example.com:8443/a/b?c=d") == "https://example.com:8443/robots.txt"


def test_aliases_are_in_lower_case_and_can_be_sent() -> None:
    for alias, agent in ALIASES.items():
        assert alias == alias.lower()
        assert agent.isascii()
        assert agent.isprintable()
