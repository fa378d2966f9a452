"""What runs printed, by place: from the start, from the end, after a line, around what is found."""

import pytest

from watchbell.cron.keys import Cron
from watchbell.runs import output_store
from watchbell.runs.output_store import MOST_BYTES, OutputLine, OutputStore, OutputWindow
from watchbell.store.client import Store

RUN = "run"


def output(store: Store, run: str = RUN) -> OutputStore:
    return OutputStore(store, Cron(store.prefix).output(run))


async def printed(store: Store, numbers: range | list[int], text: bytes = b"line %d\n") -> None:
    key = Cron(store.prefix).output(RUN)
    pairs: list[str | bytes] = []
    for number in numbers:
        line = text % number if b"%d" in text else text
        pairs += [f"{1_790_000_000 + number / 1000:.6f}", b"%d\t" % number + line]
    await store.call("ZADD", key, *pairs)
    await store.call("EXPIRE", key, 100)


async def listed(store: Store, count: int) -> None:
    key = Cron(store.prefix).output(RUN)
    for number in range(1, count + 1):
        await store.call("RPUSH", key, b"line %d\n" % number)


def numbers(window: OutputWindow) -> list[int]:
    return [line.number for line in window.lines]


@pytest.mark.parametrize("as_list", [False, True])
async def test_windows_are_by_place(store: Store, as_list: bool) -> None:
    await (listed(store, 100) if as_list else printed(store, range(1, 101)))
    first = await output(store).window(0, 10)
    assert (first.total, first.complete, first.first) == (100, 100, 0)
    assert numbers(first) == list(range(1, 11))
    assert first.lines[2].text == b"line 3\n"
    assert numbers(await output(store).window(97, 10)) == [98, 99, 100]
    assert numbers(await output(store).window(200, 10)) == []
    assert numbers(await output(store).window(10, 100, 13)) == [11, 12, 13]
    last = await output(store).end(45)
    assert (last.first, numbers(last)) == (55, list(range(56, 101)))
    assert numbers(await output(store).end(3, 50)) == [48, 49, 50]
    assert numbers(await output(store).end(3, 0)) == []


@pytest.mark.parametrize("as_list", [False, True])
async def test_what_is_new_is_after_a_line_and_of_much_the_newest(
    store: Store,
    as_list: bool,
) -> None:
    await (listed(store, 100) if as_list else printed(store, range(1, 101)))
    after = (await output(store).window(89, 1)).lines[0]
    news = await output(store).newest(after, 50)
    assert (news.asked, news.first, numbers(news)) == (90, 90, list(range(91, 101)))
    news = await output(store).newest(after, 4)
    assert (news.asked, news.first, numbers(news)) == (90, 96, [97, 98, 99, 100])
    assert (await output(store).newest(news.lines[-1], 4)).lines == []
    assert numbers(await output(store).following(after)) == list(range(91, 101))
    assert len((await output(store).following(None)).lines) == 100


async def test_a_gap_is_told_by_how_much_is_complete(store: Store) -> None:
    await printed(store, [*range(1, 41), *range(900, 910)])
    found = await output(store).end(20)
    assert (found.total, found.complete, found.first) == (50, 40, 30)
    assert numbers(found)[9:11] == [40, 900]


async def test_long_lines_make_a_window_smaller(store: Store) -> None:
    await printed(store, range(1, 101), b"x" * (32 << 10))
    found = await output(store).window(0, 100)
    assert 0 < len(found.lines) < 100
    assert sum(len(line.text) for line in found.lines) < 3 * MOST_BYTES
    last = await output(store).end(100)
    assert last.lines[-1].number == 100
    assert len(last.lines) < 100


async def test_no_output_is_an_empty_window(store: Store) -> None:
    found = await output(store, "unknown").window(5, 10)
    assert (found.total, found.lines) == (0, [])
    assert (await output(store, "unknown").newest(OutputLine(3, 1.0, b""), 10)).lines == []
    hits = await output(store, "unknown").search("x", 0)
    assert (hits.places, hits.following) == ([], None)


async def test_text_is_found_in_any_case_and_through_colours(store: Store) -> None:
    await printed(store, range(1, 51))
    await printed(store, [51], b"\x1b[31mERR\x1b[1mOR\x1b[0m: stra\xc3\x9fe \xff\n")
    for text in ("error", "ERROR: STRASSE", "\N{REPLACEMENT CHARACTER}"):
        assert (await output(store).search(text, 0)).places == [50]
    assert (await output(store).search("[31m", 0)).places == []
    assert (await output(store).search("line 4", 10)).places == list(range(39, 49))
    back = await output(store).search("line 4", 42, backward=True)
    assert (back.places, back.following) == ([41, 40, 39, 3], None)


async def test_a_search_ends_after_some_and_says_where_to_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_store, "_MOST_SEARCHED", 30)
    monkeypatch.setattr(output_store, "_SEARCHED_AT_ONCE", 10)
    await printed(store, range(1, 101))
    places: list[int] = []
    start: int | None = 0
    asked = 0
    while start is not None:
        found = await output(store).search("7", start)
        places += found.places
        start = found.following
        asked += 1
    assert places == [n - 1 for n in range(1, 101) if "7" in str(n)]
    assert asked == 4
