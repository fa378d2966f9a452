"""How requests to AWS are signed: Signature Version 4. Pure: the time is an argument."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"


class Credentials(NamedTuple):
    access_key: str
    secret_key: str
    session_token: str = ""


def signed(
    credentials: Credentials,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    region: str,
    service: str,
    now: float,
) -> dict[str, str]:
    """The headers to send besides `headers`, which are signed with them."""
    stamp = f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
    added = {"X-Amz-Date": stamp}
    if credentials.session_token:
        added["X-Amz-Security-Token"] = credentials.session_token
    every = {name.lower(): _trimmed(value) for name, value in {**headers, **added}.items()}
    every["host"] = urlsplit(url).netloc
    names = ";".join(sorted(every))
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    request = _canonical(method, url, every, names, body)
    text = "\n".join([_ALGORITHM, stamp, scope, hashlib.sha256(request).hexdigest()])
    key = signing_key(credentials.secret_key, stamp[:8], region, service)
    signature = _mac(key, text).hex()
    claim = f"Credential={credentials.access_key}/{scope}"
    added["Authorization"] = f"{_ALGORITHM} {claim}, SignedHeaders={names}, Signature={signature}"
    return added


def signing_key(secret_key: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = _mac(key, part)
    return key


def _canonical(method: str, url: str, headers: Mapping[str, str], names: str, body: bytes) -> bytes:
    """The request in the one form in which both sides write it down."""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in pairs)
    lines = [
        method,
        quote(parts.path or "/", safe="/~%"),
        "&".join(f"{name}={value}" for name, value in query),
        *(f"{name}:{headers[name]}" for name in sorted(headers)),
        "",
        names,
        hashlib.sha256(body).hexdigest(),
    ]
    return "\n".join(lines).encode()


def _trimmed(value: str) -> str:
    return " ".join(value.split())


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), hashlib.sha256)
