"""Our ignore sets leave out what they are for, and nothing else."""

import pytest

from watchbell.archive import ignores
from watchbell.archive.ignore_sets import built_in

_NAMES = sorted(built_in())
_E = "https://example.com"
_SID = "0123456789abcdef0123456789abcdef"
_SHA = "0123456789abcdef0123456789abcdef01234567"

_LEFT_OUT = {
    "global": [
        f"{_E}/a/javascript:void(0)",
        f"{_E}/a/mailto:alice@example.com",
        f"{_E}/a/%22https://example.com/%22",
        f"{_E}/a/%7B%7Burl%7D%7D",
        f"{_E}/a/undefined",
        f"{_E}/a/[object%20Object]",
        f"{_E}/?action=login",
        f"{_E}/index.php?a=1&do=logout&b=2",
        f"{_E}/user/logout",
        f"{_E}/logout.php?x=1",
        f"{_E}/login?next=/a",
        f"{_E}/x?redirect_to=https%3A%2F%2Fexample.com%2F%3Fredirect_to%3Dx",
        f"{_E}/item/5?action=delete",
        f"{_E}/shop/a?add-to-cart=5",
        f"{_E}/post/?replytocom=77",
        "https://www.facebook.com/sharer/sharer.php?u=x",
        "https://www.facebook.com/plugins/like.php?href=x",
        "https://twitter.com/intent/tweet?text=x",
        "https://x.com/share?url=x",
        "https://www.linkedin.com/shareArticle?url=x",
        "https://www.reddit.com/submit?url=x",
        "https://pinterest.com/pin/create/button/?url=x",
        "https://api.whatsapp.com/send?text=x",
        "https://t.me/share/url?url=x",
        "https://vk.com/share.php?url=x",
        "https://mail.google.com/mail/?view=cm&su=x",
        "https://calendar.example.com/?share=facebook&nb=1",
        "https://accounts.google.com/ServiceLogin",
        "https://www.google-analytics.com/collect?v=1",
        "https://ad.doubleclick.net/x",
        "https://pixel.wp.com/g.gif?v=ext",
        "https://www.facebook.com/tr?id=1&ev=PageView",
        f"{_E}/calendar?year=2199&month=1",
        f"{_E}/calendar?year=1602",
        f"{_E}/events?date=2088-01",
        f"{_E}/calendar/2099/12/",
        f"{_E}/kalender/monat/1701-05",
        f"{_E}/s?f[0]=a&f[1]=b&f[2]=c&f[3]=d",
        f"{_E}/s?sort=a&order=b&dir=c",
        f"{_E}/a?b?c?d?e",
        f"{_E}/a%252525b",
        f"{_E}/?a=1&amp;amp;b=2",
        f"{_E}/socket.io/?EIO=4",
        f"{_E}/xmlrpc.php?rsd",
        f"{_E}/cdn-cgi/l/email-protection",
        "http://radio.example:8000/;stream.mp3",
        "https://web.archive.org/web/2020/https://example.com/",
        "https://example-com.translate.goog/",
    ],
    "private_addresses": [
        "http://localhost/",
        "http://localhost:8080/a",
        "http://127.0.0.1/",
        "http://10.1.2.3/",
        "http://192.168.0.1:81/x",
        "http://172.16.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[fe80::1]/",
        "http://[fd00::1]:8080/",
        "ftp://printer.local/",
        "http://wiki.intranet/",
    ],
    "blogs": [
        f"{_E}/2026/01/post.html?m=1",
        f"{_E}/2026/01/post.html?showComment=123",
        f"{_E}/search?updated-max=2026-01-01&max-results=7",
        f"{_E}/feeds/1234567/comments/default",
        f"{_E}/post/comment-page-2/",
        f"{_E}/post/?cpage=3",
        f"{_E}/post/trackback/",
        f"{_E}/tag/news/feed/",
        f"{_E}/post/?utm_source=feed",
        f"{_E}/post/?print=1",
        "https://www.blogger.com/comment.g?blogID=1",
    ],
    "forums": [
        f"{_E}/posting.php?mode=reply&t=1",
        f"{_E}/ucp.php?mode=register",
        f"{_E}/viewtopic.php?p=12345",
        f"{_E}/viewtopic.php?t=1&view=print",
        f"{_E}/newreply.php?do=newreply&p=1",
        f"{_E}/showthread.php?t=1&goto=newpost",
        f"{_E}/member.php?do=getinfo&u=1",
        f"{_E}/printthread.php?t=1",
        f"{_E}/index.php?action=printpage;topic=1.0",
        f"{_E}/index.php?topic=12.msg34",
        f"{_E}/index.php?topic=12.0;prev_next=next",
        f"{_E}/threads/hello.12/reply?quote=5",
        f"{_E}/posts/55/react?reaction_id=1",
        f"{_E}/u/alice/activity",
    ],
    "mediawiki": [
        f"{_E}/index.php?title=Rome&action=edit",
        f"{_E}/index.php?title=Rome&oldid=55",
        f"{_E}/index.php?title=Rome&diff=prev&oldid=5",
        f"{_E}/wiki/Special:WhatLinksHere/Rome",
        f"{_E}/wiki/Spezial:RecentChanges",
        f"{_E}/index.php?title=Special:UserLogin&returnto=Rome",
        f"{_E}/wiki/Rome?printable=yes",
        f"{_E}/wiki/Rome?veaction=edit",
        f"{_E}/index.php?title=Rome&action=history&offset=5",
    ],
    "wordpress": [
        f"{_E}/wp-login.php?redirect_to=x",
        f"{_E}/wp-admin/post.php?post=1",
        f"{_E}/wp-json/wp/v2/users/1",
        f"{_E}/2026/01/post/?replytocom=5",
        f"{_E}/2026/01/post/?share=twitter",
        f"{_E}/2026/01/post/comment-page-1/",
        f"{_E}/2026/01/post/embed/",
        f"{_E}/shop/?orderby=price",
        f"{_E}/category/news/feed/",
        f"{_E}/event/x/?ical=1",
        f"{_E}/a/page/2/page/3/",
    ],
    "drupal": [
        f"{_E}/user/login?destination=node/1",
        f"{_E}/comment/reply/5",
        f"{_E}/node/5/edit",
        f"{_E}/node/add/page",
        f"{_E}/admin/content",
        f"{_E}/?q=user/login",
        f"{_E}/news?sort_by=title",
        f"{_E}/search?f[0]=a&f[1]=b",
        f"{_E}/print/55",
        f"{_E}/views/ajax?view_name=x",
    ],
    "shops": [
        f"{_E}/cart",
        f"{_E}/checkout/onepage/",
        f"{_E}/warenkorb?x=1",
        f"{_E}/shirts.html?dir=asc&order=price",
        f"{_E}/shirts?color=red&size=xl",
        f"{_E}/shirts?sort_by=price",
        f"{_E}/catalog/product_compare/add/product/5/",
        f"{_E}/collections/all/red+large",
        f"{_E}/index.php?route=checkout/cart",
        f"{_E}/index.php?controller=authentication",
    ],
    "calendars": [
        f"{_E}/?month=5&year=2026",
        f"{_E}/calendar/2026/05/",
        f"{_E}/events/2026-05-01/",
        f"{_E}/events/month/2026",
        f"{_E}/meeting.ics",
        f"{_E}/calendar/action~month/exact_date~1/",
    ],
    "git_forges": [
        f"{_E}/alice/tool/blame/main/a.py",
        f"{_E}/alice/tool/compare/a...b",
        f"{_E}/alice/tool/archive/main.zip",
        f"https://github.com/alice/tool/blob/{_SHA}/a.py",
        f"{_E}/alice/tool/-/commit/{_SHA}",
        f"{_E}/alice/tool/src/commit/{_SHA}/a.py",
        f"{_E}/?p=tool.git;a=snapshot;h={_SHA}",
        f"{_E}/alice/tool/issues?q=is:open&sort=updated&labels=bug",
    ],
    "video": [
        f"{_E}/a.mp4",
        f"{_E}/a.MP3?x=1".lower(),
        f"{_E}/live/index.m3u8",
        "https://www.youtube.com/watch?v=x",
        "https://youtu.be/x",
        "https://player.vimeo.com/video/1",
    ],
    "only_images": [
        f"{_E}/a.js",
        f"{_E}/a.css?v=1",
        f"{_E}/a.woff2",
        f"{_E}/a.pdf",
        f"{_E}/a.tar.gz",
        f"{_E}/a.webm",
    ],
    "single_pages": [
        f"{_E}/news/page/12/",
        f"{_E}/news?page=2",
        f"{_E}/search?q=rome",
        f"{_E}/tag/rome/",
        f"{_E}/2026/05/",
    ],
}

_PLAIN = [
    f"{_E}/",
    f"{_E}/about.html",
    f"{_E}/news/2026/11/16/archives-of-the-web",
    f"{_E}/images/logo.png?v=3",
    f"{_E}/wiki/Rome",
    f"{_E}/%C3%BCber-uns/",
    "http://example.com:8080/docs/reference/index.html",
    "ftp://example.com/pub/README",
]
_FETCHED = {
    "global": [
        f"{_E}/index.php?id=5&lang=en",
        f"{_E}/blog/how-to-log-in",
        f"{_E}/login",
        f"{_E}/share/",
        f"{_E}/calendar/2026/11/",
        f"{_E}/calendar?year=1998",
        f"{_E}/history/1602-founding",
        f"{_E}/archive/2019-05/",
        f"{_E}/search?q=rome&sort=date",
        f"{_E}/products?filter=red&filter=blue",
        f"{_E}/nullable/undefined-behaviour.html",
        f"{_E}/a%2520b",
        f"{_E}/?a=1&amp;b=2",
        f"{_E}/viewtopic.php?t=5&sid={_SID}",
        f"{_E}/?PHPSESSID={_SID}",
        f"{_E}/(S(lit3py55t21z5v55vlm25s55))/a.aspx",
        "https://www.facebook.com/example",
        "https://twitter.com/example/status/1",
        "https://www.reddit.com/r/example/",
        "https://archive.org/details/example",
        "http://127.0.0.1:8000/a",
        "http://localhost/",
    ],
    "private_addresses": ["http://172.32.0.1/", "http://11.0.0.1/", "http://localhost.example/"],
    "blogs": [f"{_E}/?m=202601", f"{_E}/feeds/posts/default", f"{_E}/search/label/news"],
    "forums": [
        f"{_E}/viewtopic.php?t=5&start=20",
        f"{_E}/viewforum.php?f=2",
        f"{_E}/showthread.php?t=5&page=2",
        f"{_E}/index.php?topic=12.0",
        f"{_E}/index.php?topic=12.20",
        f"{_E}/threads/hello.12/page-2",
        f"{_E}/t/hello/12",
        f"{_E}/viewtopic.php?t=5&sid={_SID}",
    ],
    "mediawiki": [
        f"{_E}/wiki/Rome",
        f"{_E}/index.php?title=Rome",
        f"{_E}/index.php?title=Rome&action=history",
        f"{_E}/wiki/Special:AllPages",
        f"{_E}/wiki/Talk:Rome",
    ],
    "wordpress": [
        f"{_E}/2026/01/post/",
        f"{_E}/wp-content/uploads/2026/01/a.jpg",
        f"{_E}/wp-includes/js/jquery.js",
        f"{_E}/category/news/page/2/",
        f"{_E}/feed/",
        f"{_E}/wp-admin/admin-ajax.php?action=x",
    ],
    "drupal": [f"{_E}/node/5", f"{_E}/news?page=2", f"{_E}/sites/default/files/a.pdf"],
    "shops": [f"{_E}/shirts/red-shirt.html", f"{_E}/shirts?p=2", f"{_E}/carton-boxes/"],
    "calendars": [f"{_E}/events/summer-party/", f"{_E}/2026/05/post/"],
    "git_forges": [
        "https://github.com/alice/tool",
        "https://github.com/alice/tool/blob/main/a.py",
        f"{_E}/alice/tool/issues/5",
        f"{_E}/alice/tool/-/blob/main/a.py",
    ],
    "video": [f"{_E}/mp4/", f"{_E}/a.jpg", f"{_E}/video.html"],
    "only_images": [f"{_E}/a.jpg", f"{_E}/a.svg", f"{_E}/js/", f"{_E}/gallery?page=2"],
    "single_pages": [f"{_E}/2026/05/post/", f"{_E}/about?lang=en"],
}


def test_each_set_has_examples() -> None:
    assert set(_NAMES) == set(_LEFT_OUT) == set(_FETCHED)


@pytest.mark.parametrize("name", _NAMES)
def test_re2_compiles_each_pattern_of_a_set(name: str) -> None:
    patterns = built_in()[name]
    for pattern in patterns:
        ignores.check(pattern)
    found = ignores.compile(patterns)
    assert not found.switched_off
    assert not found._limited
    assert len(set(patterns)) == len(patterns)


@pytest.mark.parametrize(
    ("name", "url"), [(n, url) for n, urls in _LEFT_OUT.items() for url in urls]
)
def test_a_set_leaves_out(name: str, url: str) -> None:
    assert ignores.compile(built_in()[name]).match(url) is not None


@pytest.mark.parametrize("name", _NAMES)
def test_a_set_leaves_nothing_else_out(name: str) -> None:
    found = ignores.compile(built_in()[name])
    kept = _FETCHED[name] + (_PLAIN if name != "only_images" else _PLAIN[:2])
    assert {url: found.match(url) for url in kept} == dict.fromkeys(kept)
