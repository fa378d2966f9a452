"""Makes the links of an archived page lead to archived pages."""

import re
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from watchbell.archive.urls import FETCHED, normalised, scheme_of

_ATTRIBUTES = (
    "href",
    "src",
    "action",
    "formaction",
    "poster",
    "background",
    "data",
    "data-src",
    "xlink:href",
)
_SETS = ("srcset", "imagesrcset", "data-srcset")
_WITH_LINKS = ", ".join(f"[{name.replace(':', chr(92) + ':')}]" for name in (*_ATTRIBUTES, *_SETS))
_CSS_LINK = re.compile(
    r"""(?P<before>url\(\s*(?P<quote>["']?)|@import\s+(?P<mark>["']))"""
    r"""(?P<url>[^"'()\n\\]*)""",
    re.IGNORECASE,
)
_CANDIDATE = re.compile(r"(\s*)([^\s,]\S*[^\s,]|[^\s,])((?:\s+[^,]*)?(?:,|$))")
_REFRESH = re.compile(r"(\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?[\"']?)([^\"']+)", re.IGNORECASE)


class Rewriter:
    """`place` gives the address of an archived URL."""

    def __init__(self, base: str, place: Callable[[str], str]) -> None:
        self._base, self._place = base, place

    def html(self, text: str) -> str:
        tree = LexborHTMLParser(text)
        self._take_base(tree)
        # A node that several selectors match is found several times.
        nodes = {node.mem_id: node for node in tree.css(_WITH_LINKS)}
        for node in nodes.values():
            self._rewrite_node(node)
        for node in tree.css("[style]"):
            node.attrs["style"] = self.css(node.attributes.get("style") or "")
        for node in tree.css("style"):
            node.inner_html = self.css(node.text())
        for node in tree.css("meta[http-equiv]"):
            self._rewrite_meta(node)
        return tree.html or ""

    def css(self, text: str) -> str:
        return _CSS_LINK.sub(lambda found: found["before"] + self.link(found["url"]), text)

    def link(self, text: str) -> str:
        """Unchanged if it leads nowhere by HTTP or FTP, or only within its page."""
        reference, mark, fragment = text.strip().partition("#")
        if not reference:
            return text
        url = normalised(reference, self._base)
        if not url or scheme_of(url) not in FETCHED:
            return text
        return self._place(url) + mark + fragment

    def _take_base(self, tree: LexborHTMLParser) -> None:
        for node in tree.css("base"):
            href = node.attributes.get("href")
            if href:
                self._base = normalised(href, self._base) or self._base
            node.decompose()

    def _rewrite_node(self, node: LexborNode) -> None:
        values = node.attributes
        for name in _ATTRIBUTES:
            value = values.get(name)
            if value:
                node.attrs[name] = self.link(value)
        for name in _SETS:
            value = values.get(name)
            if value:
                node.attrs[name] = _CANDIDATE.sub(
                    lambda found: found[1] + self.link(found[2]) + found[3], value
                )
        for name in ("integrity", "crossorigin"):  # of other bytes, and for another server
            if name in values:
                del node.attrs[name]

    def _rewrite_meta(self, node: LexborNode) -> None:
        kind = (node.attributes.get("http-equiv") or "").lower()
        if kind == "content-security-policy":
            node.decompose()
        elif kind == "refresh":
            content = node.attributes.get("content") or ""
            node.attrs["content"] = _REFRESH.sub(
                lambda found: found[1] + self.link(found[2]), content
            )
