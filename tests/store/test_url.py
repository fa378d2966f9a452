"""The URL of a store: what each part means, what is refused, and what is never shown."""

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchbell.errors import BadSettings
from watchbell.store.url import FORMS, StoreURL, parse

GOOD: dict[str, dict[str, Any]] = {
    "redis://db.example.com": {"hosts": (("db.example.com", 6379),)},
    "redis://db.example.com:": {"hosts": (("db.example.com", 6379),)},
    "redis://db.example.com/": {"hosts": (("db.example.com", 6379),)},
    "redis://db:7000/3": {"hosts": (("db", 7000),), "db": 3},
    "redis://127.0.0.1:1": {"hosts": (("127.0.0.1", 1),)},
    "redis://[::1]": {"hosts": (("::1", 6379),)},
    "redis://[fe80::1]:7000/2": {"hosts": (("fe80::1", 7000),), "db": 2},
    "redis://alice@db": {"hosts": (("db", 6379),), "user": "alice"},
    "redis://alice:pw@db": {"hosts": (("db", 6379),), "user": "alice", "password": "pw"},
    "redis://:pw@db": {"hosts": (("db", 6379),), "password": "pw"},
    "redis://alice:@db": {"hosts": (("db", 6379),), "user": "alice"},
    "redis://a%3Ab:p%40w%2F%3Fx%25@db": {
        "hosts": (("db", 6379),),
        "user": "a:b",
        "password": "p@w/?x%",
    },
    "redis://alice:p@w@db": {"hosts": (("db", 6379),), "user": "alice", "password": "p@w"},
    "redis://alice:p/w@db/1": {
        "hosts": (("db", 6379),),
        "user": "alice",
        "password": "p/w",
        "db": 1,
    },
    "redis://alice:a:b@db": {"hosts": (("db", 6379),), "user": "alice", "password": "a:b"},
    "redis://db?prefix=wb:": {"hosts": (("db", 6379),), "prefix": "wb:"},
    "redis://db/4?prefix=w%26b%3D%2B": {"hosts": (("db", 6379),), "db": 4, "prefix": "w&b=+"},
    "redis://db?prefix=": {"hosts": (("db", 6379),)},
    "redis://db?": {"hosts": (("db", 6379),)},
    "rediss://db": {"hosts": (("db", 6379),), "tls": True},
    "rediss://db?ca=/etc/ca.pem&cert=/c&key=/k": {
        "hosts": (("db", 6379),),
        "tls": True,
        "ca": "/etc/ca.pem",
        "cert": "/c",
        "key": "/k",
    },
    "unix:///run/store.sock": {"socket": "/run/store.sock"},
    "unix://alice:pw@/run/store.sock?prefix=p": {
        "socket": "/run/store.sock",
        "user": "alice",
        "password": "pw",
        "prefix": "p",
    },
    "unix:///run/a%40b%20c%3F.sock": {"socket": "/run/a@b c?.sock"},
    "redis+sentinel://a:1,b,[::1]:3/main": {
        "topology": "sentinel",
        "hosts": (("a", 1), ("b", 26379), ("::1", 3)),
        "service": "main",
    },
    "redis+sentinel://alice:pw@a/main/2?sentinel_user=bob&sentinel_password=p%26": {
        "topology": "sentinel",
        "hosts": (("a", 26379),),
        "service": "main",
        "db": 2,
        "user": "alice",
        "password": "pw",
        "sentinel_user": "bob",
        "sentinel_password": "p&",
    },
    "rediss+sentinel://a/my%2Fmain": {
        "topology": "sentinel",
        "hosts": (("a", 26379),),
        "service": "my/main",
        "tls": True,
    },
    "redis+cluster://a:1,b:2,c": {
        "topology": "cluster",
        "hosts": (("a", 1), ("b", 2), ("c", 6379)),
    },
    "redis+cluster://a/0": {"topology": "cluster", "hosts": (("a", 6379),)},
    "rediss+cluster://alice:pw@a?ca=/ca&prefix=wb:": {
        "topology": "cluster",
        "hosts": (("a", 6379),),
        "user": "alice",
        "password": "pw",
        "tls": True,
        "ca": "/ca",
        "prefix": "wb:",
    },
}


@pytest.mark.parametrize("url", GOOD)
def test_a_url_says_where_the_store_is_and_how_to_reach_it(url: str) -> None:
    assert parse(url) == StoreURL(**{"topology": "single", **GOOD[url]})


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "the scheme is not known"),
        ("db.example.com", "the scheme is not known (given: 'db.example.com')"),
        ("localhost:6379", "the scheme is not known (given: 'localhost:6379')"),
        ("redis:/db", "the scheme is not known"),
        ("http://db", "the scheme is not known (given: 'http')"),
        ("REDIS://db", "the scheme is not known"),
        ("redis://", "a host is missing"),
        ("redis://:7000", "a host is missing"),
        ("redis:///3", "a host is missing"),
        ("redis://?prefix=a", "a host is missing"),
        ("redis+cluster://a,,b", "a host is missing"),
        ("redis+cluster://a,", "a host is missing"),
        ("redis://[]:1", "a host is missing"),
        ("redis://[::1", "an IPv6 address is written [ADDRESS]:PORT"),
        ("redis://[::1]7000", "an IPv6 address is written [ADDRESS]:PORT"),
        ("redis://fe80::1", "a port is a number from 1 to 65535 (given: 'fe80::1')"),
        ("redis://db:0", "a port is a number from 1 to 65535"),
        ("redis://db:65536", "a port is a number from 1 to 65535"),
        ("redis://db:-1", "a port is a number from 1 to 65535"),
        ("redis://db:٣", "a port is a number from 1 to 65535"),
        (f"redis://db:{'1' * 5000}", "a port is a number from 1 to 65535"),
        ("redis://db/x", "a database is a number (given: 'x')"),
        ("redis://db/0/1", "a database is a number"),
        ("redis://db/-1", "a database is a number"),
        (f"redis://db/{'1' * 5000}", "a database is a number"),
        ("redis://a:1,b:2", "several hosts need redis+sentinel:// or redis+cluster://"),
        ("redis+cluster://a/1", "a cluster has only database 0"),
        ("redis+sentinel://a:1", "a Sentinel URL names its service after the hosts"),
        ("redis+sentinel://a:1/", "a Sentinel URL names its service after the hosts"),
        ("redis+sentinel://a:1/main/x", "a database is a number"),
        ("unix://run/store.sock", "a Unix socket needs an absolute path"),
        ("unix:///run/a@b", "a Unix socket needs an absolute path, with %40 for an @"),
        ("unix://", "a Unix socket needs an absolute path"),
        ("redis://db?prefx=a", "an option is one of prefix, ca, cert"),
        ("redis://db?db=1", "(given: 'db')"),
        ("redis://db?ca=/ca", "a certificate needs TLS, rediss://"),
        ("unix:///s?cert=/c&key=/k", "a certificate needs TLS"),
        ("rediss://db?cert=/c", "a client certificate needs both cert and key"),
        ("rediss://db?key=/k", "a client certificate needs both cert and key"),
        ("redis://db?sentinel_password=x", "is for redis+sentinel:// (given: 'sentinel_password')"),
        ("redis://alice:a?b@db", "a ? in a password is written %3F"),
    ],
)
def test_a_wrong_url_is_told_with_what_was_expected(url: str, says: str) -> None:
    with pytest.raises(BadSettings) as caught:
        parse(url)
    said = str(caught.value)
    assert said.startswith("store.url: ")
    assert says in said
    assert said.endswith(f"; expected {FORMS}")
    assert "\n" not in said


@pytest.mark.parametrize(
    "url",
    [
        "alice:geheim@db",
        "geheim@db",
        "redis:/alice:geheim@db",
        "alice:geheim://geheim@db",
        "http://alice:geheim@db",
        "redis://alice:geheim@",
        "redis://alice:geheim@db:x",
        "redis://alice:geheim@db/x",
        "redis://alice:geheim@a,b",
        "redis://alice:geheim@db?no=1",
        "redis://alice:geheim?geheim@db",
        "redis://alice:geheim?prefix=geheim@db",
        "redis://alice:geheim@x?geheim@db",
        "redis+sentinel://db?sentinel_password=geheim",
        "redis://db?sentinel_password=geheim",
        "redis+sentinel://db/s?sentinel_password=geheim&no=1",
        "rediss+sentinel://db/s?sentinel_password=geheim&cert=1",
    ],
)
def test_an_error_never_shows_a_password(url: str) -> None:
    with pytest.raises(BadSettings) as caught:
        parse(url)
    assert "geheim" not in str(caught.value)


def test_the_password_of_the_settings_is_used_where_the_url_has_none() -> None:
    assert parse("redis://db", "pw").password == "pw"
    assert parse("redis://alice@db", "pw").password == "pw"
    assert parse("redis://alice:own@db", "pw").password == "own"


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT, TEXT, TEXT, st.sampled_from(["redis://{}db:1/2?prefix={}", "unix://{}/s?prefix={}"]))
@example("", "", "", "redis://{}db:1/2?prefix={}")
@example("a:b", "@/?#[]%", "&=+ ;", "redis://{}db:1/2?prefix={}")
def test_any_characters_pass_percent_encoded(
    user: str, password: str, prefix: str, form: str
) -> None:
    credentials = f"{quote(user, safe='')}:{quote(password, safe='')}@"
    url = parse(form.format(credentials, quote(prefix, safe="")))
    assert (url.user, url.password, url.prefix) == (user, password, prefix)


@given(TEXT)
def test_any_text_is_a_url_or_is_refused(text: str) -> None:
    for url in (text, f"redis://{text}", f"redis+sentinel://{text}", f"unix://{text}"):
        try:
            parse(url)
        except BadSettings as error:
            assert "expected" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://alice:geheim@db/3?prefix=p", "redis://db:6379"),
        ("rediss://alice:geheim@[::1]:1", "rediss://[::1]:1"),
        ("unix://alice:geheim@/run/s", "unix:///run/s"),
        ("redis+sentinel://alice:geheim@a:1,b/main", "redis+sentinel://a:1,b:26379/main"),
        ("rediss+cluster://alice:geheim@a,b:2", "rediss+cluster://a:6379,b:2"),
        (
            "redis+sentinel://a:1/main?sentinel_user=alice&sentinel_password=geheim",
            "redis+sentinel://a:1/main",
        ),
    ],
)
def test_a_store_is_shown_by_its_place(url: str, shown: str) -> None:
    assert parse(url).redacted() == shown
    assert "geheim" not in repr(parse(url))
    assert "alice" not in repr(parse(url))


@given(TEXT, TEXT)
def test_neither_user_nor_password_is_ever_shown(user: str, password: str) -> None:
    url = StoreURL(
        topology="sentinel",
        hosts=(("h", 1),),
        service="s",
        user=user,
        password=password,
        sentinel_user=user,
        sentinel_password=password,
    )
    assert url.redacted() == "redis+sentinel://h:1/s"
    assert repr(url) == "StoreURL('redis+sentinel://h:1/s')"
