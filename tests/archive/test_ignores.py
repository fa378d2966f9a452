"""Ignore patterns: what they match, what they cost, and which are refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive import ignores
from watchbell.errors import Refused

_URL = "https://www.example.com/calendar/2026/11?share=mail"
_HARD = "https://example.com/" + "a" * 5_000 + "!"
_SLOW = r"^(?=.*/)(a|aa|.)+\1$"


@pytest.mark.parametrize(
    ("pattern", "url", "does_match"),
    [
        (r"/calendar/\d+/", _URL, True),
        (r"calendar", _URL, True),
        (r"^calendar", _URL, False),
        (r"mail$", _URL, True),
        (r"(?i)SHARE=", _URL, True),
        (r"share=(?!mail)", _URL, False),
        (r"share=(?=mail)", _URL, True),
        (r"(?<=\?)share", _URL, True),
        (r"([a-z])\1\1\.", _URL, True),
        (r"w{,3}\.example", _URL, True),
        (r"/2{,3}/11", _URL, False),
        (r"\{,3\}", "http://example.com/{,3}", True),
        (r"mail\Z", _URL, True),
        (r"w{2000}", "http://" + "w" * 2_000, True),
        (r"^{primary_url}", "https://example.com/a/b?x", True),
        (r"^{primary_url}", "https://example.com/b", False),
        (r"^https?://(?!{primary_netloc}/)", "https://example.com/a/", False),
        (r"^https?://(?!{primary_netloc}/)", "https://other.example/a/", True),
        (r"^https?://{primary_netloc}/", "https://exampleXcom/a/", False),
        ("ü", "http://example.com/ü", True),
    ],
)
def test_a_pattern_occurs_in_a_url_or_not(pattern: str, url: str, does_match: bool) -> None:
    found = ignores.compile([pattern], "https://example.com/a/", "example.com")
    assert found.match(url) == (pattern if does_match else None)
    assert not found.switched_off


def test_an_unknown_root_is_empty() -> None:
    assert ignores.compile(["^{primary_url}$"]).match("") == "^{primary_url}$"


def test_the_first_of_the_sorted_patterns_is_named() -> None:
    patterns = ["mail", "share", "(?=calendar)", "example", "{primary_netloc}"]
    found = ignores.compile(patterns, "https://example.com/", "example.com")
    assert found.match(_URL) == "(?=calendar)"
    assert found.changed(patterns[:2]).match(_URL) == "mail"
    assert found.changed(patterns[3:]).match(_URL) == "example"
    assert found.changed(["zzz", "{primary_netloc}"]).match(_URL) == "{primary_netloc}"
    assert found.changed(["share", "(?=mail)"]).match(_URL) == "(?=mail)"
    assert found.changed([]).match(_URL) is None


@given(
    st.lists(st.sampled_from(["a+b", "^a", "c$", "[ab]{2}", "a(?=c)", "(b)\\1", "", "x|c", "b.a"])),
    st.text("abcx", max_size=12),
)
def test_patterns_match_as_python_matches_them(patterns: list[str], url: str) -> None:
    wanted = next((each for each in sorted(set(patterns)) if re.search(each, url)), None)
    assert ignores.compile(patterns).match(url) == wanted


def test_many_patterns_are_told_apart() -> None:
    patterns = [f"/part-{number}/" for number in range(3_000)]
    found = ignores.compile(patterns)
    for pattern in patterns[::100]:
        assert found.match(f"https://example.com{pattern}index.html") == pattern
    assert found.match("https://example.com/part-3000/") is None


def test_patterns_that_need_much_memory_are_split_into_several_sets() -> None:
    patterns = tuple(rf"[ab].{{{number}}}c" for number in range(5, 60))
    matcher = ignores._Matcher(patterns, memory=100 << 10)
    assert len(matcher._sets) > 1
    assert matcher.first(b"b" + b"x" * 59 + b"c") == 54
    assert matcher.first(b"b" + b"x" * 60 + b"c") is None


def test_a_pattern_that_takes_too_long_is_switched_off_and_reported() -> None:
    found = ignores.compile([_SLOW, "never"])
    for _ in range(10):
        assert found.match(_HARD) is None
    assert list(found.switched_off) == [_SLOW]
    assert "it took too long, last on https://example.com/aaa" in found.switched_off[_SLOW]
    assert found.match("https://example.com/never") == "never"
    assert _SLOW in found.changed([_SLOW]).switched_off
    assert not found.changed(["never"]).switched_off


def test_many_small_delays_switch_a_pattern_off_too() -> None:
    seconds = iter(range(1_000_000))
    found = ignores.compile(["a(?=b)"], monotonic=lambda: next(seconds) / 100)
    for _ in range(24):
        assert found.match("ab") == "a(?=b)"
    assert not found.switched_off
    for _ in range(3):
        found.match("ab")
    assert found.match("ab") is None
    assert list(found.switched_off) == ["a(?=b)"]


def test_quick_patterns_stay_on() -> None:
    seconds = iter(range(1_000_000))
    found = ignores.compile(["a(?=b)"], monotonic=lambda: next(seconds) / 10_000)
    for _ in range(10_000):
        assert found.match("ab") == "a(?=b)"
    assert not found.switched_off


def test_a_bad_pattern_in_the_store_is_reported_and_the_others_work() -> None:
    found = ignores.compile(["x(", "mail", "[", "\ud800"])
    assert found.match(_URL) == "mail"
    assert set(found.switched_off) >= {"x(", "["}
    assert found.switched_off["x("] == "missing ) at position 2"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "expected a pattern of 1 to 2000 characters"),
        ("a" * 2_001, "expected a pattern of 1 to 2000 characters"),
        ("abc(", "missing ) at position 4"),
        ("{primary_netloc}/abc[", "unterminated character set at position 21"),
        ("*a", "nothing to repeat at position 0"),
        (r"a\q", r"bad escape \q at position 3"),
        (r"(a)\2", "at position"),
        ("(" * 1_900, "nested too deeply"),
        ("(((a{65535}){65535}){65535})(?=b)", "its repetitions multiply to more than 100,000"),
    ],
)
def test_a_bad_pattern_is_refused_with_its_position(pattern: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        ignores.check(pattern)
    assert reason in refused.value.reason
    assert refused.value.field == "pattern"


@pytest.mark.parametrize(
    "pattern", [r"/a/\d+", "{primary_url}", "a(?!b)", r"(a)\1", "a{,3}", "a++", "^https?://x/"]
)
def test_a_good_pattern_is_accepted(pattern: str) -> None:
    ignores.check(pattern)


@given(st.text(max_size=60))
def test_any_text_is_accepted_or_refused_and_what_is_accepted_works(text: str) -> None:
    try:
        ignores.check(text)
    except Refused:
        return
    found = ignores.compile([text], "https://example.com/", "example.com")
    found.match(_URL)
    assert not found.switched_off
