"""Options of a new crawl, in all their spellings."""

import pytest

from watchbell.archive.model import CrawlOptions
from watchbell.archive.options import Options, parse, split
from watchbell.errors import Refused


@pytest.mark.parametrize(
    "name",
    [
        "ignore-sets",
        "ignoresets",
        "ignore_sets",
        "ignoreset",
        "ignore-set",
        "ignore_set",
        "ig-set",
        "igset",
    ],
)
def test_ignore_sets_have_many_names(name: str) -> None:
    wanted = Options(ignore_sets=("blogs", "forums"))
    assert parse([f"--{name}=blogs,forums"]) == wanted
    assert parse([f"--{name}", "blogs,forums"]) == wanted


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", Options()),
        ("--no-offsite-links", Options(no_offsite_links=True)),
        ("--nooffsitelinks", Options(no_offsite_links=True)),
        ("--no-offsite", Options(no_offsite_links=True)),
        ("--nooffsite", Options(no_offsite_links=True)),
        ("--user-agent-alias firefox", Options(user_agent="firefox")),
        ("--useragentalias=firefox", Options(user_agent="firefox")),
        ("--user-agent=firefox", Options(user_agent="firefox")),
        ("--useragent firefox", Options(user_agent="firefox")),
        ("--pipeline fast", Options(pipeline="fast")),
        ('--explain "closes in May"', Options(note="closes in May")),
        ("--reason='closes in May'", Options(note="closes in May")),
        ("--delay 0", Options(delay=0)),
        ("--delay=9999999", Options(delay=9_999_999)),
        ("--concurrency 12", Options(concurrency=12)),
        ("--concurrent=1", Options(concurrency=1)),
        ("--large", Options(is_large=True)),
        ("--youtube-dl", Options(wants_video=True)),
        ("--browser --browser-wait 2.5", Options(grabber="phantomjs", phantomjs_wait=2.5)),
        (
            "--phantomjs --phantomjs-scroll=3 --no-phantomjs-smart-scroll",
            Options(grabber="phantomjs", phantomjs_scroll=3, no_phantomjs_smart_scroll=True),
        ),
        (
            "--robots --dedup --wacz --no-cookies --max-size 2G --max-urls=10 --offsite-depth 0",
            Options(
                crawl=CrawlOptions(
                    obeys_robots=True,
                    dedups_before=True,
                    makes_wacz=True,
                    has_cookies=False,
                    most_bytes=2 << 30,
                    most_urls=10,
                    offsite_depth=0,
                )
            ),
        ),
        ("--large --no-offsite", Options(is_large=True, no_offsite_links=True)),
    ],
)
def test_options_are_read_as_a_shell_splits_them(text: str, options: Options) -> None:
    assert parse(split(text)) == options


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("--nonsense", "'--nonsense' is no option"),
        ("large", "'large' is no option"),
        ("http://other.example/", "is no option"),
        ("--delay", "--delay: the value is missing; the option is --delay=MILLISECONDS"),
        ("--delay=", "expected a number from 0 to 9999999, not ''"),
        ("--delay=-1", "expected a number from 0 to 9999999, not '-1'"),
        ("--delay=10000000", "expected a number from 0 to 9999999"),
        ("--delay=²", "expected a number"),
        ("--delay=" + "9" * 1000, "expected a number"),
        ("--concurrency 0", "--concurrency: expected a number from 1 to 99, not '0'"),
        ("--concurrency 100", "expected a number from 1 to 99"),
        ("--large=yes", "--large: takes no value"),
        ("--ignore-sets=,", "expected a name"),
        ("--pipeline=a*b", "expected a name"),
        ("--browser-wait=nan", "expected seconds"),
        ("--max-size=much", "was not understood as a size"),
        ('--explain "closes', "a quotation mark is not closed"),
        ("--explain " + "a" * 3_000, "longer than"),
    ],
)
def test_bad_options_are_refused_by_name(text: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(split(text))
    assert reason in str(refused.value)
