"""Which links belong to a crawl, and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.extraction.links import Kind
from watchbell.archive.scope import (
    MOST_REDIRECTS,
    Counted,
    Place,
    Policy,
    Reason,
    is_on_site,
    judge,
    judge_redirect,
    start,
)

_ROOT = "https://example.com/docs/index.html"
_START = Place(root=_ROOT)
_PAGE = Place(root=_ROOT, level=3)
_OFFSITE = Place(root=_ROOT, level=4, offsite=1)
_PART = Place(root=_ROOT, requisite=1)
_DEEP_PART = Place(root=_ROOT, requisite=5)
_SITE = Policy()
_PAGES = Policy(depth="shallow")
_ON_SITE = Policy(no_offsite_links=True)
_NONE = Counted()


@pytest.mark.parametrize(
    ("url", "kind", "source", "policy", "reason"),
    [
        ("https://example.com/docs/a", "page", _START, _SITE, Reason.ON_SITE),
        ("https://example.com/docs/", "page", _PAGE, _SITE, Reason.ON_SITE),
        ("http://www.example.com/docs/a", "page", _PAGE, _SITE, Reason.ON_SITE),
        ("https://example.com/docs/a", "page", _OFFSITE, _SITE, Reason.ON_SITE),
        ("https://example.com/docs/a", "page", _PART, _SITE, Reason.ON_SITE),
        ("https://example.com/", "page", _PAGE, _SITE, Reason.PARENT),
        ("https://example.com/docsearch", "page", _PAGE, _SITE, Reason.PARENT),
        ("https://example.com/logo.png", "requisite", _PAGE, _SITE, Reason.REQUISITE),
        ("https://example.com:8443/docs/a", "page", _PAGE, _SITE, Reason.OFFSITE),
        ("https://other.example/", "page", _PAGE, _SITE, Reason.OFFSITE),
        ("https://other.example/b", "page", _OFFSITE, _SITE, Reason.TOO_FAR),
        ("https://other.example/b", "page", _OFFSITE, Policy(offsite_depth=2), Reason.OFFSITE),
        ("https://other.example/", "page", _PAGE, _ON_SITE, Reason.NO_OFFSITE),
        ("https://other.example/", "page", _PAGE, Policy(offsite_depth=0), Reason.NO_OFFSITE),
        ("https://other.example/", "page", _PART, _SITE, Reason.FROM_REQUISITE),
        ("https://cdn.example/a.css", "requisite", _PAGE, _ON_SITE, Reason.REQUISITE),
        ("https://cdn.example/a.css", "requisite", _OFFSITE, _SITE, Reason.REQUISITE),
        ("https://cdn.example/a.woff", "requisite", _PART, _SITE, Reason.REQUISITE),
        ("https://cdn.example/a.woff", "requisite", _DEEP_PART, _SITE, Reason.TOO_NESTED),
        ("https://example.com/docs/a", "page", _START, _PAGES, Reason.SHALLOW),
        ("https://example.com/a.png", "requisite", _START, _PAGES, Reason.REQUISITE),
        ("gopher://example.com/docs/", "page", _START, _SITE, Reason.SCHEME),
        ("wss://example.com/docs/", "requisite", _START, _SITE, Reason.SCHEME),
        ("ftp://example.com/docs/", "page", _START, _SITE, Reason.ON_SITE),
        ("https://example.com/docs/" + "a/" * 5, "page", _PAGE, _SITE, Reason.ON_SITE),
        ("https://example.com/docs/" + "a/b/" * 6, "page", _PAGE, _SITE, Reason.LOOP),
    ],
)
def test_a_link_is_judged(
    url: str, kind: Kind, source: Place, policy: Policy, reason: Reason
) -> None:
    assert judge(url, kind, source, policy, _NONE).reason is reason


def test_a_place_says_how_far_it_is_from_the_site() -> None:
    page = judge("https://example.com/docs/a", "page", _OFFSITE, _SITE, _NONE).place
    assert page == Place(root=_ROOT, level=5)
    offsite = judge("https://other.example/", "page", _PAGE, _SITE, _NONE).place
    assert offsite == Place(root=_ROOT, level=4, offsite=1)
    part = judge("https://other.example/a.css", "requisite", _OFFSITE, _SITE, _NONE).place
    assert part == Place(root=_ROOT, level=4, offsite=1, requisite=1)


def test_budgets_end_a_crawl_and_the_part_of_a_host() -> None:
    url = "https://example.com/docs/a"
    limited = Policy(most_urls=10, host_urls=5)
    assert judge(url, "page", _PAGE, limited, Counted(9, 4)).reason is Reason.ON_SITE
    assert judge(url, "page", _PAGE, limited, Counted(10, 0)).reason is Reason.BUDGET
    assert judge(url, "page", _PAGE, limited, Counted(9, 5)).reason is Reason.HOST_BUDGET
    assert judge(url, "requisite", _PAGE, limited, Counted(9, 5)).reason is Reason.HOST_BUDGET
    assert judge(url, "page", _PAGE, Policy(), Counted(10**9, 0)).reason is Reason.ON_SITE
    assert judge_redirect(url, _PAGE, limited, Counted(10, 0)).reason is Reason.BUDGET


def test_start_urls_are_roots() -> None:
    assert start("https://example.com/a") == (Place(root="https://example.com/a"), Reason.START)
    assert start("gopher://example.com/") == (None, Reason.SCHEME)


@pytest.mark.parametrize(
    ("url", "source", "policy", "place"),
    [
        ("https://example.com/x", _PAGE, _SITE, Place(root=_ROOT, level=3, redirects=1)),
        ("https://example.com/", _START, _PAGES, Place(root=_ROOT, redirects=1)),
        ("https://other.example/x", _PAGE, _SITE, Place(3, 1, 0, 1, _ROOT)),
        ("https://third.example/x", _OFFSITE, _SITE, Place(4, 1, 0, 1, _ROOT)),
        ("https://other.example/x", _PART, _ON_SITE, Place(0, 0, 1, 1, _ROOT)),
        ("https://other.example/x", _PAGE, _ON_SITE, None),
        ("gopher://example.com/x", _PAGE, _SITE, None),
    ],
)
def test_a_redirect_keeps_the_level_of_its_source(
    url: str, source: Place, policy: Policy, place: Place | None
) -> None:
    assert judge_redirect(url, source, policy, _NONE).place == place


def test_a_start_url_that_redirects_takes_the_site_along() -> None:
    whole = judge_redirect(
        "https://new.example/en/", Place(root="https://old.example/"), _ON_SITE, _NONE
    ).place
    assert whole == Place(root="https://new.example/", redirects=1)
    part = judge_redirect("https://new.example/x/y", _START, _ON_SITE, _NONE).place
    assert part == Place(root="https://new.example/x/y", redirects=1)
    same = judge_redirect("https://www.example.com/en/", _START, _ON_SITE, _NONE).place
    assert same == Place(root=_ROOT, redirects=1)


def test_a_chain_of_redirects_ends() -> None:
    place = _PAGE
    for number in range(MOST_REDIRECTS):
        verdict = judge_redirect(f"https://example.com/docs/{number}", place, _SITE, _NONE)
        assert verdict.place
        place = verdict.place
    last = judge_redirect("https://example.com/docs/x", place, _SITE, _NONE)
    assert last == (None, Reason.TOO_MANY_REDIRECTS)
    fresh = judge("https://example.com/docs/x", "page", place, _SITE, _NONE).place
    assert fresh == Place(root=_ROOT, level=4)


@given(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["page", "requisite"]))
def test_no_link_leads_further_than_the_policy_allows(offsite: int, depth: int, kind: Kind) -> None:
    source = Place(root=_ROOT, level=1, offsite=offsite)
    policy = Policy(offsite_depth=depth)
    place = judge("https://other.example/a", kind, source, policy, _NONE).place
    if kind == "page":
        assert (place is not None) == (offsite < depth)
    else:
        assert place is not None
        assert place.offsite == offsite


def test_a_site_has_one_host_and_port() -> None:
    assert is_on_site("http://www.example.com/", "https://example.com/a")
    assert not is_on_site("http://sub.example.com/", "https://example.com/")
    assert not is_on_site("http://example.com:8080/", "http://example.com/")
