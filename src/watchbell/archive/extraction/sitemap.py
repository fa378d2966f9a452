"""Links in sitemaps, indexes of sitemaps, and robots.txt."""

import re

from watchbell.archive.extraction.links import Links
from watchbell.archive.extraction.xml_events import elements

_SITEMAP_LINE = re.compile(r"^[ \t]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)


def extract(text: str, links: Links) -> None:
    """Sitemaps in an index are pages: their links are followed."""
    for element in elements(text):
        if links.is_full:
            return
        if element.name == "loc":
            is_media = element.parent in {"image", "video"}
            (links.requisite if is_media else links.page)(element.text)
        elif element.name in {"content_loc", "thumbnail_loc"}:
            links.requisite(element.text)
        elif element.name == "link" and "href" in element.attributes:
            links.page(element.attributes["href"])


def extract_lines(text: str, links: Links) -> None:
    """A sitemap as plain text, one URL a line."""
    for line in text.splitlines():
        if links.is_full:
            return
        if line.strip().lower().startswith(("http://", "https://")):
            links.page(line)


def extract_robots(text: str, links: Links) -> None:
    for found in _SITEMAP_LINE.finditer(text):
        links.page(found[1])
