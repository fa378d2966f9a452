"""A website on loopback whose pages are made by their scripts."""

from tests.archive.site import Site, response

PICTURE = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15"
    b"\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00"
    b"\x00\x00IEND\xaeB`\x82"
)
START = b"""<!doctype html><title>Scripted</title><link rel="stylesheet" href="/style.css">
<main></main><div style="height: 3000px"></div><img src="/below.png" loading="lazy">
<iframe src="/frame"></iframe><a href="/plain">plain</a>
<script>
const add = html => document.querySelector("main").insertAdjacentHTML("beforeend", html);
fetch("/api/items.json").then(r => r.json()).then(items => {
  for (const item of items) add(`<a href="/made/${item}">${item}</a>`);
});
fetch("/api/send", {method: "POST", body: "hello"})
  .then(r => r.text()).then(text => add(`<p>${text}</p>`));
fetch("/api/late.json", {method: "HEAD"});
let pages = 0;
addEventListener("scroll", () => {
  if (scrollY + innerHeight < document.documentElement.scrollHeight - 10 || pages >= 2) return;
  pages += 1;
  fetch(`/more/${pages}`).then(r => r.text()).then(html => {
    document.body.insertAdjacentHTML("beforeend", html);
  });
});
</script>"""


def more(number: int) -> bytes:
    link = f'<a href="/scrolled/{number}">scrolled</a>'
    return f'<div style="height: 1500px">{link}</div>'.encode()


class ScriptedSite(Site):
    """Its start has links that only a browser finds."""

    def __init__(self) -> None:
        super().__init__(0, odd=False)
        page = b'<!doctype html><link rel="stylesheet" href="/style.css"><p>A page.</p>'
        self.page("/", START)
        self.page(
            "/frame", b'<!doctype html><a href="/from-frame">x</a><script src="/f.js"></script>'
        )
        self.add("/f.js", b'fetch("/api/frame.json")', "text/javascript")
        self.add("/style.css", b'p { background: url("/back.png") }', "text/css")
        self.add("/api/items.json", b'["one", "two"]', "application/json")
        self.add("/api/late.json", b"[]", "application/json")
        self.add("/api/frame.json", b"{}", "application/json")
        self.add("/api/send", b"sent", "text/plain")
        for name in ("/below.png", "/back.png"):
            self.add(name, PICTURE, "image/png")
        for number in (1, 2):
            self.add(f"/more/{number}", more(number), "text/plain")
        for path in ("/plain", "/from-frame", "/made/one", "/scrolled/1", "/scrolled/2", "/led"):
            self.page(path, page)
        self.page(
            "/made/two", b'<!doctype html><p>Moved</p><script>location.href = "/led"</script>'
        )
        self.add("/favicon.ico", b"", "image/x-icon")

    def page(self, path: str, html: bytes) -> None:
        self.add(path, html, "text/html; charset=utf-8")

    def add(self, path: str, body: bytes, kind: str, *headers: str) -> None:
        content = response(body, "200 OK", *headers, kind=kind)
        self.answers[path] = lambda _site, _headers: content
