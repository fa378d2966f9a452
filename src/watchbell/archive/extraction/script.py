"""Links in scripts and JSON: strings that look like URLs. It rather misses one than invents one."""

import re
from html import unescape

from watchbell.archive.extraction.links import Links

_CHARACTERS = r"[^\s\"'`<>\\{}|^\[\]()*]"
_STRING = re.compile(
    rf"([\"'`])((?:https?:)?//{_CHARACTERS}{{4,2000}}|/(?![/*]){_CHARACTERS}{{1,500}})\1(?!\s{{0,9}}\+)",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:(/)|u00([0-7][0-9a-f])|x([0-7][0-9a-f]))", re.IGNORECASE)
_HOST = re.compile(r"(?:https?:)?//(?:[\w-]+\.)+[a-z][a-z0-9-]+(?::\d+)?(?:[/?#]|$)", re.IGNORECASE)
_PATH = re.compile(r"/(?:[\w~%+,@=-][\w.~%+,@=-]*/)*(?:[\w~%+,@=-]+\.([a-z][a-z0-9]{1,7}))?")
_NAMES = re.compile(
    r"https?://(?:www\.w3\.org|(?:www\.)?schema\.org|ogp\.me|purl\.org|xmlns\.com"
    r"|ns\.adobe\.com|json-schema\.org|rdfs\.org)(?:[/?#]|$)",
    re.IGNORECASE,
)
"""Names of vocabularies that nobody means to fetch."""
_FILE = re.compile(
    r"aspx?|avif|bmp|css|gif|html?|ico|jpe?g|m?js|json|jsp|m3u8|mp[34]|ogg|pdf|php|png|shtml|svg|swf"
    r"|ttf|txt|wasm|webm|webmanifest|webp|woff2?|xhtml|xml|zip",
    re.IGNORECASE,
)


def extract(text: str, links: Links) -> None:
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    for found in _STRING.finditer(text):
        if links.is_full:
            return
        link = unescape(found[2]) if "&amp;" in found[2] else found[2]
        if _is_likely(link):
            links.guess(link)


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return "/"
    character = chr(int(found[2] or found[3], 16))
    return character if character in "/&=:?#%.-_+,;@" else found[0]


def _is_likely(link: str) -> bool:
    """A URL that is complete; to one that ends in `=` or so, something is going to be added."""
    if link[-1] in "=&?:-_.,;+%#":
        return False
    if link[0] != "/" or link[1] == "/":
        return _HOST.match(link) is not None and not _NAMES.match(link)
    found = _PATH.fullmatch(link.partition("?")[0])
    if found is None or len(link) < 3:
        return False
    return _FILE.fullmatch(found[1]) is not None if found[1] else link.count("/") > 1
