"""Which pages may read the dashboard."""

import pytest

from watchbell.errors import BadSettings
from watchbell.web.archive.dashboard.origins import allowed, refusal

PORTS = frozenset({4567, 4568})
HERE = {"host": "127.0.0.1:4568"}


def is_refused(headers: dict[str, str], *listed: str, host: str = "127.0.0.1") -> bool:
    return bool(refusal(headers, allowed(listed, host, PORTS)))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        HERE,
        {"host": "localhost:4567"},
        {"host": "LOCALHOST"},
        {"host": "[::1]:4567"},
        {"host": "192.0.2.1:4567"},
        {**HERE, "origin": "http://127.0.0.1:4567"},
        {**HERE, "origin": "http://127.0.0.1:4568"},
        {"host": "[::1]:4568", "origin": "http://[::1]:4567"},
        {"host": "localhost:9000", "origin": "http://localhost:9000"},
        {**HERE, "sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
        {**HERE, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"},
        {**HERE, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_programs_and_its_own_pages_may_read_it(headers: dict[str, str]) -> None:
    assert not is_refused(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {**HERE, "origin": "https://example.com"},
        {**HERE, "origin": "null"},
        {**HERE, "origin": ""},
        {**HERE, "origin": "http://127.0.0.1:3000"},
        {**HERE, "origin": "http://127.0.0.1:99999"},
        {**HERE, "origin": "http://localhost:4567"},
        {**HERE, "origin": "http://127.0.0.1.example.com:4567"},
        {**HERE, "origin": "ftp://127.0.0.1:4567"},
        {"origin": "http://127.0.0.1:4567"},
        {"host": "example.com:4567"},
        {"host": "example.com:4567", "origin": "http://example.com:4567"},
        {"host": "127.0.0.1.example.com"},
        {"host": "a b"},
        {"host": "[::1"},
        {**HERE, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {**HERE, "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
        {**HERE, "sec-fetch-site": "cross-site"},
    ],
)
def test_pages_of_others_may_not(headers: dict[str, str]) -> None:
    assert is_refused(headers)
    assert not is_refused(headers, "*")


@pytest.mark.parametrize(
    ("listed", "origin"),
    [
        ("https://archive.example.com", "https://archive.example.com"),
        ("https://Archive.example.com:443/", "https://archive.example.com"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_a_listed_origin_may(listed: str, origin: str) -> None:
    assert is_refused({**HERE, "origin": origin})
    assert not is_refused({**HERE, "origin": origin}, listed)
    assert is_refused({**HERE, "origin": f"{origin}1"}, listed)


def test_the_host_of_a_listed_origin_is_one_of_ours() -> None:
    named = {"host": "archive.example.com:4568", "origin": "http://archive.example.com:4567"}
    assert is_refused(named)
    assert not is_refused(named, "http://archive.example.com:4567")
    assert not is_refused({"host": "dashboard:4567"}, host="dashboard")


@pytest.mark.parametrize(
    "listed",
    [
        *("example.com", "", "null", "ftp://example.com", "https://", "https://example.com/x"),
        *("https://a:b@example.com", "https://example.com:x", "https://example.com?a", "**"),
    ],
)
def test_what_is_no_origin_is_refused_at_the_start(listed: str) -> None:
    with pytest.raises(BadSettings, match=r"archive\.dashboard\.origins"):
        allowed((listed,), "127.0.0.1", PORTS)
