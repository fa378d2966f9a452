import asyncio
import gzip
import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.archive.exchanges import AT, FileBody, chunked, exchange, noise, writer
from tests.archive.exchanges import http as message
from tests.archive.test_cdxj import journalled
from tests.archive.test_wacz import made
from watchbell.archive.warc.replay import Replay, Request, serving
from watchbell.archive.warc.rewriting import Rewriter
from watchbell.archive.warc.stored_responses import StoredResponses, opened
from watchbell.archive.warc.views import VIEW_HEADERS, view
from watchbell.errors import Refused

SITE = "https://www.example.com"
TS = "20261116195051"
PAGE = b"""<!doctype html><base href="/deep/"><link rel=stylesheet href="/style.css" integrity="x">
<a href="next?a=1&amp;b=2#top">next</a> <a href="#here">here</a>
<a href="mailto:a@example.com">m</a>
<img src="https://cdn.example.com/i.png" srcset="a.png 1x, b.png 2x">
<p style="background: url('p.png')">text</p><script>if (1 < 2) run("</p>")</script>"""


@pytest.fixture
def responses(tmp_path: Path) -> StoredResponses:
    out = writer(tmp_path)
    big = b"<p>" + b"again and again " * 50
    packed = "Content-Encoding: gzip"
    out.write_exchange(exchange("", message(PAGE)))
    out.write_exchange(exchange("deep/next?a=1&b=2", message(gzip.compress(big), packed)))
    chunks = message(chunked(big), "Transfer-Encoding: chunked")
    out.write_exchange(exchange("chunked", chunks))
    out.write_exchange(exchange("style.css", message(b"b { c: url(x.png) }", kind="text/css")))
    out.write_exchange(exchange("old", message(b"", "Location: /new", status="301 Moved")))
    out.write_exchange(exchange("image", message(noise(3000), kind="image/png")))
    out.write_exchange(exchange("copy", message(noise(3000), kind="image/x-copy")))
    out.write_exchange(exchange("gone", message(b"gone", status="404 Not Found")))
    out.write_exchange(exchange("later", message(b"first")))
    out.write_exchange(exchange("later", message(b"second"), at=AT + 86400))
    paths, index = journalled(out, tmp_path)
    return StoredResponses(paths, [index])


def asked(
    responses: StoredResponses, target: str, **more: str
) -> tuple[int, dict[str, str], bytes]:
    request = Request(target, more.pop("host", "127.0.0.1:8090"), **more)
    answer = Replay(responses).answer(request)
    return answer.status, dict(answer.headers), b"".join(answer.body)


def test_links_of_a_page_stay_inside_the_archive(responses: StoredResponses) -> None:
    status, headers, body = asked(responses, f"/{TS}/{SITE}/")
    text = body.decode()
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    for link in (
        f'href="/{TS}/{SITE}/style.css"',
        f'href="/{TS}/{SITE}/deep/next?a=1&amp;b=2#top"',
        f'src="/{TS}/https://cdn.example.com/i.png"',
        f'srcset="/{TS}/{SITE}/deep/a.png 1x, /{TS}/{SITE}/deep/b.png 2x"',
        f"url('/{TS}/{SITE}/deep/p.png')",
        'href="#here"',
        'href="mailto:a@example.com"',
        'if (1 < 2) run("</p>")',
    ):
        assert link in text
    assert "<base" not in text
    assert "integrity" not in text


def test_archived_scripts_get_an_origin_of_their_own(responses: StoredResponses) -> None:
    _, headers, _ = asked(responses, f"/{TS}/{SITE}/")
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("sandbox ")
    assert "allow-same-origin" not in policy


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/deep/next?a=1&b=2", b"<p>again and again "),
        ("/chunked", b"<p>again and again "),
        ("/style.css", f"b {{ c: url(/{TS}/{SITE}/x.png) }}".encode()),
        ("/image", noise(3000)),
        ("/copy", noise(3000)),
    ],
)
def test_bodies_are_decoded(responses: StoredResponses, path: str, body: bytes) -> None:
    status, _, found = asked(responses, f"/{TS}/{SITE}{path}")
    assert status == 200
    assert body in found


def test_raw_bytes_are_those_that_were_sent(responses: StoredResponses) -> None:
    status, headers, body = asked(responses, f"/{TS}id_/{SITE}/")
    assert (status, body) == (200, PAGE)
    _, headers, body = asked(responses, f"/{TS}id_/{SITE}/deep/next?a=1&b=2")
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body).startswith(b"<p>again")
    _, headers, body = asked(responses, f"/{TS}id_/{SITE}/copy")
    assert (headers["Content-Type"], body) == ("image/x-copy", noise(3000))


def test_what_is_not_archived_is_said_in_words(responses: StoredResponses) -> None:
    status, headers, body = asked(responses, f"/{TS}/{SITE}/<script>missing")
    assert status == 404
    assert b"is not in this archive" in body
    assert b"<script>" not in body
    assert "Content-Security-Policy" in headers
    assert asked(responses, f"/{TS}/nonsense")[0] == 404
    assert asked(responses, "/favicon.ico")[0] == 404


def test_archived_errors_and_redirects_are_replayed(responses: StoredResponses) -> None:
    status, _, body = asked(responses, f"/{TS}/{SITE}/gone")
    assert (status, b"gone" in body) == (404, True)
    status, headers, _ = asked(responses, f"/{TS}/{SITE}/old")
    assert (status, headers["Location"]) == (302, f"/{TS}/{SITE}/new")


def test_the_nearest_capture_is_served(responses: StoredResponses) -> None:
    assert b"first" in asked(responses, f"/2026/{SITE}/later")[2]
    assert b"second" in asked(responses, f"/20261117195051/{SITE}/later")[2]
    assert b"second" in asked(responses, f"/2030/{SITE}/later")[2]


def test_a_path_asked_for_by_a_script_is_found_by_its_page(responses: StoredResponses) -> None:
    referer = f"http://127.0.0.1:8090/{TS}/{SITE}/deep/"
    status, headers, _ = asked(responses, "/style.css", referer=referer)
    assert (status, headers["Location"]) == (302, f"/{TS}/{SITE}/style.css")


def test_other_hosts_are_refused(responses: StoredResponses) -> None:
    """Or a name that leads here could read the archive from a page of somebody else."""
    assert asked(responses, f"/{TS}/{SITE}/", host="evil.example.com")[0] == 421
    assert asked(responses, f"/{TS}/{SITE}/", host="localhost")[0] == 200


def test_pages_are_listed(responses: StoredResponses) -> None:
    status, _, body = asked(responses, "/")
    assert status == 200
    assert f'href="/{TS}/{SITE}/chunked"'.encode() in body
    assert b"/image" not in body


def fetched(address: str, path: str, method: str = "GET") -> tuple[int, bytes]:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


async def test_the_server_answers_over_a_real_connection(responses: StoredResponses) -> None:
    async with serving(responses) as address:
        for path, method, status, part in (
            (f"/{TS}/{SITE}/", "GET", 200, b"next"),
            (f"/{TS}/{SITE}/", "HEAD", 200, b""),
            (f"/{TS}id_/{SITE}/image", "GET", 200, noise(3000)),
            (f"/{TS}/{SITE}/none", "GET", 404, b"not in this archive"),
            ("/", "POST", 405, b"only be read"),
        ):
            found = await asyncio.to_thread(fetched, address, path, method)
            assert found[0] == status
            assert part in found[1]
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(fetched, address, "/")


def test_a_large_body_is_sent_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(message(noise(5 << 20), kind="video/mp4"))
    out = writer(tmp_path)
    out.write_exchange(exchange("film", FileBody(path)))
    paths, index = journalled(out, tmp_path)
    answer = Replay(StoredResponses(paths, [index])).answer(
        Request(f"/{TS}/{SITE}/film", "127.0.0.1")
    )
    pieces = list(answer.body)
    assert b"".join(pieces) == noise(5 << 20)
    assert max(map(len, pieces)) <= 1 << 18


def test_files_without_index_are_indexed_and_packages_opened(tmp_path: Path) -> None:
    paths, package = made(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for given in (paths, [package]):
        found = opened(given, scratch).find(f"{SITE}/03", "2026")
        assert found
        assert b"".join(found.body()) == noise(2500, 3)
    with pytest.raises(Refused, match="expected files that end in"):
        opened([tmp_path / "page.html"], scratch)


def test_a_missing_or_damaged_file_answers_404(tmp_path: Path, responses: StoredResponses) -> None:
    assert asked(responses, f"/{TS}/{SITE}/")[0] == 200
    [path] = tmp_path.glob("*.warc.gz")
    path.write_bytes(path.read_bytes()[:100])
    assert asked(responses, f"/{TS}/{SITE}/")[0] == 404
    path.unlink()
    assert asked(responses, f"/{TS}/{SITE}/")[0] == 404


def test_a_view_can_not_act_for_the_person_who_looks(responses: StoredResponses) -> None:
    stored = responses.find(f"{SITE}/", TS)
    assert stored
    shown = view(stored, lambda url: f"/view/{url}")
    assert f'href="/view/{SITE}/style.css"'.encode() in shown.body
    assert shown.content_type == "text/html; charset=utf-8"
    assert (shown.status, shown.is_whole) == (200, True)
    assert dict(shown.headers)["Content-Length"] == str(len(PAGE))
    policy = VIEW_HEADERS["Content-Security-Policy"]
    assert policy.startswith("sandbox;")
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


def test_a_view_is_bounded(tmp_path: Path) -> None:
    out = writer(tmp_path)
    bomb = gzip.compress(bytes(1 << 24))
    out.write_exchange(exchange("bomb", message(bomb, "Content-Encoding: gzip")))
    paths, index = journalled(out, tmp_path)
    stored = StoredResponses(paths, [index]).find(f"{SITE}/bomb", TS)
    assert stored
    shown = view(stored, str, most=1 << 20)
    assert not shown.is_whole


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("text/plain; charset=iso-8859-1", "text/plain; charset=utf-8"),
        ("application/xhtml+xml", "text/html; charset=utf-8"),
        ("evil\x01/<x>", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_the_type_of_a_view_is_one_that_browsers_know(
    tmp_path: Path, kind: str, shown: str
) -> None:
    out = writer(tmp_path)
    out.write_exchange(exchange("x", message("é".encode("latin-1"), kind=kind)))
    paths, index = journalled(out, tmp_path)
    stored = StoredResponses(paths, [index]).find(f"{SITE}/x", TS)
    assert stored
    found = view(stored, str)
    assert found.content_type == shown
    if kind.endswith("1"):
        assert found.body.decode() == "é"


REWRITES = [
    ('<meta http-equiv="refresh" content="3; url=/x">', 'content="3; url=>https://a.example/x"'),
    ("<style>@import 'a.css'; b > c {}</style>", "@import '>https://a.example/a.css'; b > c {}"),
    ('<object data="f.swf"></object>', 'data=">https://a.example/f.swf"'),
    ('<a href="javascript:go()">', 'href="javascript:go()"'),
    ('<img src="data:image/png;base64,AA==">', 'src="data:image/png;base64,AA=="'),
    ('<a href="//b.example/é">', 'href=">https://b.example/%C3%A9"'),
    ('<a href="http://[broken">', 'href="http://[broken"'),
    ('<img srcset="data:image/png,a 1x,b.png 2x">', ">https://a.example/b.png 2x"),
    ('<meta http-equiv="Content-Security-Policy" content="x"><p>', "<head></head>"),
]


@pytest.mark.parametrize(("html", "expected"), REWRITES)
def test_references_are_rewritten(html: str, expected: str) -> None:
    found = Rewriter("https://a.example/", lambda url: ">" + url).html(html)
    assert expected in found.replace("&gt;", ">")
