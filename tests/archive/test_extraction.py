"""Links of documents, by what they are in."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.extraction.documents import extract
from watchbell.archive.extraction.links import MOST_BYTES, MOST_LINKS

_BASE = "https://example.com/a/b.html"
_SITE = "https://example.com"


def _found(text: str | bytes, kind: str = "text/html", url: str = _BASE) -> dict[str, str]:
    """Kinds by URL, with our own site left out of the URLs."""
    body = text.encode() if isinstance(text, str) else text
    return {link.url.removeprefix(_SITE): link.kind for link in extract(body, kind, url)}


@pytest.mark.parametrize(
    ("html", "url", "kind"),
    [
        ("<a href=c>", "/a/c", "page"),
        ("<A HREF=' /c '>", "/c", "page"),
        ("<a href='?x=1&amp;y=2#z'>", "/a/b.html?x=1&y=2", "page"),
        ("<area href=/c>", "/c", "page"),
        ("<a href='//other.example/c'>", "https://other.example/c", "page"),
        ("<a href='/c\\d e'>", "/c/d%20e", "page"),
        ("<img src=/c.png>", "/c.png", "requisite"),
        ("<img data-src=c.png>", "/a/c.png", "requisite"),
        ("<img data-lazy-src=c.png>", "/a/c.png", "requisite"),
        ("<div data-bg='url(/c.png)'>", "/c.png", "requisite"),
        ("<div data-href=/c/d>", "/c/d", "page"),
        ("<div data-x=https://other.example/c>", "https://other.example/c", "page"),
        ("""<div data-x='{"u":"https:\\/\\/o.example\\/c.js"}'>""", "https://o.example/c.js", None),
        ("<script src=/c.js></script>", "/c.js", "requisite"),
        ("<iframe src=/c>", "/c", "requisite"),
        ("<frameset><frame src=/c>", "/c", "requisite"),
        ("<embed src=/c.swf>", "/c.swf", "requisite"),
        ("<object data=/c.swf>", "/c.swf", "requisite"),
        ("<video src=/c.mp4>", "/c.mp4", "requisite"),
        ("<video poster=/c.jpg>", "/c.jpg", "requisite"),
        ("<video><source src=/c.webm><track src=/c.vtt>", "/c.vtt", "requisite"),
        ("<input type=image src=/c.png>", "/c.png", "requisite"),
        ("<body background=/c.gif>", "/c.gif", "requisite"),
        ("<link rel=stylesheet href=/c.css>", "/c.css", "requisite"),
        ("<link rel='Alternate StyleSheet' href=/c.css>", "/c.css", "requisite"),
        ("<link rel='shortcut icon' href=/c.ico>", "/c.ico", "requisite"),
        ("<link rel=preload as=font href=/c.woff>", "/c.woff", "requisite"),
        ("<link rel=preload as=image imagesrcset='/c.png 2x'>", "/c.png", "requisite"),
        ("<link rel=alternate href=/feed>", "/feed", "page"),
        ("<link rel=canonical href=/c>", "/c", "page"),
        ("<link rel=next href=/c>", "/c", "page"),
        ("<link rel=prev href=/c>", "/c", "page"),
        ("<form action=/c>", "/c", "page"),
        ("<form action=/c method=GET>", "/c", "page"),
        ("<meta http-equiv=refresh content='5; url=/c'>", "/c", "page"),
        ("<meta http-equiv=Refresh content='0;URL=\"/c\"'>", "/c", "page"),
        ("<meta property=og:image content=/c.png>", "/c.png", "requisite"),
        ("<meta name=twitter:image content=/c.png>", "/c.png", "requisite"),
        ("<p style='background: url(/c.png)'>", "/c.png", "requisite"),
        ("<style>@import '/c.css';</style>", "/c.css", "requisite"),
        ("<script>go('/c/d.html')</script>", "/c/d.html", "page"),
        ("<b onclick=\"location='/c/d.html'\">", "/c/d.html", "page"),
        (
            '<script type="application/ld+json">{"logo":"https://o.example/c.png"}</script>',
            "https://o.example/c.png",
            "requisite",
        ),
        ("<noscript><img src=/c.png></noscript>", "/c.png", "requisite"),
        ("<template><a href=/c></a></template>", "/c", "page"),
        ("<svg><image xlink:href=/c.png></svg>", "/c.png", "requisite"),
        ("<svg><use href='/c.svg#d'></svg>", "/c.svg", "requisite"),
        ("<blockquote cite=/c>", "/c", "page"),
        ("<a href=/ü?ü>", "/%C3%BC?%C3%BC", "page"),
        ("<base href=/d/><a href=c>", "/d/c", "page"),
        ("<a href=c><base href=//other.example/d/>", "https://other.example/d/c", "page"),
    ],
)
def test_html_links_to(html: str, url: str, kind: str | None) -> None:
    found = _found(html)
    assert url in found
    assert kind in {found[url], None}


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<a href='#top'>",
        "<a href=''>",
        "<a href>",
        "<a href='javascript:go()'>",
        "<a href='mailto:alice@example.com'>",
        "<a href='http://exa mple.com/'>",
        "<img src='data:image/png;base64,AAAA'>",
        "<img srcset='data:image/png;base64,AAAA 2x'>",
        "<form action=/c method=post>",
        "<link rel=dns-prefetch href=//o.example>",
        "<link rel=preconnect href=//o.example>",
        "<meta http-equiv=refresh content=30>",
        "<!-- <a href=/c> -->",
        "<textarea><a href=/c></textarea>",
        "<div data-x=true data-count=5 data-name='a/b c'>",
        "<p style='color: red'>",
        "<script>x = '/' + y; r = '/*'; s = '//'; t = '</div>'; u = '/page?id=' + z</script>",
        "<script>if (a / b / c) { d = /x\\/y/ }</script>",
    ],
)
def test_html_without_links(html: str) -> None:
    assert _found(html) == {}


def test_candidates_of_a_srcset() -> None:
    html = "<img srcset='/a.png 1x,/b.png 2x , /c,d.png,  e.png 10w'>"
    assert list(_found(html)) == ["/a.png", "/b.png", "/c,d.png", "/a/e.png"]


def test_a_url_is_listed_once_for_each_kind_and_in_order() -> None:
    links = extract(b"<a href=/c><img src=/d><a href=/c><img src=/c>", "text/html", _BASE)
    assert links == [
        (f"{_SITE}/c", "page"),
        (f"{_SITE}/d", "requisite"),
        (f"{_SITE}/c", "requisite"),
    ]


@pytest.mark.parametrize(
    ("css", "urls"),
    [
        ("a { b: url(/c.png) }", ["/c.png"]),
        ("a { b: URL( '/c d.png' ) }", ["/c%20d.png"]),
        ('a { b: url("c.png"), url(d.png) }', ["/a/c.png", "/a/d.png"]),
        ("@import 'c.css'; @import url(d.css) screen;", ["/a/c.css", "/a/d.css"]),
        ('@import"c.css";', ["/a/c.css"]),
        (r"a { b: url(/c\29\ d.png) }", ["/c)%20d.png"]),
        (r"a { b: url('/\63 .png') }", ["/c.png"]),
        (r"a { b: url(/\110000.png) }", ["/%EF%BF%BD.png"]),
        ("/* url(/no.png) */ a { b: url(/c.png) }", ["/c.png"]),
        ("a { b: url(/c.png) } /* url(/no.png)", ["/c.png"]),
        ("a { b: url(data:image/png;base64,AAAA) }", []),
        ("a { b: url() }", []),
        ("@namespace svg url(http://www.w3.org/2000/svg);", []),
        ("a { b: image-set('/c.png' 1x, '/d.png' type('image/png') 2x) }", ["/c.png", "/d.png"]),
        ("@font-face { src: url(/c.woff) format('woff') }", ["/c.woff"]),
    ],
)
def test_style_sheets_link_to(css: str, urls: list[str]) -> None:
    found = _found(css, "text/css")
    assert list(found) == urls
    assert set(found.values()) <= {"requisite"}


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("x = 'https://other.example/c'", {"https://other.example/c": "page"}),
        ('x = "//cdn.example/c.js"', {"https://cdn.example/c.js": "requisite"}),
        (r'{"u": "https:\/\/o.example\/c?a=1\u0026b=2"}', {"https://o.example/c?a=1&b=2": "page"}),
        ("x = `/c/d.png`", {"/c/d.png": "requisite"}),
        ("x = '/c/d/'", {"/c/d/": "page"}),
        ("x = '/c.html?d=1'", {"/c.html?d=1": "page"}),
        ("x = '/c'", {}),
        ("x = '/'", {}),
        ("x = 'c/d.png'", {}),
        ("x = '/c/' + y + '.png'", {}),
        ("x = 'https://o.example/?q=' + y", {}),
        ("x = 'https://' + host", {}),
        ("x = '//'", {}),
        ("x = '/[a-z]+/g'", {}),
        ("x = '/c.unknownthing'", {}),
        ("x = 'http://www.w3.org/2000/svg'", {}),
        ('{"@context": "https://schema.org"}', {}),
    ],
)
def test_scripts_link_to(script: str, found: dict[str, str]) -> None:
    assert _found(script, "text/javascript") == found
    assert _found(script, "application/json") == found


def test_sitemaps_link_to_pages_and_their_images() -> None:
    xml = """<?xml version="1.0" encoding="UTF-8"?>
    <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://g/i">
    <url><loc> https://example.com/c?x=1&amp;y=2 </loc><lastmod>2026-01-01</lastmod>
    <image:image><image:loc>https://example.com/c.png</image:loc></image:image></url>
    <url><loc><![CDATA[https://example.com/d?x=1&y=2]]></loc></url>
    <url><loc>https://example.com/e?x=1&y=2</loc></url></urlset>"""
    assert _found(xml, "application/xml") == {
        "/c?x=1&y=2": "page",
        "/c.png": "requisite",
        "/d?x=1&y=2": "page",
        "/e?x=1&y=2": "page",
    }
    index = "<sitemapindex><sitemap><loc>https://example.com/s1.xml</loc></sitemap></sitemapindex>"
    assert _found(index, "text/xml; charset=utf-8") == {"/s1.xml": "page"}
    packed = gzip.compress(index.encode())
    assert _found(packed, "application/gzip", f"{_SITE}/s.xml.gz") == {"/s1.xml": "page"}
    assert _found(packed[:20], "application/gzip", f"{_SITE}/s.xml.gz") == {}
    assert _found(b"\x1f\x8bnonsense", "application/gzip", f"{_SITE}/s.xml.gz") == {}


def test_a_broken_sitemap_gives_what_comes_before_the_fault() -> None:
    xml = "<urlset><url><loc>https://example.com/c</loc></url><url><loc>https://example.com/d</urlset>"
    assert _found(xml, "text/xml") == {"/c": "page"}


def test_entities_of_a_document_are_not_expanded() -> None:
    xml = """<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
    <!ENTITY x SYSTEM "file:///etc/passwd">]>
    <urlset><url><loc>https://example.com/&b;&x;</loc></url></urlset>"""
    assert _found(xml, "text/xml") == {}


def test_robots_and_plain_sitemaps() -> None:
    robots = (
        "User-agent: *\nDisallow: /x\nSitemap: /s.xml\n sitemap : https://o.example/t.xml # x\n"
    )
    assert list(_found(robots, "text/plain", f"{_SITE}/robots.txt")) == [
        "/s.xml",
        "https://o.example/t.xml",
    ]
    lines = "https://example.com/c\n\nnonsense\nhttps://example.com/d\n"
    assert list(_found(lines, "text/plain", f"{_SITE}/sitemap.txt")) == ["/c", "/d"]
    assert _found(lines, "text/plain", f"{_SITE}/notes.txt") == {}


def test_feeds_link_to_entries_and_enclosures() -> None:
    rss = """<rss xmlns:media="http://m/" xmlns:content="http://c/"><channel><link>/</link>
    <image><url>/logo.png</url></image>
    <item><link>https://example.com/c</link><guid isPermaLink="false">/no</guid>
    <enclosure url="/c.mp3"/><media:thumbnail url="/t.jpg"/>
    <description>&lt;a href="/d"&gt;x&lt;/a&gt;&nbsp;</description>
    <content:encoded><![CDATA[<img src=/e.png>]]></content:encoded></item></channel></rss>"""
    assert _found(rss, "application/rss+xml") == {
        "/": "page",
        "/logo.png": "requisite",
        "/c": "page",
        "/c.mp3": "requisite",
        "/t.jpg": "requisite",
        "/d": "page",
        "/e.png": "requisite",
    }
    atom = """<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="/feed"/><entry>
    <link href="/c"/><link rel="enclosure" href="/c.mp3"/><id>tag:x</id>
    <content type="html">&lt;img src="/d.png"&gt;</content></entry></feed>"""
    assert _found(atom, "application/atom+xml") == {
        "/feed": "page",
        "/c": "page",
        "/c.mp3": "requisite",
        "/d.png": "requisite",
    }


@pytest.mark.parametrize(
    ("body", "kind", "path"),
    [
        ("<a href=/é>".encode(), "text/html", "/%C3%A9"),
        ("<a href=/é>".encode("latin-1"), "text/html", "/%C3%A9"),
        ("<a href=/é>".encode("latin-1"), "text/html; charset=ISO-8859-1", "/%C3%A9"),
        ("<a href=/é?é>".encode("latin-1"), "text/html; charset=ISO-8859-1", "/%C3%A9?%E9"),
        ("<a href=/é>".encode("utf-16"), "text/html", "/%C3%A9"),
        ("\ufeff<a href=/é>".encode(), "text/html; charset=latin-1", "/%C3%A9"),
        ("<meta charset=cp1251><a href=/ж?ж>".encode("cp1251"), "text/html", "/%D0%B6?%E6"),
        ("<a href=/é>".encode(), "text/html; charset=nonsense", "/%C3%A9"),
        ("<meta charset=rot13><a href=/é>".encode(), "text/html", "/%C3%A9"),
        (b"<meta charset=utf-8><a href='/\xff'>", "text/html", "/%EF%BF%BD"),
    ],
)
def test_the_charset_is_that_of_mark_header_and_document(body: bytes, kind: str, path: str) -> None:
    assert list(_found(body, kind)) == [path]


@pytest.mark.parametrize(
    ("kind", "body", "count"),
    [
        ("", "<html><a href=/c>", 1),
        ("", "<!DOCTYPE html><p><a href=/c>", 1),
        ("", "plain <a href=/c>", 0),
        ("image/png", "<html><a href=/c>", 0),
        ("application/xhtml+xml", "<html><a href='/c'/></html>", 1),
        ("image/svg+xml", "<svg><image href='/c.png'/></svg>", 1),
        ("application/xml", "<other><a href='/c'/></other>", 1),
        ("application/ld+json", '{"a":"https://o.example/c"}', 1),
        ("application/manifest+json", '{"a":"/icons/c.png"}', 1),
        ("application/x-javascript", "'/icons/c.png'", 1),
    ],
)
def test_the_content_type_says_how_to_read(kind: str, body: str, count: int) -> None:
    assert len(_found(body, kind)) == count


def test_a_document_gives_so_many_links_and_no_more() -> None:
    many = b"".join(b"<a href=/%d>x</a>" % number for number in range(MOST_LINKS + 10))
    assert len(extract(many, "text/html", _BASE)) == MOST_LINKS
    late = b" " * MOST_BYTES + b"<a href=/c>"
    assert extract(late, "text/html", _BASE) == []


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        (b"<div>", "text/html"),
        (b"<a><b>", "text/html"),
        (b"<div></x>", "text/html"),
        (b"<svg>", "text/html"),
        (b"<template>", "text/html"),
        (b"<p title='", "text/html"),
        (b"/*", "text/css"),
        (b'url("', "text/css"),
        (b"url( ", "text/css"),
        (b"'/a", "text/javascript"),
        (b"<loc>", "text/xml"),
        (b"&", "text/xml"),
        (b" ", "text/xml"),
        (b"<![CDATA[", "text/xml"),
        (b"&lt;div&gt;", "application/rss+xml"),
    ],
)
def test_hostile_repetitions_end_soon(unit: bytes, kind: str) -> None:
    """With a tree, a page nested like this would take hours."""
    assert extract(unit * 200_000, kind, _BASE) == []


@pytest.mark.parametrize(
    "value", [",", " ,", ", ", "a,", "\t"], ids=["commas", "spaces", "both", "names", "tabs"]
)
def test_hostile_candidates_end_soon(value: str) -> None:
    """One expression on them stops every thread, so its time must grow with their number only."""
    assert len(_found(f'<img srcset="{value * 500_000}"><a href=/c>'.encode())) <= 2


def test_hostile_entries_of_feeds_end_soon() -> None:
    deep = (
        "<rss><description>" + "&lt;div&gt;" * 200_000 + "&lt;a href='/c'&gt;</description></rss>"
    )
    assert _found(deep, "application/rss+xml") == {"/c": "page"}


def test_pages_without_a_tree_still_have_links() -> None:
    deep = b"<div>" * 20_000 + b"<a href='/c?x=1&amp;y=2'><img src=/d.png>"
    assert _found(deep) == {"/c?x=1&y=2": "page", "/d.png": "requisite"}
    wide = b"<b " + b" ".join(b"x%d" % number for number in range(3_000)) + b"><a href=/c>"
    assert _found(wide) == {"/c": "page"}


@given(st.binary(), st.sampled_from(["text/html", "text/css", "text/xml", "text/javascript", ""]))
def test_no_bytes_fail(body: bytes, kind: str) -> None:
    extract(body, kind, _BASE)


@given(st.text("<>a='\"/ hrefscimg?&#;!-ü\0"), st.sampled_from(["text/html", "text/css"]))
def test_no_text_fails(text: str, kind: str) -> None:
    for link in extract(text.encode(), kind, _BASE):
        assert link.url.isascii()
