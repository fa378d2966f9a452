"""Idents are those that ArchiveBot gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.idents import LENGTH, canonical, ident_of, is_ident, spellings


@pytest.mark.parametrize(
    ("url", "ident"),
    [
        ("http://artscene.textfiles.com/litpacks/", "43z7a11vo6of3a7i173441dtc"),
        ("http://store.steampowered.com/livingroom", "1q2qydhkeh3gfnrcxuf6py70b"),
        ("http://example.blogspot.com/", "5sid4pgxkiu6zynhbt3q1gi2s"),
        ("http://example.blogspot.com/ncr", "3pebadizuouwwqln3q9rcb81h"),
        ("https://www.example.com/some-file.txt", "byu50bzfdbnlyl6mrgn6dd24h"),
        ("https://example.website/fun-video-38214", "dma5g7xcy0r3gbmisqshkpkoe"),
    ],
)
def test_the_ident_of_a_url_is_the_one_of_archivebot(url: str, ident: str) -> None:
    assert ident_of(url) == ident


@pytest.mark.parametrize(
    ("url", "spelling"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443", "https://example.com/"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("ftp://example.com:21/x", "ftp://example.com/x"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/..", "http://example.com/"),
        ("http://example.com/a/b/..", "http://example.com/a/"),
        ("http://example.com/../../a", "http://example.com/a"),
        ("http://example.com/%7euser", "http://example.com/~user"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://example.com/a%2fb", "http://example.com/a%2Fb"),
        ("http://example.com/é", "http://example.com/%C3%A9"),
        ("http://example.com/%e9", "http://example.com/%E9"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://example.com/?", "http://example.com/"),
        ("http://example.com/?b=2&a=1", "http://example.com/?b=2&a=1"),
        ("http://example.com/?q=a;b", "http://example.com/?q=a%3Bb"),
        ("http://example.com/?q=Q%26A", "http://example.com/?q=Q%26A"),
        ("http://example.com/?q=%2b+", "http://example.com/?q=%2B+"),
        ("http://example.com/#", "http://example.com/"),
        ("http://example.com/#a b", "http://example.com/#a%20b"),
        ("http://alice:p%40w@example.com/", "http://alice:p%40w@example.com/"),
        ("  http://example.com/\n", "http://example.com/"),
    ],
)
def test_spellings_of_a_url_have_one_ident(url: str, spelling: str) -> None:
    assert canonical(url) == spelling
    assert ident_of(url) == ident_of(spelling)


@given(st.text())
def test_every_text_has_an_ident_of_25_characters(text: str) -> None:
    ident = ident_of(text)
    assert len(ident) == LENGTH
    assert is_ident(ident)


def test_a_short_ident_gets_leading_zeros() -> None:
    padded = next(
        ident
        for number in range(1_000)
        if (ident := ident_of(f"http://example.com/{number}")).startswith("0")
    )
    assert len(padded) == LENGTH
    assert spellings(padded.lstrip("0")) == (padded, padded.lstrip("0"))


def test_an_ident_is_looked_up_as_we_and_as_others_write_it() -> None:
    assert spellings("43z7a11vo6of3a7i173441dtc") == ("43z7a11vo6of3a7i173441dtc",)
    assert spellings("0abc") == ("0" * 22 + "abc", "0abc", "abc")


@pytest.mark.parametrize("text", ["", "ABC", "a-b", "a b", "é", "a" * 26, "abc\n"])
def test_other_texts_are_no_idents(text: str) -> None:
    assert not is_ident(text)
