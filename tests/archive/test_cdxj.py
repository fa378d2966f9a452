import json
import subprocess
from pathlib import Path

import pytest

from tests.archive.exchanges import AT, exchange, http, noise, writer
from tests.archive.warc_gate import accepted, gate, tools
from watchbell.archive.warc import cdxj
from watchbell.archive.warc.earlier_payloads import EarlierPayloads
from watchbell.archive.warc.index_lookup import IndexLookup
from watchbell.archive.warc.payload_index import PayloadIndex
from watchbell.archive.warc.url_keys import url_key
from watchbell.archive.warc.writer import WarcWriter

URLS = [
    "http://example.com",
    "http://example.com/",
    "https://www.example.com:443/A/?b=2&a=1",
    "http://www2.example.com:8080/x//y/",
    "http://example.com/?",
    "http://example.com/a%20b/%C3%A9?x=%2525&y",
    "http://example.com/é?ü=ö",
    "http://example.com/?b&a=&a=1&c=%26",
    "http://example.com/?phpsessid=0123456789abcdef0123456789abcdef&x=1",
    "http://example.com/?x=1&sid=0123456789ABCDEF0123456789abcdef",
    "http://example.com/?cfid=12&cftoken=ab&z=1",
    "http://example.com/(s(0123456789abcdefghijklmn))/page.aspx?q=1",
    "http://user:secret@example.com/",
    "http://192.0.2.7/x",
    "https://example.com:8443/",
    "http://xn--mnchen-3ya.example/",
    "ftp://ftp.example.com/pub/File.txt",
    "urn:X-watchbell:log",
    "http://example.com/page;jsessionid=0123456789abcdef0123456789abcdef?x=1",
]


def journalled(out: WarcWriter, folder: Path) -> tuple[list[Path], Path]:
    paths = out.finish()
    index = folder / "index.cdxj"
    cdxj.write_index(out.journal_path, index, lambda part: out.path(part).name)
    return paths, index


def test_keys_are_those_of_other_archives() -> None:
    script = (
        "import json, sys, surt; print(json.dumps([surt.surt(u) for u in json.loads(sys.argv[1])]))"
    )
    command = [str(tools() / "python"), "-W", "ignore", "-c", script, json.dumps(URLS)]
    expected = json.loads(subprocess.check_output(command))
    assert dict(zip(URLS, map(url_key, URLS), strict=True)) == dict(
        zip(URLS, expected, strict=True)
    )


async def test_the_index_agrees_with_that_of_cdxj_indexer(tmp_path: Path) -> None:
    out = writer(tmp_path, part_size=30_000)
    for number in range(40):
        out.write_exchange(exchange(f"{number}?b=1&a=2", http(noise(1500, number % 30))))
    out.write_exchange(exchange("gone", http(b"", status="404 Not Found")))
    out.write_resource("urn:X-watchbell:log", AT, b"fetched\n", "text/plain; charset=utf-8")
    paths, index = journalled(out, tmp_path)
    ours = [cdxj.read_line(line) for line in index.read_bytes().splitlines()]
    printed = await accepted(tools() / "cdxj-indexer", "--sort", *map(str, paths))
    theirs = [cdxj.read_line(line.encode()) for line in printed.splitlines()]
    assert [line.key for line in ours] == [line.key for line in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one.timestamp == other.timestamp
        for name in ("url", "mime", "status", "digest", "length", "offset", "filename"):
            assert getattr(one.capture, name) == getattr(other.capture, name), name
    assert await gate(paths, index=index) == 41


def test_an_index_made_of_the_files_is_that_of_the_journal(tmp_path: Path) -> None:
    out = writer(tmp_path, part_size=30_000)
    for number in range(30):
        out.write_exchange(exchange(str(number), http(noise(2500, number % 20))))
    paths, index = journalled(out, tmp_path)
    assert cdxj.index_files(paths, tmp_path / "again.cdxj") == 30
    assert (tmp_path / "again.cdxj").read_bytes() == index.read_bytes()


def test_an_index_larger_than_memory_is_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cdxj, "LINES_IN_MEMORY", 7)
    out = writer(tmp_path)
    for number in range(100):
        out.write_exchange(exchange(str(number * 37 % 100), http(b"hello")))
    _, index = journalled(out, tmp_path)
    lines = index.read_bytes().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 100
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".cdxj", ".gz", ".open"]


def test_every_url_is_found_by_binary_search(tmp_path: Path) -> None:
    out = writer(tmp_path)
    urls = [f"https://www.example.com/{'x' * (n % 50)}{n}" for n in range(300)]
    for url in urls:
        out.write_exchange(exchange("", http(b"hello"), url=url))
        out.write_exchange(exchange("", http(b"hello again"), url=url, at=AT + 3600))
    _, index = journalled(out, tmp_path)
    lookup = IndexLookup([index])
    for url in urls:
        captures = lookup.captures(url)
        assert [line.capture.url for line in captures] == [url, url]
        assert lookup.closest(url, "20261116205000")[0] == captures[1]
        assert lookup.closest(url, "2026")[0] == captures[0]
    assert lookup.captures("https://www.example.com/missing") == []
    assert IndexLookup([index, index]).captures(urls[0], most=3)[2].capture.url == urls[0]


def test_pages_are_listed_in_portions(tmp_path: Path) -> None:
    out = writer(tmp_path)
    for number in range(25):
        out.write_exchange(exchange(f"{number:02}", http(b"page")))
        out.write_exchange(exchange(f"{number:02}.png", http(b"image", kind="image/png")))
    _, index = journalled(out, tmp_path)
    lookup, seen, after = IndexLookup([index]), [], ""
    while portion := lookup.pages(10, after):
        seen += [line.capture.url for line in portion]
        after = portion[-1].key
    assert seen == [f"https://www.example.com/{number:02}" for number in range(25)]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"com,example)/ 20261116195051 {",
        b'com,example)/ noon {"url":"x","offset":"0","filename":"x"}',
        b'com,example)/ 20261316195051 {"url":"x","offset":"0","filename":"x"}',
        b'com,example)/ 20261116195051 {"url":"x"}',
        b"\xff 20261116195051 {}",
    ],
)
def test_a_line_that_is_none_is_refused_in_words(line: bytes) -> None:
    with pytest.raises(ValueError, match="no line of an index"):
        cdxj.read_line(line)


def test_the_nearest_capture_is_so_by_time_and_not_by_digits(tmp_path: Path) -> None:
    out = writer(tmp_path)
    for at in (1_798_761_599, 1_798_848_000):  # the last second of 2026, and a day later
        out.write_exchange(exchange("", http(b"hello"), at=at))
    _, index = journalled(out, tmp_path)
    nearest = IndexLookup([index]).closest("https://www.example.com/", "20270101000001")[0]
    assert nearest.timestamp == "20261231235959"


async def test_payloads_of_an_earlier_crawl_become_revisits(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    out = writer(first, base="first")
    [_, original] = out.write_exchange(exchange("", http(noise(2000))))
    earlier, index = journalled(out, first)
    known = EarlierPayloads([index])
    again = WarcWriter(second, "second", info={}, part_size=1 << 30, earlier=known)
    [_, revisit] = again.write_exchange(exchange("moved", http(noise(2000)), at=AT + 60))
    [_, fresh] = again.write_exchange(exchange("new", http(noise(2000, 1)), at=AT + 60))
    assert (revisit.type, fresh.type) == ("revisit", "response")
    found = known.find(revisit.digest)
    assert found
    assert (found.id, found.url, found.at) == (original.id, original.url, int(AT))
    paths = again.finish()
    assert await gate([*earlier, *paths]) == 3


def test_the_index_of_payloads_is_bounded_and_keeps_what_is_used() -> None:
    index = PayloadIndex(most=100)
    digests = [
        f"{number:A>4}{'A' * 28}".translate(str.maketrans("0189", "WXYZ")) for number in range(1000)
    ]
    for place, digest in enumerate(digests):
        index.add(digest, place)
        assert index.find(digests[0]) == 0
        assert len(index) <= 100
    assert index.find(digests[-1]) == 999
    assert index.find(digests[500]) is None
