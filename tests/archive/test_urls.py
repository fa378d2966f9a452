"""URLs as they are fetched, and as they are compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.urls import (
    LONGEST,
    Resolver,
    dedup_key,
    host_of,
    netloc_of,
    normalised,
    path_of,
    scheme_of,
)

_BASE = "https://example.com/a/b/c.html?q=1#top"
_HEX = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "base", "url"),
    [
        ("HTTP://Example.COM:80", "", "http://example.com/"),
        ("https://example.com:443/a/./b/../c", "", "https://example.com/a/c"),
        ("https://example.com:8443/", "", "https://example.com:8443/"),
        ("ftp://example.com:21/pub", "", "ftp://example.com/pub"),
        ("http://example.com/a?b=1#c", "", "http://example.com/a?b=1"),
        ("http://example.com/?b=2&a=1&&c=%7E+x", "", "http://example.com/?b=2&a=1&&c=%7E+x"),
        ("http://bücher.example/ü?ü", "", "http://xn--bcher-kva.example/%C3%BC?%C3%BC"),
        ("http://[2001:DB8::1]:80/", "", "http://[2001:db8::1]/"),
        ("http://0x7f.1/", "", "http://127.0.0.1/"),
        ("d.html", _BASE, "https://example.com/a/b/d.html"),
        ("../../../../d", _BASE, "https://example.com/d"),
        ("/d e", _BASE, "https://example.com/d%20e"),
        ("\\d\\e", _BASE, "https://example.com/d/e"),
        ("  \n/d\t ", _BASE, "https://example.com/d"),
        ("/d\n\te", _BASE, "https://example.com/de"),
        ("//other.example/d", _BASE, "https://other.example/d"),
        ("?x", _BASE, "https://example.com/a/b/c.html?x"),
        ("", _BASE, "https://example.com/a/b/c.html?q=1"),
        ("#part", _BASE, "https://example.com/a/b/c.html?q=1"),
        ("http:///other.example/d", _BASE, "http://other.example/d"),
        ("gopher://example.com/1", "", "gopher://example.com/1"),
    ],
)
def test_a_url_is_written_as_browsers_request_it(text: str, base: str, url: str) -> None:
    assert normalised(text, base) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "/path",
        "http://",
        "http://exa mple.com/",
        "http://[::1/",
        "http://example.com:99999/",
        "http://a\ud800b/",
        "mailto:alice@example.com",
        "javascript:void(0)",
        "data:text/plain,x",
        "file:///etc/passwd",
        "http://example.com/" + "a" * LONGEST,
        "http://example.com/" + "ü" * (LONGEST // 4),
    ],
)
def test_what_is_no_url_that_could_be_fetched_is_none(text: str) -> None:
    assert normalised(text) is None


def test_a_long_fragment_does_not_count() -> None:
    assert normalised("http://example.com/#" + "a" * LONGEST) == "http://example.com/"


@given(st.text(), st.sampled_from(["", _BASE]))
def test_normalising_never_fails_and_changes_nothing_the_second_time(text: str, base: str) -> None:
    url = normalised(text, base)
    assert url is None or (normalised(url) == url and host_of(url))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (f"http://e.example/?PHPSESSID={_HEX}", "http://e.example/"),
        (f"http://e.example/?a=1&PHPSESSID={_HEX}", "http://e.example/?a=1"),
        (f"http://e.example/?phpsessid={_HEX}&a=1", "http://e.example/?a=1"),
        (f"http://e.example/?a=1&sid={_HEX}&b=2", "http://e.example/?a=1&b=2"),
        (f"http://e.example/?s={_HEX}", "http://e.example/"),
        ("http://e.example/a;jsessionid=ABCDEF0123456789.n1?x=1", "http://e.example/a?x=1"),
        ("http://e.example/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "http://e.example/a.aspx"),
        ("http://e.example/?CFID=123&CFTOKEN=456&a=1", "http://e.example/?a=1"),
        ("http://e.example/?ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx", "http://e.example/"),
    ],
)
def test_session_ids_do_not_make_another_url(url: str, key: str) -> None:
    assert dedup_key(url) == key


@pytest.mark.parametrize(
    "url",
    [
        "http://e.example/",
        "http://e.example/?",
        "http://e.example/?a&",
        "http://e.example/?sid=5",
        "http://e.example/?s=wanted",
        f"http://e.example/?acid={_HEX}",
        f"http://e.example/{_HEX}",
        "http://e.example/a;b=c",
        "http://e.example/wiki/Rome_(S)",
    ],
)
def test_other_urls_are_their_own_key(url: str) -> None:
    assert dedup_key(url) == url


@given(st.from_regex(r"http://e\.example/[a-z(S);=?&]{0,30}(\?(sid=[0-9a-f]{32}|a=1|&)*)?"))
def test_a_key_has_itself_as_key(url: str) -> None:
    key = dedup_key(url)
    assert dedup_key(key) == key


def test_parts_of_a_url() -> None:
    url = "https://user:pw@example.com:8443/a/b?c=http://other.example:1/"
    assert (scheme_of(url), host_of(url)) == ("https", "example.com")
    assert (netloc_of(url), path_of(url)) == ("example.com:8443", "/a/b")
    assert host_of("http://[::1]:8080/") == "[::1]"
    assert netloc_of("http://[::1]:8080/") == "[::1]:8080"
    assert netloc_of("http://example.com/") == "example.com"
    assert (host_of("nonsense"), netloc_of("nonsense"), path_of("nonsense")) == ("", "", "/")


@given(
    st.text("/abz.%~'()?&=+-_#\\ :@;,!$*é<>\"2eE", max_size=20),
    st.sampled_from([_BASE, "http://u:p@e.example:8080", "ftp://e.example/x"]),
)
def test_the_short_way_gives_the_same_url(link: str, base: str) -> None:
    assert Resolver(base)(link) == normalised(link, base)
    assert Resolver(base)(f"/{link}") == normalised(f"/{link}", base)
