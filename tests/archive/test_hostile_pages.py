"""Hostile pages in the browser: each frees its place, and reaches nothing but the proxy."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.archive.browser_crawls import BROWSER, NEEDS_CHROMIUM, browsers_of, dom_of, resources
from tests.archive.crawler import Crawler, working
from tests.archive.scripted_site import ScriptedSite
from tests.archive.site import Site, served
from tests.waiting import eventually
from watchbell.archive.grabbing import browser, page_traffic, tab
from watchbell.http.networks import Networks
from watchbell.store.client import Store

pytestmark = NEEDS_CHROMIUM

HOSTILE = {
    "alerts": "while (true) { alert(1); confirm(2); prompt(3) }",
    "a question before it is left": 'addEventListener("beforeunload", e => e.preventDefault())',
    "a busy loop": "while (true) {}",
    "redirects without end": 'setInterval(() => { location.href = "/r" + Math.random() }, 1)',
    "reloads without end": "setInterval(() => location.reload(), 1)",
    "history without end": """let i = 0;
        while (true) try { history.pushState(0, "", "/h" + i++) } catch {}""",
    "windows without end": """setInterval(() => {
        open("/after?popup"); open("chrome://settings");
        const link = document.createElement("a");
        link.target = "_blank"; link.href = "/after?blank";
        document.body.append(link); link.click() }, 1)""",
    "downloads": """const blob = new Blob(["x".repeat(1e6)]);
        for (const href of ["/file.bin", URL.createObjectURL(blob)]) {
        const link = document.createElement("a"); link.href = href; link.download = "stolen.bin";
        document.body.append(link); link.click() }""",
    "local files": """const file = "file:///etc/passwd";
        for (const src of [file, "chrome://version", `view-source:${file}`]) {
        const frame = document.createElement("iframe"); frame.src = src;
        document.body.append(frame);
        fetch(src).then(r => r.text()).then(t => document.body.append(t)).catch(() => {}); }
        location.href = file""",
    "functions that it replaces": """
        Object.defineProperty(Element.prototype, "outerHTML", {get() { throw 1 }});
        window.scrollBy = () => { throw 1 }; JSON.stringify = () => { throw 1 }""",
    "a page that removes itself": "document.documentElement.remove(); document.close()",
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs is given up after seconds."""
    monkeypatch.setattr(tab, "_LOAD", 2.0)
    monkeypatch.setattr(tab, "_QUIET", 2.0)
    monkeypatch.setattr(tab, "_STEP", 5.0)
    monkeypatch.setattr(browser, "_CLOSE", 5.0)


def hostile(script: str) -> ScriptedSite:
    site = ScriptedSite()
    site.page("/", f'<!doctype html><a href="/after">x</a><body><script>{script}</script>'.encode())
    site.page("/after", b"<!doctype html><p>Still here.</p>")
    site.add("/file.bin", b"x" * 10_000, "application/octet-stream")
    return site


def left(folder: Path, name: str) -> list[Path]:
    return list(folder.rglob(name))


def environments_of(pids: Iterable[int]) -> list[bytes]:
    """Of those that are there still: a browser ends some of its processes all the time."""
    found = []
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            found.append(Path(f"/proc/{pid}/environ").read_bytes())
    return found


async def crawled(store: Store, data: Path, site: Site, **more: Any) -> Crawler:
    async with served(site), working(store, data) as crawler:
        await crawler.crawl(site.start, **{**BROWSER, **more})
    return crawler


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", HOSTILE)
async def test_a_hostile_page_frees_its_place(store: Store, tmp_path: Path, kind: str) -> None:
    site = hostile(HOSTILE[kind])
    crawler = await crawled(store, tmp_path, site)
    made = resources(crawler)
    assert site.start in crawler.responses()
    assert f"urn:X-watchbell:dom:{site.url}/after" in made, "the next page is shown"
    assert not any(b"root:" in block for block in made.values())
    assert not left(tmp_path, "*stolen*")
    assert not left(tmp_path / "archive", "browser")


@pytest.mark.usefixtures("quick")
async def test_a_page_that_never_stops_loading_is_taken_as_it_is(
    store: Store, tmp_path: Path
) -> None:
    site = hostile('fetch("/never"); document.write(`<img src="/slow.png">`)')
    site.page("/slow.png", b"late")
    gate = site.held["/slow.png"] = asyncio.Event()
    async with served(site), working(store, tmp_path) as crawler:
        ident = await crawler.add(site.start, **BROWSER)
        again = "it is fetched again, without the browser"
        await eventually(lambda: site.asked["/slow.png"] == 2, why=again)
        gate.set()
        await crawler.ended(ident)
    assert f"{site.url}/slow.png" in crawler.responses()
    assert f"urn:X-watchbell:dom:{site.start}" in resources(crawler)


async def test_a_page_has_a_limit_of_requests(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_traffic, "_MOST_REQUESTS", 20)
    site = hostile("for (let i = 0; i < 500; i++) fetch('/x' + i).catch(() => {})")
    await crawled(store, tmp_path, site)
    assert 0 < sum(path.startswith("/x") for path in site.asked) <= 20


@pytest.mark.usefixtures("quick")
async def test_a_page_that_takes_too_much_memory_ends(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "_MOST_MEMORY", 1_200 << 20)
    site = ScriptedSite()
    site.page(
        "/",
        b"""<!doctype html><script>const all = []; setInterval(() => {
        const one = document.createElement("canvas"); one.width = one.height = 4096;
        one.getContext("2d").fillRect(0, 0, 4096, 4096); all.push(one) }, 20)
        </script>""",
    )
    crawler = await crawled(store, tmp_path, site, phantomjs_wait=60)
    reason = f"can't show {site.start}: the page crashed"
    assert any(reason in line for line in crawler.log())


async def test_a_service_worker_answers_nothing(store: Store, tmp_path: Path) -> None:
    site = hostile("""navigator.serviceWorker.register("/sw.js")
        .then(() => navigator.serviceWorker.ready)
        .then(() => fetch("/real.txt")).then(r => r.text())
        .then(text => { document.title = text })""")
    worker = b"""addEventListener("install", () => skipWaiting());
        addEventListener("activate", e => e.waitUntil(clients.claim()));
        addEventListener("fetch", e => e.respondWith(new Response("forged")))"""
    site.add("/sw.js", worker, "text/javascript")
    site.add("/real.txt", b"genuine", "text/plain")
    crawler = await crawled(store, tmp_path, site)
    assert f"{site.url}/real.txt" in crawler.responses()
    assert "genuine" in dom_of(crawler, site.start)


class Trap(asyncio.DatagramProtocol):
    """Counts who comes by TCP or by UDP, on the same port of both."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.port = 0

    def datagram_received(self, data: bytes, _address: tuple[str, int]) -> None:
        self.heard.append(f"UDP: {data!r}")

    def connected(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append("TCP")
        writer.close()


@asynccontextmanager
async def trap(host: str) -> AsyncIterator[Trap]:
    one = Trap()
    server = await asyncio.start_server(one.connected, host, 0)
    one.port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: one, (host, one.port))
    try:
        yield one
    finally:
        transport.close()
        server.close()


ESCAPES = """
const tcp = "127.0.0.2:TRAP", same = "127.0.0.1:OTHER";
const tried = [];
const attempt = async (name, what) => {
  try { await what() } catch {}
  tried.push(name); document.body.append(" [" + name + "]");
};
const link = (fields) => {
  document.head.append(Object.assign(document.createElement("link"), fields));
};
(async () => {
  await attempt("fetch", () => fetch(`http://${tcp}/fetch`, {mode: "no-cors"}));
  await attempt("https", () => fetch(`https://${tcp}/fetch`, {mode: "no-cors"}));
  await attempt("beacon", () => navigator.sendBeacon(`http://${tcp}/beacon`, "x"));
  await attempt("image", () => { new Image().src = `http://${tcp}/image` });
  for (const rel of ["preconnect", "dns-prefetch", "prefetch", "prerender", "preload"])
    await attempt(rel, () => link({rel, href: `http://${tcp}/${rel}`, as: "image"}));
  for (const host of [tcp, same])
    for (const scheme of ["ws", "wss"])
      await attempt(scheme, () => new Promise((_, no) => {
        const socket = new WebSocket(`${scheme}://${host}/socket`);
        socket.onerror = socket.onclose = no }));
  await attempt("events", () => new Promise((_, no) => {
    const source = new EventSource(`http://${tcp}/events`); source.onerror = no }));
  await attempt("rtc", async () => {
    const turn = [`turn:${same}?transport=udp`, `turn:${same}?transport=tcp`];
    const peer = new RTCPeerConnection({iceServers: [
      {urls: [`stun:${same}`]}, {urls: turn, username: "a", credential: "b"}]});
    peer.createDataChannel("x");
    await peer.setLocalDescription(await peer.createOffer());
    await new Promise(yes => {
      peer.onicegatheringstatechange = () => peer.iceGatheringState == "complete" && yes();
      setTimeout(yes, 2000) });
  });
  await attempt("transport", () => new WebTransport(`https://${same}/`).ready);
  await attempt("worker", () => new Promise((_, no) => {
    const code = `fetch("http://${tcp}/worker", {mode: "no-cors"}).finally(() => postMessage(1))`;
    new Worker(URL.createObjectURL(new Blob([code]))).onmessage = no }));
  await attempt("allowed", () => fetch("/allowed.txt"));
  await fetch("/done.txt");
})();
fetch("/held.txt")
"""


async def test_nothing_of_a_page_goes_past_the_proxy(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """127.0.0.1 is allowed, 127.0.0.2 is not; of the former, only HTTP."""
    monkeypatch.setattr(tab, "_QUIET", 100.0)  # it is looked at once all was tried
    only = Networks(("127.0.0.1/32",))
    async with trap("127.0.0.2") as away, trap("127.0.0.1") as same:
        ports = ESCAPES.replace("TRAP", str(away.port)).replace("OTHER", str(same.port))
        site = hostile(ports)
        for path in ("/allowed.txt", "/done.txt", "/held.txt"):
            site.add(path, b"yes", "text/plain")
        held = site.held["/held.txt"] = asyncio.Event()
        async with served(site), working(store, tmp_path, reachable=only) as crawler:
            ident = await crawler.add(site.start, **BROWSER)
            await eventually(lambda: site.asked["/done.txt"], why="all was tried")
            held.set()
            await crawler.ended(ident)
        assert (away.heard, same.heard) == ([], [])
    dom = dom_of(crawler, site.start)
    for name in ("fetch", "https", "ws", "wss", "events", "rtc", "transport", "worker", "allowed"):
        assert f"[{name}]" in dom, "it was tried"
    assert f"{site.url}/allowed.txt" in crawler.responses()
    refused = [line for line in crawler.log() if "127.0.0.2" in line]
    assert any("/fetch" in line for line in refused)
    assert not any("127.0.0.2" in url for url in crawler.responses())


async def test_the_browser_has_no_secrets_and_leaves_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHBELL_SECRET", "do not tell")
    site = hostile('fetch("/held.txt")')
    site.add("/held.txt", b"", "text/plain")
    held = site.held["/held.txt"] = asyncio.Event()
    async with served(site), working(store, tmp_path) as crawler:
        ident = await crawler.add(site.start, **BROWSER)
        await eventually(lambda: site.asked["/held.txt"], why="the page is shown")
        environments = environments_of(browsers_of(tmp_path))
        assert b"PATH=" in b"".join(environments)
        assert b"WATCHBELL" not in b"".join(environments)
        held.set()
        await crawler.ended(ident)
    assert not browsers_of(tmp_path)
    assert not left(tmp_path / "archive", "browser")
