"""The names of files say what was archived, and are safe."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.slugs import slug_of


@pytest.mark.parametrize(
    ("url", "is_list", "slug"),
    [
        ("https://example.com/a/b", False, "example.com-inf"),
        ("https://example.com:8443/", False, "example.com-inf"),
        ("https://example.com/lists/urls.txt", True, "urls-example.com-urls.txt-inf"),
        ("https://example.com/", True, "urls-example.com-inf"),
        ("https://example.com/a%2F..%2Fb", True, "urls-example.com-b-inf"),
        ("https://example.com/a%00b%20c", True, "urls-example.com-a_b_c-inf"),
        ("http://[2001:db8::1]/", False, "2001_db8_1-inf"),
        ("nonsense", False, "unknown-inf"),
    ],
)
def test_a_slug_names_host_and_depth(url: str, is_list: bool, slug: str) -> None:
    assert slug_of(url, "inf", is_list=is_list) == slug


def test_a_page_is_shallow() -> None:
    assert slug_of("https://example.com/a", "shallow") == "example.com-shallow"


@given(st.text(), st.text(), st.booleans())
def test_a_slug_is_a_short_plain_file_name(host: str, path: str, is_list: bool) -> None:
    slug = slug_of(f"http://{host}/{path}", "inf", is_list=is_list)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,180}", slug)
