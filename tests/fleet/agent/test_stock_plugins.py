"""The stock plugins, run by an agent."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.fleet.agent.link_server import LinkServer, SeenJob, order

pytestmark = pytest.mark.usefixtures("agent")


class Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(302 if self.path == "/moved" else 404 if self.path == "/missing" else 200)

    do_POST = do_GET  # noqa: N815

    def _answer(self, status: int) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        shown = {"method": self.command, "body": body.decode(), "x": self.headers.get("X-Mine")}
        content = json.dumps(shown).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/there")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Echo) as running:
        thread = Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


async def ran(server: LinkServer, plugin: str, **params: Any) -> SeenJob:
    made = order("j1", params=params)
    made.job["command"] = f"watchbell-plugin {plugin}"
    await server.launch(made)
    return await server.ended("j1")


@pytest.mark.parametrize(
    ("params", "code", "says"),
    [
        ({"url": "/"}, 0, "HTTP 200 OK"),
        ({"url": "/missing"}, 1, "HTTP 404 Not Found"),
        ({"url": "/moved", "follow": True}, 0, "HTTP 200 OK"),
        ({"url": "/moved"}, 0, "HTTP 302 Found"),
        ({"url": "/", "success_match": "GET"}, 0, "HTTP 200 OK"),
        ({"url": "/", "success_match": "POST"}, 1, "does not match 'POST'"),
        ({"url": "/", "error_match": "GET"}, 1, "matches 'GET'"),
        ({"url": "/", "error_match": "("}, 1, "A regular expression is not valid"),
        ({"url": "/", "method": "post", "data": "abc", "success_match": '"abc"'}, 0, "200"),
        ({"url": "/", "headers": "X-Mine: yes\n", "success_match": '"yes"'}, 0, "200"),
    ],
)
async def test_a_web_request(
    server: LinkServer, site: str, params: dict[str, Any], code: int, says: str
) -> None:
    seen = await ran(server, "http", **{**params, "url": site + params["url"]})
    assert seen.result
    assert seen.result.code == code
    assert says in seen.result.description
    assert b"HTTP " in seen.log


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "file:///etc/passwd", ""])
async def test_a_web_request_that_fails(server: LinkServer, url: str) -> None:
    seen = await ran(server, "http", url=url)
    assert seen.result
    assert seen.result.code == 1
    assert seen.result.description.startswith("The request failed: ")


async def test_a_web_hook_gets_the_job(server: LinkServer, site: str) -> None:
    seen = await ran(server, "hook", url=site, data='{"more": 1}')
    assert seen.result
    assert (seen.result.code, seen.result.description) == (0, "HTTP 200 OK")
    body = json.loads(json.loads(seen.log.splitlines()[1])["body"])
    assert body == {"id": "j1", "event": "e1", "plugin": "shellplug", "more": 1}


@pytest.mark.parametrize(
    ("action", "code"),
    [("Success", 0), ("Warning", "warning"), ("Critical", "critical"), ("Error", 999)],
)
async def test_a_test_ends_as_asked(server: LinkServer, action: str, code: int | str) -> None:
    seen = await ran(server, "test", duration=0.2, progress=True, action=action)
    assert seen.result
    assert seen.result.code == code
    assert 0 <= seen.values["progress"] < 1


async def test_a_test_can_crash(server: LinkServer) -> None:
    seen = await ran(server, "test", duration=0, burn=True, action="Crash")
    assert seen.result
    assert seen.result.description == "The process was ended by SIGABRT (signal 6)."
