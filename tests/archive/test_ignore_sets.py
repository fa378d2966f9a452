"""Ignore sets: ours, and those that people make or change."""

import pytest

from tests.archive.crawling import OWN
from watchbell.archive import ignore_sets, ignores
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store


@pytest.mark.parametrize("name", sorted(ignore_sets.built_in()))
def test_our_patterns_are_valid(name: str) -> None:
    patterns = ignore_sets.built_in()[name]
    assert patterns
    ignore_sets.check(name, patterns)


@pytest.mark.parametrize(
    ("url", "is_ignored"),
    [
        ("https://example.com/", False),
        ("https://example.com/a/b/c/d.html", False),
        ("https://example.com/calendar/2026", False),
        ("https://example.com/account/logout", True),
        ("https://example.com/page?action=logout", True),
        ("https://www.facebook.com/sharer/sharer.php?u=x", True),
        ("https://example.com/calendar/2345", True),
    ],
)
def test_the_global_set_ignores_what_no_crawl_wants(url: str, is_ignored: bool) -> None:
    known = ignore_sets.built_in()["global"]
    found = ignores.compile(known, "https://example.com/", "example.com").match(url)
    assert (found is not None) is is_ignored


async def test_people_make_sets_and_change_ours(store: Store) -> None:
    await ignore_sets.save(store, "blogs-of-ours", ["/drafts/", r"\?preview="])
    await ignore_sets.save(store, "global", ["/nothing/"])
    known = await ignore_sets.every(store)
    assert known["blogs-of-ours"] == ("/drafts/", r"\?preview=")
    assert known["global"] == ("/nothing/",)
    assert await ignore_sets.remove(store, "global")
    assert not await ignore_sets.remove(store, "blogs-of-ours")
    assert await ignore_sets.every(store) == dict(ignore_sets.built_in())
    with pytest.raises(NotFound, match="blogs-of-ours"):
        await ignore_sets.remove(store, "blogs-of-ours")


@pytest.mark.parametrize(
    ("name", "patterns", "field"),
    [("a b", [], "name"), ("", [], "name"), ("fine", ["/good/", "("], "patterns")],
)
async def test_a_set_that_is_not_valid_is_refused(
    store: Store, name: str, patterns: list[str], field: str
) -> None:
    with pytest.raises(Refused) as refused:
        await ignore_sets.save(store, name, patterns)
    assert refused.value.field == field
    assert await ignore_sets.changed(store) == {}


async def test_what_other_programs_spoiled_is_left_out(store: Store) -> None:
    await store.call("HSET", OWN.ignore_sets(), "broken", "{", b"\xff", "[]", "good", '["x"]')
    assert await ignore_sets.changed(store) == {"good": ("x",)}
