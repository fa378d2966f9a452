"""Links in style sheets: `url()`, `@import` and `image-set()`."""

import re

from watchbell.archive.extraction.links import Links

_STRING = r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'"
_LINK = re.compile(
    rf"(?:(@namespace)[^;{{}}]{{0,200}}?)?\burl\(\s{{0,99}}(?:{_STRING}|((?:[^\s\"'()\\]|\\.)*))\s{{0,99}}\)"
    rf"|@import\s{{0,99}}(?:{_STRING})",
    re.IGNORECASE | re.DOTALL,
)
_IMAGE_SET = re.compile(r"image-set\(([^;{}]{0,4000})", re.IGNORECASE)
_QUOTED = re.compile(_STRING, re.DOTALL)
_TYPE = re.compile(r"type\([^)]{0,100}\)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\r\n|[\n\r\f])|(.))", re.DOTALL)


def extract(text: str, links: Links) -> None:
    if "/*" in text:
        text = _without_comments(text)
    for found in _LINK.finditer(text):
        if links.is_full:
            return
        if not found[1]:
            _add(next((part for part in found.groups()[1:] if part), ""), links)
    for images in _IMAGE_SET.finditer(text):
        for quoted in _QUOTED.finditer(_TYPE.sub("", images[1])):
            _add(quoted[1] or quoted[2] or "", links)


def _add(text: str, links: Links) -> None:
    if text and not text[:5].lower().startswith("data:"):
        links.requisite(_ESCAPE.sub(_unescaped, text) if "\\" in text else text)


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        number = int(found[1], 16)
        is_character = 0 < number < 0x110000 and not 0xD800 <= number < 0xE000
        return chr(number) if is_character else "\ufffd"
    return found[3] or ""


def _without_comments(text: str) -> str:
    kept = []
    position = 0
    while (start := text.find("/*", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("*/", start + 2)
        if end < 0:
            break  # a comment that is not closed lasts to the end
        position = end + 2
    else:
        kept.append(text[position:])
    return " ".join(kept)
