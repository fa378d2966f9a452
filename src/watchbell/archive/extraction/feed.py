"""Links in feeds: RSS, RDF and Atom, with the HTML in their entries."""

from watchbell.archive.extraction import html, oddities
from watchbell.archive.extraction.links import Links
from watchbell.archive.extraction.xml_events import Element, elements

_WITH_HTML = {"description", "encoded", "content", "summary", "body"}
_PAGES = {"link", "comments", "commentrss", "origlink", "docs", "guid", "uri"}


def extract(text: str, links: Links) -> None:
    for element in elements(text):
        if links.is_full:
            return
        _add(element, links)


def _add(element: Element, links: Links) -> None:
    attributes = element.attributes
    if element.name == "link" and "href" in attributes:
        is_part = attributes.get("rel") in {"enclosure", "icon", "stylesheet"}
        (links.requisite if is_part else links.page)(attributes["href"])
    elif element.name == "guid" and attributes.get("ispermalink", "true").lower() == "false":
        pass
    elif element.name in {"enclosure", "content", "thumbnail", "image"} and "url" in attributes:
        links.requisite(attributes["url"])
    elif element.name == "content" and "src" in attributes:
        links.page(attributes["src"])
    elif element.name in {"icon", "logo"} or (element.name, element.parent) == ("url", "image"):
        links.requisite(element.text)
    elif element.name in _PAGES:
        _add_absolute(element.text, links)
    elif element.name in _WITH_HTML and "<" in element.text:
        _add_html(element.text, links)


def _add_html(text: str, links: Links) -> None:
    if oddities.is_too_odd(text.encode(errors="replace")):
        html.extract_flat(text, links)
    else:
        html.extract(text, links, is_part=True)


def _add_absolute(text: str, links: Links) -> None:
    if text.lower().startswith(("http://", "https://", "ftp://", "/")):
        links.page(text)
