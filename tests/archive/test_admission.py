"""New crawls pass their checks in one order."""

import pytest

from watchbell.archive.admission import Admission, Denial, Facts, ident_for, judge
from watchbell.archive.commands import Archive, Rank
from watchbell.archive.idents import ident_of
from watchbell.archive.options import Options

_URL = "https://example.com/"
_FREE = Facts(pending=0, exists=False, user_agents={"firefox"}, ignore_sets={"blogs", "forums"})
_BUSY = _FREE._replace(pending=5)
_KNOWN = _FREE._replace(exists=True)
_BUSY_AND_KNOWN = _BUSY._replace(exists=True)


@pytest.mark.parametrize(
    ("url", "options", "depth", "is_list", "rank", "facts", "code"),
    [
        # Each row fails in its own check and in all later ones that it can.
        ("nonsense", "--nonsense", "inf", False, Rank.ALL, _BUSY_AND_KNOWN, "rank"),
        ("nonsense", "--nonsense", "inf", True, Rank.VOICE, _BUSY_AND_KNOWN, "rank"),
        ("nonsense", "--nonsense", "inf", False, Rank.VOICE, _BUSY_AND_KNOWN, "busy"),
        ("nonsense", "--nonsense", "inf", False, Rank.OP, _BUSY_AND_KNOWN, "url"),
        ("nonsense", "--nonsense", "shallow", False, Rank.ALL, _BUSY_AND_KNOWN, "url"),
        ("gopher://e.example/", "--nonsense", "inf", False, Rank.VOICE, _KNOWN, "exists"),
        ("gopher://e.example/", "--nonsense", "inf", False, Rank.VOICE, _FREE, "options"),
        (
            "gopher://e.example/",
            "--youtube-dl --large --pipeline=x --user-agent=nobody",
            "inf",
            False,
            Rank.VOICE,
            _FREE,
            "youtube-dl",
        ),
        (
            "gopher://e.example/",
            "--large --pipeline=x --user-agent=nobody",
            "inf",
            False,
            Rank.VOICE,
            _FREE,
            "large",
        ),
        ("gopher://e.example/", "--large", "shallow", False, Rank.OP, _FREE, "large"),
        ("gopher://e.example/", "--user-agent=nobody", "inf", False, Rank.OP, _FREE, "scheme"),
        (_URL, "--user-agent=nobody", "inf", False, Rank.VOICE, _FREE, "user-agent"),
    ],
)
def test_the_first_check_that_fails_is_the_answer(
    url: str, options: str, depth: str, is_list: bool, rank: Rank, facts: Facts, code: str
) -> None:
    command = Archive(url, options, "inf" if depth == "inf" else "shallow", is_list)
    denial = judge(command, rank, facts)
    assert isinstance(denial, Denial)
    assert denial.code == code
    assert denial.reason


def test_a_crawl_that_passes_is_ready_to_be_queued() -> None:
    command = Archive("HTTP://Example.com", "--large --user-agent=Firefox --ignore-sets=blogs")
    admission = judge(command, Rank.VOICE, _FREE)
    assert admission == Admission(
        ident=ident_of("http://example.com/"),
        url="http://example.com/",
        depth="inf",
        is_list=False,
        slug="example.com-inf",
        options=Options(is_large=True, user_agent="Firefox", ignore_sets=("blogs",)),
    )
    assert ident_for(command) == admission.ident


def test_operators_and_single_pages_do_not_wait_for_a_short_queue() -> None:
    assert isinstance(judge(Archive(_URL), Rank.OP, _BUSY), Admission)
    assert isinstance(judge(Archive(_URL, "", "shallow"), Rank.ALL, _BUSY), Admission)
    assert isinstance(judge(Archive(_URL), Rank.VOICE, _FREE._replace(pending=4)), Admission)


def test_the_pace_of_people_without_voice_is_left_out() -> None:
    command = Archive(_URL, "--delay 0 --concurrency 9", "shallow")
    admission = judge(command, Rank.ALL, _FREE)
    assert isinstance(admission, Admission)
    assert admission.options == Options()
    assert "--delay" in admission.notices[0]
    voiced = judge(command, Rank.VOICE, _FREE)
    assert isinstance(voiced, Admission)
    assert (voiced.options.delay, voiced.options.concurrency, voiced.notices) == (0, 9, ())


def test_unknown_ignore_sets_are_reported_and_left_out() -> None:
    admission = judge(Archive(_URL, "--igset blogs,nonsense"), Rank.VOICE, _FREE)
    assert isinstance(admission, Admission)
    assert admission.options.ignore_sets == ("blogs",)
    assert admission.notices == ("Unknown ignore sets: nonsense",)


@pytest.mark.parametrize("url", ["", "example.com", "/a", "mailto:alice@example.com", "http://"])
def test_what_has_no_host_is_no_url(url: str) -> None:
    denial = judge(Archive(url), Rank.OP, _FREE)
    assert isinstance(denial, Denial)
    assert denial.code == "url"
    assert ident_for(Archive(url)) == ""
