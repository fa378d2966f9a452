"""Cookies: who may set them, who gets them back, and how many there can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.fetching.cookies import Jar

NOW = 1_700_000_000.0
HOME = "https://www.example.com/shop/cart?x=1"

SENT = [
    # what www.example.com/shop/cart sets, where we go, what is sent
    ("a=b", HOME, "a=b"),
    ("a=b", "https://www.example.com/shop/other", "a=b"),
    ("a=b", "https://www.example.com/shop", "a=b"),
    ("a=b", "https://www.example.com/shopping", ""),
    ("a=b", "https://www.example.com/", ""),
    ("a=b; Path=/", "https://www.example.com/", "a=b"),
    ("a=b; path=nonsense", "https://www.example.com/shop/x", "a=b"),
    ("a=b; Path=/shop/cart", "https://www.example.com/shop/cart/1?y", "a=b"),
    ("a=b; Path=/; Domain=.example.com", "http://example.com:8080/", "a=b"),
    ("a=b; Path=/; DOMAIN=Example.com", "https://other.example.com/", "a=b"),
    ("a=b; Path=/; Domain=example.com", "https://badexample.com/", ""),
    ("a=b; Path=/", "https://example.com/", ""),
    ("a=b; Path=/", "https://sub.www.example.com/", ""),
    ("a=b; Path=/; Domain=com", "https://example.com/", ""),
    ("a=b; Path=/; Domain=other.org", "https://other.org/", ""),
    ("a=b; Path=/; Domain=sub.www.example.com", "https://sub.www.example.com/", ""),
    ("a=b; Path=/; Secure", HOME, "a=b"),
    ("a=b; Path=/; Secure", "http://www.example.com/", ""),
    ("a=b; Max-Age=10", HOME, "a=b"),
    ("a=b; Max-Age=0", HOME, ""),
    ("a=b; Max-Age=-5", HOME, ""),
    ("a=b; Max-Age=soon", HOME, "a=b"),
    ("a=b; Expires=Wed, 15 Nov 2023 00:00:00 GMT", HOME, "a=b"),
    ("a=b; Expires=Wed, 15-Nov-23 00:00:00 GMT", HOME, "a=b"),
    ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", HOME, ""),
    ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9", HOME, "a=b"),
    (' a = "b c" ; HttpOnly', HOME, 'a="b c"'),
    ("alone", HOME, "alone"),
    ("=", HOME, ""),
    ("", HOME, ""),
    ("a=" + "b" * 5_000, HOME, ""),
    ("a=b\x00c", HOME, ""),
]


@pytest.mark.parametrize(("given", "to", "sent"), SENT)
def test_a_cookie_goes_back_to_where_it_belongs(given: str, to: str, sent: str) -> None:
    jar = Jar()
    jar.store(HOME, [given], NOW)
    assert jar.header(to, NOW + 1) == sent
    assert Jar.restored(jar.packed()).header(to, NOW + 1) == sent


def test_a_cookie_ends_in_time() -> None:
    jar = Jar()
    jar.store(HOME, ["a=b; Max-Age=10"], NOW)
    assert jar.header(HOME, NOW + 9) == "a=b"
    assert jar.header(HOME, NOW + 10) == ""


def test_a_secure_cookie_needs_a_secure_server() -> None:
    jar = Jar()
    jar.store("http://www.example.com/", ["a=b; Secure"], NOW)
    assert jar.header("https://www.example.com/", NOW) == ""


def test_a_newer_cookie_replaces_an_older_one() -> None:
    jar = Jar()
    jar.store(HOME, ["a=1; Path=/", "b=2; Path=/", "a=3; Path=/shop"], NOW)
    jar.store(HOME, ["a=4; Path=/"], NOW)
    assert jar.header(HOME, NOW) == "a=3; a=4; b=2"
    jar.store(HOME, ["a=; Path=/; Max-Age=0"], NOW)
    assert jar.header(HOME, NOW) == "a=3; b=2"
    assert len(jar) == 2


@pytest.mark.parametrize("host", ["192.0.2.7", "[2001:db8::1]", "localhost"])
def test_an_address_keeps_its_cookies_to_itself(host: str) -> None:
    jar = Jar()
    jar.store(f"http://{host}/", ["a=b; Domain=2.7", "c=d"], NOW)
    assert jar.header(f"http://{host}/", NOW) == "c=d"
    assert jar.header("http://1.192.0.2.7.example.com/", NOW) == ""


def test_a_server_can_set_only_so_many() -> None:
    jar = Jar()
    for host in range(100):
        url = f"https://h{host}.example.com/"
        jar.store(url, [f"n{number}={'v' * 200}" for number in range(150)], NOW)
    assert len(jar) == 3_000
    header = jar.header("https://h99.example.com/", NOW)
    assert 7_900 < len(header) <= 8_192
    assert len(Jar.restored(jar.packed())) == 3_000


def test_no_header_and_no_url_breaks_the_jar() -> None:
    jar = Jar()
    jar.store("not a URL", ["a=b"], NOW)
    jar.store("ftp://example.com/", ["a=b"], NOW)
    assert jar.header("not a URL", NOW) == ""
    assert len(jar) == 0
    assert len(Jar.restored(b"")) == 0


@given(st.text(max_size=100).map(lambda text: text.encode("latin-1", "replace").decode("latin-1")))
def test_any_header_is_taken_or_left(header: str) -> None:
    jar = Jar()
    jar.store(HOME, [header, f"a=b; expires={header}", f"a=b; domain={header}"], NOW)
    sent = jar.header(HOME, NOW)
    assert "\n" not in sent
    assert Jar.restored(jar.packed()).header(HOME, NOW) == sent
