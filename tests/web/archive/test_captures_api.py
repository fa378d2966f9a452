"""Archived pages are searched, described, downloaded, and shown where they can do no harm."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.archive.archived_site import HOME, TIMESTAMP, archived
from tests.archive.crawling import KEYS, NOW, SITE, running
from tests.archive.exchanges import http
from tests.web.site import Answer, Site, Visitor, chosen, serving_services
from watchbell.archive import history
from watchbell.archive.model import FinishedFile
from watchbell.archive.warc.limited_rewriting import name_of
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.store.client import Store
from watchbell.web.app import open_services
from watchbell.web.keys import Web

CRAWL = f"/api/v1/archive/crawls/{SITE}"
IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PAGES = {
    "": http(b'<title>Start</title><a href="/next">next</a><img src="/dot.png">', "X-Served-By: a"),
    "next": http(b"<title>Next</title><script>run()</script>"),
    "dot.png": http(IMAGE, kind="image/png"),
    "old": http(b"", "Location: /next", status="301 Moved"),
    "gone": http(b"gone", status="404 Not Found"),
    "bell.woff2": http(b"font", kind="font/woff2"),
    "data.json": http(b'{"a": 1}', kind="application/json"),
    "paper.pdf": http(b"%PDF", kind="application/pdf"),
    "nested": http(b"<div>" * 100_000),
}


@pytest.fixture
async def shown(store: Store, tmp_path: Path) -> AsyncIterator[Site]:
    await archived(store, tmp_path / "finished", PAGES)
    plain = chosen()
    settings = replace(
        plain,
        data=tmp_path,
        archive=replace(plain.archive, finished=str(tmp_path / "finished")),
    )
    async with serving_services(await open_services(settings, store, SYSTEM)) as site:
        yield site


async def opened(visitor: Visitor, url: str = HOME) -> Answer:
    wanted = {"url": url, "timestamp": TIMESTAMP}
    return await visitor.post(f"{CRAWL}/views", json=wanted)


async def listed(visitor: Visitor, query: str = "") -> list[str]:
    answer = (await visitor.get(f"{CRAWL}/pages{query}")).json()
    assert answer["problem"] == ""
    return [one["url"].removeprefix(HOME) for one in answer["items"]]


async def test_pages_are_listed_and_searched(shown: Site) -> None:
    async with shown.program("read") as program:
        assert await listed(program) == ["", "nested", "next"]
        assert await listed(program, "?text=NEX") == ["next"]
        everything = await listed(program, "?all=true")
        assert set(everything) == set(PAGES)
        first = (await program.get(f"{CRAWL}/pages?limit=2")).json()
        assert len(first["items"]) == 2
        rest = await program.get(f"{CRAWL}/pages", params={"limit": 2, "cursor": first["next"]})
        assert [one["url"] for one in rest.json()["items"]] == [f"{HOME}next"]
        assert rest.json()["next"] is None
        [page] = rest.json()["items"]
        assert (page["timestamp"], page["status"], page["captures"]) == (TIMESTAMP, 200, 1)


async def test_a_url_that_was_archived_twice_is_listed_once(
    shown: Site, store: Store, tmp_path: Path
) -> None:
    again = {"": http(b"<title>Later</title>")}
    await archived(store, tmp_path / "finished", again, later=86_400, base="example.com-inf-2")
    async with shown.program("read") as program:
        page = (await program.get(f"{CRAWL}/pages")).json()["items"][0]
        assert (page["timestamp"], page["captures"]) == ("20261117195051", 2)
        answer = await program.get(f"{CRAWL}/capture?url={HOME}&timestamp=2026111619")
        found = answer.json()
        assert (found["timestamp"], found["status"], found["reason"]) == (TIMESTAMP, 200, "OK")
        assert {"name": "X-Served-By", "value": "a"} in found["headers"]
        times = [one["timestamp"] for one in found["captures"]]
        assert times == [TIMESTAMP, "20261117195051"]


async def test_a_body_is_downloaded_and_never_shown(shown: Site) -> None:
    async with shown.program("read") as program:
        answer = await program.get(f"{CRAWL}/capture/body?url={HOME}next&timestamp={TIMESTAMP}")
        assert answer.body == b"<title>Next</title><script>run()</script>"
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''next"
        assert answer.headers["Content-Security-Policy"].startswith("sandbox;")
        missing = await program.get(f"{CRAWL}/capture/body?url={HOME}x&timestamp={TIMESTAMP}")
        assert missing.status == 404


async def test_a_view_needs_no_cookie_and_lets_nothing_run(shown: Site) -> None:
    async with shown.somebody("viewer") as alice, shown.stranger() as nobody:
        made = (await opened(alice)).json()
        page = await nobody.get(made["address"])
        assert page.status == 200
        assert page.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
        assert page.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert page.headers["Cache-Control"] == "private, no-store"
        base = made["address"].rpartition("/")[0]
        image = f"{base}/{name_of(f'{HOME}dot.png')}"
        assert f'src="{image}"' in page.text
        assert (await nobody.get(image)).body == IMAGE
        moved = await nobody.get(f"{base}/{name_of(f'{HOME}old')}")
        assert moved.headers["Location"] == f"{base}/{name_of(f'{HOME}next')}"
        font = await nobody.get(f"{base}/{name_of(f'{HOME}bell.woff2')}")
        assert font.headers["Access-Control-Allow-Origin"] == "null"
        text = await nobody.get(f"{base}/{name_of(f'{HOME}data.json')}")
        assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
        paper = await nobody.get(f"{base}/{name_of(f'{HOME}paper.pdf')}")
        assert "be shown here" in paper.text
        missing = await nobody.get(f"{base}/{name_of('https://other.example/')}")
        assert (missing.status, "Not archived" in missing.text) == (404, True)
        for name in ("x", "%C3%A9", "_" * 20_000):
            assert (await nobody.get(f"{base}/{name}")).status in (400, 404)
        assert (await nobody.post(made["address"])).status == 405


async def test_a_view_follows_its_reader(shown: Site) -> None:
    async with shown.somebody("viewer") as alice, shown.somebody("viewer", "bob") as bob:
        made = (await opened(alice)).json()
        path = f"/api/v1/archive/views/{made['id']}"
        assert (await alice.get(path)).json() == {"url": HOME, "timestamp": TIMESTAMP}
        base = made["address"].rpartition("/")[0]
        await alice.get(f"{base}/{name_of(f'{HOME}dot.png')}")
        await alice.get(f"{base}/{name_of(f'{HOME}next')}")
        assert (await alice.get(path)).json()["url"] == f"{HOME}next"
        assert (await bob.get(path)).status == 404


async def test_a_view_ends_with_the_session_that_opened_it(shown: Site, store: Store) -> None:
    async with shown.somebody("viewer") as alice, shown.stranger() as nobody:
        made = (await opened(alice)).json()
        lasts = await store.call("TTL", Web().view(made["id"]))
        assert 3_500 < lasts <= 3_600
        assert (await nobody.get(made["address"])).status == 200
        await alice.ask("DELETE", "/api/v1/session")
        assert (await nobody.get(made["address"])).status == 410
    async with shown.somebody("viewer") as alice, shown.stranger() as nobody:
        made = (await opened(alice)).json()
        await store.call("DEL", Web().view(made["id"]))
        assert (await nobody.get(made["address"])).status == 410
        guess = f"/archived/{made['id']}/{TIMESTAMP}/{name_of(HOME)}"
        assert (await nobody.get(guess)).status == 410


async def test_the_secret_of_a_view_opens_nothing_else(shown: Site) -> None:
    async with shown.somebody("administrator") as alice, shown.stranger() as nobody:
        token = (await opened(alice)).json()["address"].split("/")[2]
        for headers in ({"Authorization": f"Bearer {token}"}, {"Cookie": f"watchbell={token}"}):
            assert (await nobody.get("/api/v1/overview", headers=headers)).status == 401
        assert (await nobody.get(f"/sign-in/{token}")).status == 410


async def test_programs_open_no_views(shown: Site) -> None:
    async with shown.program("read") as program:
        answer = await opened(program)
        assert (answer.status, "capture/body" in answer.text) == (422, True)


async def test_a_page_that_takes_too_long_is_shown_as_text(shown: Site) -> None:
    async with shown.somebody("viewer") as alice:
        made = (await opened(alice, f"{HOME}nested")).json()
        page = await alice.get(made["address"])
        assert page.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert page.text.startswith("<div><div>")


async def test_pages_that_are_elsewhere_are_explained(
    shown: Site, store: Store, tmp_path: Path
) -> None:
    for path in (tmp_path / "finished").iterdir():
        path.unlink()
    async with shown.somebody("viewer") as alice:
        found = (await alice.get(f"{CRAWL}/pages")).json()
        assert found["items"] == []
        assert "they are where the pipeline alice ran" in found["problem"]
        assert "pipeline alice" in (await opened(alice)).json()["detail"]
        await running(store)
        assert (await store.call("DEL", KEYS.job(SITE))) == 1
        other = (await alice.get("/api/v1/archive/crawls/1/pages")).json()
        assert other["problem"] == "Pages can be viewed once the crawl has ended."


async def test_pages_of_a_running_crawl_are_those_of_earlier_ones(
    shown: Site, store: Store
) -> None:
    await running(store)
    async with shown.program("read") as program:
        found = (await program.get(f"{CRAWL}/pages")).json()
        assert len(found["items"]) == 3
        assert found["problem"].startswith("These are of earlier crawls.")


async def test_pages_are_read_from_uploaded_files(
    shown: Site, store: Store, tmp_path: Path
) -> None:
    settings = shown.services.settings
    files = objects.opened(settings.files, settings.data)
    uploaded = []
    for path in (tmp_path / "finished").iterdir():
        size = await files.put(f"archive/{path.name}", path.read_bytes())
        uploaded.append(FinishedFile(path.name, size, f"files:archive/{path.name}"))
        path.unlink()
    assert await history.set_places(store, SITE, NOW, uploaded)
    async with shown.somebody("viewer") as alice:
        assert await listed(alice) == ["", "nested", "next"]
        made = (await opened(alice)).json()
        base = made["address"].rpartition("/")[0]
        assert (await alice.get(f"{base}/{name_of(f'{HOME}dot.png')}")).body == IMAGE


async def test_a_damaged_index_hides_only_its_lines(shown: Site, tmp_path: Path) -> None:
    [index] = (tmp_path / "finished").glob("*.cdxj")
    lines = index.read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b"/nested " in line)
    lines[at] = b'com,example,www)/nested 2026 {"text/html" ...\n'
    index.write_bytes(b"".join(lines))
    async with shown.program("read") as program:
        assert await listed(program) == ["", "next"]
