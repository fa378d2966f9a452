"""One HTTP request of a plugin, by the standard library."""

import http.client
import ssl
import urllib.error
import urllib.request
from typing import Any, NamedTuple

MOST = 10 << 20
"""Bytes of an answer that are read."""


class Answer(NamedTuple):
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes


class Failed(Exception):
    """There is no answer."""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def sent(
    method: str,
    url: str,
    headers: dict[str, str],
    body: bytes | None,
    *,
    timeout: float,
    follows: bool = True,
    verifies: bool = True,
) -> Answer:
    """Raises Failed; an answer of any status is an answer."""
    if not url.lower().startswith(("http://", "https://")):
        raise Failed(f"{url!r} is not the URL of a web server; expected http:// or https://")
    context = ssl.create_default_context()
    if not verifies:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
    if not follows:
        handlers.append(_Stay())
    try:
        request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310 checked
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
            return _read(answer, answer.status, answer.reason)
    except urllib.error.HTTPError as error:
        with error:
            return _read(error, error.code, error.reason)
    except urllib.error.URLError as error:
        raise Failed(str(error.reason)) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Failed(str(error) or type(error).__name__) from error


def _read(answer: Any, status: int, reason: str) -> Answer:
    return Answer(status, reason, list(answer.headers.items()), answer.read(MOST))
