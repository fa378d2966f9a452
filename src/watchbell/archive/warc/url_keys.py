"""The key by which an index finds a URL: equal for the spellings that archives take for one page.

`https://www.example.com:443/A/?b=2&a=1` is `com,example)/a?a=1&b=2`. The rules are those of other
archives' programs, so that an index of ours serves them too.
"""

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

_PARTS = re.compile(
    r"([a-z][a-z0-9+.-]*)://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^/?#:]*)(?::(\d*))?([^?#]*)(?:\?([^#]*))?",
    re.IGNORECASE,
)
_USUAL_PORTS = {"http": "80", "https": "443", "ftp": "21"}
_WWW = re.compile(r"www\d*\.")
_SLASHES = re.compile(r"/{2,}")
_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_PATH_SESSIONS = [
    re.compile(r"^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$"),
    re.compile(r"^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$"),
]
_QUERY_SESSIONS = [
    re.compile(pattern + r"(?:&(.*))?$", re.IGNORECASE)
    for pattern in (
        r"^(.*)(?:jsessionid=[0-9a-z]{32})",
        r"^(.*)(?:phpsessid=[0-9a-z]{32})",
        r"^(.*)(?:sid=[0-9a-z]{32})",
        r"^(.*)(?:aspsessionid[a-z]{8}=[a-z]{24})",
        r"^(.*)(?:cfid=[^&]+&cftoken=[^&]+)",
    )
]


def url_key(url: str) -> str:
    found = _PARTS.match(url)
    if not found:
        return url.replace(" ", "%20").lower()
    scheme, host, port, path, query = found.groups(default="")
    host = _WWW.sub("", host.lower().strip("."), count=1) if host[:3].lower() == "www" else host
    name = ",".join(reversed(host.lower().split(".")))
    if port and port != _USUAL_PORTS.get(scheme.lower()):
        name += f":{port}"
    key = f"{name}){_path_key(path)}"
    query = _query_key(query)
    return f"{key}?{query}" if query else key


def _path_key(path: str) -> str:
    path = _SLASHES.sub("/", _unescaped(path)).lower()
    for pattern in _PATH_SESSIONS:
        path = pattern.sub(r"\1\2", path)
    return path[:-1] if path.endswith("/") and len(path) > 1 else path or "/"


def _query_key(query: str) -> str:
    if not query:
        return ""
    query = _unescaped(query)
    for pattern in _QUERY_SESSIONS:
        query = pattern.sub(lambda found: found[1] + (found[2] or ""), query)
    fields = [tuple(field.split("=", 1)) for field in query.lower().split("&")]
    return "&".join("=".join(field) for field in sorted(fields))


def _unescaped(text: str) -> str:
    """With as few escapes as can be, however often it was escaped."""
    if "%" not in text and text.isascii() and " " not in text:
        return text
    plain = text.encode()
    while (again := unquote_to_bytes(plain)) != plain:
        plain = again
    return quote_from_bytes(plain, safe=_SAFE)
