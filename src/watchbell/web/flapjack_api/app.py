"""Flapjack's JSON API, version 1: its paths, media types, status codes and errors, on a port of its
own. Who may call it is ours: API keys, or clients on this machine where the settings admit them."""

import base64
import binascii
import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from litestar.types import ASGIApp, Receive, Send
from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.actors import ROLE_PRIVILEGES, Actor, Grant, may
from watchbell.errors import Changed, NotFound, Refused, StoreUnavailable
from watchbell.web.flapjack_api import (
    checks,
    contacts,
    entities,
    maintenances,
    media,
    metrics,
    pagerduty,
    reports,
    rules,
)
from watchbell.web.flapjack_api.calls import (
    DONE,
    ENDPOINTS,
    MOST_IDS,
    Answer,
    Backend,
    Call,
    Endpoint,
    Failed,
)
from watchbell.web.request_envelope import RequestEnvelope

PARTS = (contacts, media, pagerduty, rules, entities, checks, maintenances, reports, metrics)
MEDIA_TYPE = "application/vnd.api+json"
PATCH_TYPE = "application/json-patch+json"
_TYPES = {"POST": (MEDIA_TYPE, "application/json"), "PATCH": (PATCH_TYPE, MEDIA_TYPE)}
MOST_BYTES = 8 << 20
_LOCAL = Grant(privileges=ROLE_PRIVILEGES["editor"])
_SHARED = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, x-api-key"),
    (b"access-control-expose-headers", b"location"),
]
"""Pages of any site may call, as they call Flapjack; they need a key as everybody else."""
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def application(backend: Backend) -> ASGIApp:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await _send(send, scope, await _answered(backend, scope, receive))

    return RequestEnvelope(answer)


async def _live(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def _answered(backend: Backend, scope: Any, receive: Receive) -> Answer:
    try:
        return await _called(backend, scope, receive)
    except Failed as error:
        return _errors(error.status, *error.errors)
    except NotFound as error:
        return _errors(404, str(error))
    except Changed as error:
        return _errors(409, str(error))
    except Refused as error:
        return _errors(422, str(error))
    except StoreUnavailable as error:
        return _errors(503, str(error))
    except ResponseError as error:  # such as a key of a wrong type, which another program left
        reason = ": ".join([str(error), *getattr(error, "__notes__", ())])
        logs.get(role="flapjack-api").error("the store refused", path=scope["path"], reason=reason)
        return _errors(409, f"the store refused this: {reason[:300]}")
    except Exception:  # noqa: BLE001 one call stops none of the others
        logs.get(role="flapjack-api").exception("call failed", path=scope["path"])
        return _errors(500, "this failed; the log of Watchbell says why")


async def _called(backend: Backend, scope: Any, receive: Receive) -> Answer:
    if scope["method"] == "OPTIONS":  # what a browser asks before it calls
        return DONE
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    endpoint, ids, name = _endpoint(scope)
    actor = await _caller(backend, scope, headers, query)
    permission = may(actor, endpoint.needs)
    if not permission:
        raise Failed(403, permission.reason)
    body = await _body(scope["method"], headers, receive)
    call = Call(backend=backend, actor=actor, ids=ids, name=name, query=query, body=body)
    return await endpoint.run(call)


def _endpoint(scope: Any) -> tuple[Endpoint, tuple[str, ...], str]:
    """The endpoint of a path. Ids are apart by commas; what belongs to an id is escaped."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path = raw.decode("latin-1").partition("?")[0].lstrip("/")
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    others = []
    for one in ENDPOINTS:
        found = one.match(path)
        if found is not None and one.method == method:
            ids = tuple(dict.fromkeys(_unescaped(part) for part in found[0].split(",") if part))
            if not ids and (found[0] or method in ("PATCH", "DELETE")):
                raise Failed(405, f"{method} needs ids in the path: {one.place}")
            if len(ids) > MOST_IDS:
                raise Failed(422, f"the path names {len(ids):,} ids; expected {MOST_IDS:,} at most")
            return one, ids, found[1]
        if found is not None:
            others.append(one.method)
    if others:
        raise Failed(405, f"{method[:20]} is not allowed here; expected {', '.join(others)}")
    raise Failed(404, "there is no such path")


def _unescaped(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise Failed(422, f"{part[:100]!r} is no text in UTF-8") from None


async def _caller(
    backend: Backend, scope: Any, headers: Mapping[str, str], query: Mapping[str, str]
) -> Actor:
    address = scope["client"][0] if scope.get("client") else ""
    given = _key(headers, query)
    if given:
        known = await backend.api_keys.find(given, backend.now())
        if known is None:
            raise Failed(401, "this API key is unknown, revoked or expired")
        return known.actor(address)
    if backend.settings.flapjack_api.allow_loopback and _is_local(address, headers):
        return Actor(name="flapjack-api", way="system", grants=(_LOCAL,), address=address)
    raise Failed(401, "send an API key: in the header Authorization, or as api_key")


def _key(headers: Mapping[str, str], query: Mapping[str, str]) -> str:
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return "?"
    return value.strip() or headers.get("x-api-key", "") or query.get("api_key", "")


def _is_local(address: str, headers: Mapping[str, str]) -> bool:
    """Whether a program on this machine calls: no page in a browser here, and nobody through a
    proxy or under another name of this machine."""
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
    host = headers.get("host", "").lower()
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    is_browser = any(one in headers for one in ("origin", "sec-fetch-site", "referer"))
    is_passed_on = any(one in headers for one in ("x-forwarded-for", "forwarded", "via"))
    return is_loopback and name in _LOOPBACK_NAMES and not is_browser and not is_passed_on


async def _body(method: str, headers: Mapping[str, str], receive: Receive) -> Any:
    if method not in _TYPES:
        return None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _TYPES[method]:
        raise Failed(405, f"the media type {kind[:100]!r} is wrong; expected {_TYPES[method][0]}")
    raw = bytearray()
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise Failed(400, "the body is not complete")
        raw += message.get("body", b"")
        if len(raw) > MOST_BYTES:
            raise Failed(413, f"the body is too large; expected {MOST_BYTES:,} bytes at most")
        if not message.get("more_body"):
            break
    try:
        return msgspec.json.decode(bytes(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Failed(400, f"the body is no JSON: {error}") from None


def _errors(status: int, *errors: str) -> Answer:
    return Answer({"errors": list(errors)}, status)


async def _send(send: Send, scope: Any, answer: Answer) -> None:
    body = b"" if answer.body is None else msgspec.json.encode(answer.body)
    headers = [(b"content-length", str(len(body)).encode())] if body or answer.status != 204 else []
    if body:
        headers.append((b"content-type", f"{MEDIA_TYPE}; charset=utf-8".encode()))
    if answer.location:
        headers.append((b"location", _absolute(scope, answer.location)))
    headers += _SHARED
    if answer.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="watchbell"'))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    shown = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": shown, "more_body": False})


def _absolute(scope: Any, path: str) -> bytes:
    host: bytes = dict(scope["headers"]).get(b"host", b"")
    return f"{scope['scheme']}://".encode() + host + path.encode()
