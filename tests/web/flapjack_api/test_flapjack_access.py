"""Who may call Flapjack's API, and what happens to calls that make no sense."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.web.flapjack_api.clients import Client, entity, report, serving_api
from tests.web.site import BY
from watchbell.store.client import Store
from watchbell.web.flapjack_api.calls import ENDPOINTS

START = 1_790_000_000
CONTACT = {"contacts": [{"id": "1", "first_name": "Ada"}]}


async def test_nobody_is_answered_without_a_key(store: Store) -> None:
    async with serving_api(store) as client:
        reply = await client.get("/contacts")
    assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, 'Bearer realm="watchbell"')
    assert reply.errors == ["send an API key: in the header Authorization, or as api_key"]


async def test_a_key_may_do_what_its_scope_says(store: Store) -> None:
    async with serving_api(store, "read") as client:
        assert (await client.get("/contacts")).status == 200
        reply = await client.post("/contacts", CONTACT)
    assert reply.status == 403
    assert reply.errors == ["this needs the privilege write, which you do not have"]


async def test_a_key_may_be_in_the_query(store: Store) -> None:
    async with serving_api(store) as client:
        secret, _ = await client.backend.api_keys.make("k", ("read",), BY)
        assert (await client.get(f"/contacts?api_key={secret}")).status == 200
        assert (await client.get("/contacts?api_key=wb_123")).status == 401


async def test_programs_here_need_no_key_where_the_settings_say_so(store: Store) -> None:
    async with serving_api(store, allow_loopback=True) as client:
        assert (await client.post("/contacts", CONTACT)).status == 201


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Referer": "http://evil.example/"},
        {"Host": "evil.example:3081"},
        {"X-Forwarded-For": "203.0.113.9"},
        {"Via": "1.1 proxy"},
    ],
)
async def test_pages_in_a_browser_here_and_others_behind_a_proxy_need_a_key(
    store: Store, headers: dict[str, str]
) -> None:
    async with serving_api(store, allow_loopback=True) as client:
        reply = await client.ask("GET", "/contacts", **headers)
    assert reply.status == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "words"),
    [
        ("POST", "/contacts", b"{", {}, 400, "the body is no JSON"),
        ("POST", "/contacts", b"", {}, 400, "the body is no JSON"),
        ("POST", "/contacts", b"\xff", {}, 400, "the body is no JSON"),
        ("POST", "/contacts", [], {}, 422, "expected an array of objects under 'contacts'"),
        ("POST", "/contacts", {"contacts": []}, {}, 422, "expected an array of objects"),
        ("POST", "/contacts", {"contacts": [1]}, {}, 422, "expected an array of objects"),
        ("POST", "/contacts", {"contacts": [{"id": []}]}, {}, 422, "id: [] is not allowed"),
        ("POST", "/contacts", {"contacts": [{"id": "a:b"}]}, {}, 422, "id: 'a:b' is not allowed"),
        ("POST", "/contacts", CONTACT, {"Content_Type": "text/html"}, 405, "the media type"),
        ("PUT", "/contacts", None, {}, 405, "PUT is not allowed here; expected GET, POST"),
        ("GET", "/nothing", None, {}, 404, "there is no such path"),
        ("GET", "/checks/%ff", None, {}, 422, "'%ff' is no text in UTF-8"),
        ("GET", "/metrics?filter=x", None, {}, 422, "filter: 'x' is not known"),
        ("GET", "/outage_report/checks?start_time=today", None, {}, 422, "start_time: "),
        ("GET", "/entities?enabled=maybe", None, {}, 422, "enabled: "),
        ("PATCH", "/checks/db:disk", {}, {}, 422, "expected a JSON Patch"),
        ("PATCH", "/checks/db:disk", [{"op": "move"}], {}, 422, "an operation needs `op`"),
        (
            "PATCH",
            "/checks/db:disk",
            [{"op": "replace", "path": "/checks/0/enabled"}],
            {},
            422,
            "path: a replacement needs /checks/0/NAME and a value",
        ),
        (
            "PATCH",
            "/checks/db:disk",
            [{"op": "replace", "path": "/checks/0/state", "value": "ok"}],
            {},
            422,
            "path: 'state' of checks can't be replaced",
        ),
        (
            "POST",
            "/scheduled_maintenances/checks/db:disk",
            {"scheduled_maintenances": [{"start_time": "2040-01-01", "duration": -1}]},
            {},
            422,
            "duration: -1 is not allowed; expected a whole number",
        ),
    ],
)
async def test_calls_that_make_no_sense_are_told_what_was_expected(
    store: Store,
    method: str,
    path: str,
    body: Any,
    headers: dict[str, str],
    status: int,
    words: str,
) -> None:
    await report(store, ("db:disk", "ok", START))
    async with serving_api(store, "write") as client:
        reply = await client.ask(method, path, body, **headers)
    assert reply.status == status
    assert reply.errors[0].startswith(words), reply.errors


async def test_pages_of_other_sites_may_call_with_a_key(store: Store) -> None:
    async with serving_api(store, "read") as client:
        asked = await client.ask("OPTIONS", "/contacts", Origin="https://example.com")
        shown = await client.get("/contacts", Origin="https://example.com")
    assert (asked.status, shown.status) == (204, 200)
    assert "authorization" in asked.headers["Access-Control-Allow-Headers"]
    assert shown.headers["Access-Control-Allow-Origin"] == "*"


_PATCH = [{"op": "replace", "path": "/contacts/0/first_name", "value": "Eve"}]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/contacts", _PATCH),
        ("PATCH", "/contacts/,", _PATCH),
        ("DELETE", "/contacts", None),
        ("POST", "/contacts/,/media", {"media": [{"type": "sms", "address": "1"}]}),
    ],
)
async def test_a_path_without_ids_changes_nothing(
    store: Store, method: str, path: str, body: Any
) -> None:
    async with serving_api(store, "read", "write") as client:
        await client.post("/contacts", {"contacts": [{"id": "1", "first_name": "Alice"}]})
        before = (await client.get("/contacts")).json
        reply = await client.ask(method, path, body)
        assert (reply.status, (await client.get("/contacts")).json) == (405, before)
    assert reply.errors[0].startswith(f"{method} needs ids in the path: /contacts/ID,…")


async def test_more_than_a_server_can_do_at_once_is_refused(store: Store) -> None:
    people = ",".join(map(str, range(101)))
    async with serving_api(store, "write") as client:
        many = await client.patch(f"/contacts/{people}", *_PATCH * 100)
        new = await client.post("/contacts", {"contacts": [{"id": "x"}] * 10_001})
    assert (many.status, new.status) == (422, 422)
    assert many.errors[0].startswith("100 operations on 101 contacts are too many at once")


async def test_a_body_that_is_too_large_is_refused(store: Store) -> None:
    async with serving_api(store, "write") as client:
        reply = await client.post("/contacts", b" " * (9 << 20))
    assert reply.status == 413


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["db:disk", "1", "2040-01-01T00:00:00Z", "sms", "-"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
_NAMES = ("contacts", "media", "pagerduty_credentials", "notification_rules", "entities", "checks")
_KINDS = (*_NAMES, "scheduled_maintenances", "unscheduled_maintenances", "test_notifications")
_FIELDS = (
    *("id", "name", "type", "address", "interval", "rollup_threshold", "first_name", "timezone"),
    *("tags", "entities", "time_restrictions", "regex_tags", "critical_media", "duration"),
    *("start_time", "summary", "service_key", "password", "entity_id", "enabled", "end_time"),
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, Any]:
    endpoint = draw(st.sampled_from(ENDPOINTS))
    ids = st.sampled_from(
        ["1", "1_sms", "db:disk", "db", "x,y", "db:/var", "%20", "a%3Ab", "%00", "_", ":"]
    )
    words = [
        draw(ids) if word in ("IDS", "REST") else draw(st.sampled_from(word.split("|")))
        for word in endpoint.path
    ]
    query = draw(st.sampled_from(["", "?start_time=2040-01-01", "?end_time=x", "?enabled=1"]))
    items = st.lists(st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=6), max_size=2)
    kind = draw(st.sampled_from(_KINDS))
    body: Any = None
    if endpoint.method == "POST":
        body = draw(_JSON | st.dictionaries(st.sampled_from([kind, words[-1], words[0]]), items))
    if endpoint.method == "PATCH":
        links = st.sampled_from(["", "links/contacts/-", "links/tags/-", "links/entities/1"])
        places = st.sampled_from(_FIELDS) | links
        operation = st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "remove", "replace", 1]),
                "path": places.map(lambda place: f"/{words[0]}/0/{place}"),
                "value": _JSON,
            }
        )
        body = draw(st.lists(operation, max_size=3) | _JSON)
    return endpoint.method, f"/{'/'.join(words)}{query}", body


async def test_no_call_fails_in_a_way_that_nobody_expected(store: Store) -> None:
    await report(store, ("db:disk", "critical", START))
    await entity(store, "db", "1")
    async with serving_api(store, "write") as client:
        await client.post("/contacts", CONTACT)
        seen = set[int]()
        for call in _examples(200):
            seen.add(await _status(client, call))
    assert {200, 404, 422} <= seen
    assert not {one for one in seen if one >= 500}


def _examples(count: int) -> list[tuple[str, str, Any]]:
    """Drawn by hypothesis, then asked one after the other on a loop of our own."""
    found: list[tuple[str, str, Any]] = []

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(calls())
    def collect(call: tuple[str, str, Any]) -> None:
        found.append(call)

    collect()
    return found


async def test_keys_of_wrong_types_are_named(store: Store) -> None:
    await store.call("SET", "notification_rule:bad", "x")
    await store.call("SET", "contact_notification_rules:1", "x")
    async with serving_api(store, "write") as client:
        read = await client.get("/notification_rules/bad")
        assert (await client.post("/contacts", CONTACT)).status == 201
        rules = {"notification_rules": [{"tags": ["a"]}]}
        written = await client.post("/contacts/1/notification_rules", rules)
    assert (read.status, written.status) == (409, 409)
    [reason] = read.errors
    assert reason.startswith("the store refused this: WRONGTYPE Operation against a key")
    assert reason.endswith("HGETALL notification_rule:bad")
    await store.call("DEL", "notification_rule:bad", "contact_notification_rules:1")


async def _status(client: Client, call: tuple[str, str, Any]) -> int:
    method, path, body = call
    sent = b"null" if body is None and method in ("POST", "PATCH") else body
    reply = await client.ask(method, path, sent)
    assert reply.status < 500, (call, reply.body)
    assert reply.status == 204 or reply.json is not None
    return reply.status
