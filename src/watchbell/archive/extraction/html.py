"""Links in HTML, with the style sheets and scripts inside it."""

import re
from collections.abc import Callable, Mapping
from html import unescape
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from watchbell.archive.extraction import css, script
from watchbell.archive.extraction.links import Links

_Attributes = Mapping[str, str | None]

_SKIPPED_RELATIONS = {"dns-prefetch", "preconnect", "pingback"}
_REQUISITE_RELATIONS = {
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "apple-touch-startup-image",
    "fluid-icon",
    "icon",
    "image_src",
    "manifest",
    "mask-icon",
    "modulepreload",
    "prefetch",
    "preload",
    "stylesheet",
}
_REQUISITE_META = {
    "og:audio",
    "og:image",
    "og:image:secure_url",
    "og:image:url",
    "og:video",
    "og:video:secure_url",
    "og:video:url",
    "msapplication-square150x150logo",
    "msapplication-square310x310logo",
    "msapplication-square70x70logo",
    "msapplication-tileimage",
    "msapplication-wide310x150logo",
    "thumbnail",
    "twitter:image",
    "twitter:image:src",
    "twitter:player:stream",
}
_PAGE_META = {"og:url", "og:see_also", "twitter:player", "twitter:url"}
_DRAWN = {"feimage", "image", "script", "use"}
_LAZY = re.compile(
    r"data-(?:.*-)?(?:bg|background|background-image|full|fallback|hires|icon|image|img|large-file"
    r"|lazy|lazyload|logo|medium-file|orig-file|original|poster|src|thumb|thumbnail|video)"
)
_LINKING = re.compile(r"data-(?:.*-)?(?:href|link|permalink|target-url|url)")
_ANY = re.IGNORECASE | re.DOTALL
_REFRESH = re.compile(r"\s*[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?([\"']?)(.+?)\1\s*", _ANY)
_CANDIDATE = re.compile(r"([^\s,](?:\S*[^\s,])?)(?:\s+[^,]*)?(?:,|$)")
_TAG = re.compile(r"<([a-z][a-z0-9:-]{0,20})[\s/]([^<>]{1,16000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"([^\s=/>\"']{1,100})\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))"
)
_MOST_TAGS = 200_000
"""Tags of a page without a tree. Ordinary pages have far fewer."""
_SPACE = re.compile(r"\s+")


def extract(source: str | bytes, links: Links, *, is_part: bool = False) -> None:
    """Bytes are UTF-8. Of a part, such as the entry of a feed, `base` does not count."""
    tree = LexborHTMLParser(source)
    # A search by tags is quick. The first one by selectors would take longer than the parser.
    for base in tree.tags("base"):
        if not is_part and (href := base.attributes.get("href")):
            links.rebase(href)
            break
    if tree.root is not None:
        _walk(tree.root, links)
    for template in tree.tags("template"):
        for fragment in template.template_fragments():
            _walk(fragment, links)


def extract_flat(text: str, links: Links) -> None:
    """Tag by tag, without a tree: for pages that are nested without end."""
    for found in islice(_TAG.finditer(text), _MOST_TAGS):
        attributes = {
            each[1].lower(): unescape(each[2] or each[3] or each[4] or "")
            for each in _ATTRIBUTE.finditer(found[2])
        }
        _read_attributes(found[1].lower(), attributes, links)
        if links.is_full:
            return


def _walk(root: LexborNode, links: Links) -> None:
    for node in root.traverse():
        tag = node.tag or ""
        attributes = node.attributes
        if attributes:
            _read_attributes(tag, attributes, links)
        if tag == "style":
            css.extract(node.text(), links)
        elif tag == "script":
            script.extract(node.text(), links)


def _read_attributes(tag: str, attributes: _Attributes, links: Links) -> None:
    for name, value in attributes.items():
        if not value:
            continue
        reader = _READERS.get(name)
        if reader:
            reader(tag, value, attributes, links)
        elif name[0] not in "do":
            continue
        elif name[:5] == "data-":
            _read_own_attribute(name, value, links)
        elif name[:2] == "on":
            script.extract(value, links)


def _href(tag: str, value: str, attributes: _Attributes, links: Links) -> None:
    if tag in {"a", "area"}:
        links.page(value)
    elif tag == "link":
        relations = set((attributes.get("rel") or "").lower().split())
        if relations & _REQUISITE_RELATIONS:
            links.requisite(value)
        elif not relations & _SKIPPED_RELATIONS:
            links.page(value)
    elif tag in _DRAWN:
        links.requisite(value)


def _requisite(_: str, value: str, __: _Attributes, links: Links) -> None:
    links.requisite(value)


def _page(_: str, value: str, __: _Attributes, links: Links) -> None:
    links.page(value)


def _candidates(_: str, value: str, __: _Attributes, links: Links) -> None:
    if "data:" in value:
        return  # its commas can't be told from others
    for found in _CANDIDATE.finditer(value):
        links.requisite(found[1])


def _archives(_: str, value: str, __: _Attributes, links: Links) -> None:
    for part in value.split(","):
        links.requisite(part)


def _object(tag: str, value: str, _: _Attributes, links: Links) -> None:
    if tag == "object":
        links.requisite(value)


def _style(_: str, value: str, __: _Attributes, links: Links) -> None:
    if "(" in value:
        css.extract(value, links)


def _action(tag: str, value: str, attributes: _Attributes, links: Links) -> None:
    """Only forms that are sent as a plain request for a page."""
    if tag == "form" and (attributes.get("method") or "get").strip().lower() == "get":
        links.page(value)


def _content(tag: str, value: str, attributes: _Attributes, links: Links) -> None:
    if tag != "meta":
        return
    if (attributes.get("http-equiv") or "").strip().lower() == "refresh":
        found = _REFRESH.fullmatch(value)
        if found and not found[2].strip().replace(".", "").isdigit():
            links.page(found[2])
        return
    name = (attributes.get("property") or attributes.get("name") or "").lower()
    if name in _REQUISITE_META or attributes.get("itemprop") == "image":
        links.requisite(value)
    elif name in _PAGE_META:
        links.page(value)


def _read_own_attribute(name: str, value: str, links: Links) -> None:
    """`data-…`: what scripts of the page read."""
    value = value.strip()
    if "srcset" in name:
        _candidates("", value, {}, links)
    elif value[:1] in {"{", "["}:
        script.extract(value, links)
    elif "url(" in value:
        css.extract(value, links)
    elif _SPACE.search(value):
        return
    elif _LAZY.fullmatch(name) and ("." in value or "/" in value):
        links.requisite(value)
    elif value.startswith(("http://", "https://")) or (_LINKING.fullmatch(name) and "/" in value):
        links.guess(value)


_READERS: dict[str, Callable[[str, str, _Attributes, Links], None]] = {
    "action": _action,
    "archive": _archives,
    "background": _requisite,
    "cite": _page,
    "content": _content,
    "data": _object,
    "dynsrc": _requisite,
    "href": _href,
    "imagesrcset": _candidates,
    "longdesc": _page,
    "lowsrc": _requisite,
    "manifest": _requisite,
    "poster": _requisite,
    "src": _requisite,
    "srcset": _candidates,
    "style": _style,
    "xlink:href": _href,
}
