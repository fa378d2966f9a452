"""Words that would be markup or script: put into every text there is, and read on every page."""

import shlex
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp import ClientSession, CookieJar
from playwright.async_api import Page, expect

from tests.browser.house import House
from tests.browser.visits import Visits
from tests.waiting import eventually
from tests.web.people.test_security import AWAY
from tests.web.site import BY, Site, Visitor
from watchbell.alerting.keys import Alerting
from watchbell.store import processes
from watchbell.store.processes import Process, RoleReport
from watchbell.web.keys import Web
from watchbell.web.pages.paths import local
from watchbell.web.pages.shell import MODULES
from watchbell.web.people import sign_in_links

WORDS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<math><mtext></p><img src onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    '" autofocus onfocus=alert(1) x="',
    "`-alert(1)-`",
    "${alert(1)}",
    "{{constructor.constructor('alert(1)')()}}",
    "{% for x in range(9**9) %}{% endfor %}",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)//",
    "data:text/html,<script>alert(1)</script>",
    "<a href=javascript:alert(1)>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=data:text/html,x>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//evil.example.com/x>",
    "<meta http-equiv=refresh content=0;url=//evil.example.com>",
    "<base href=//evil.example.com/>",
    "<form action=//evil.example.com><input name=csrf>",
    "<!--<img src=--><img src=x onerror=alert(1)//>",
    "<details open ontoggle=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202e<script>\u2066alert(1)</script>",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
]
TOGETHER = ["".join(WORDS[at::3]) for at in range(3)]
"""So that each text has all of them, in a few requests."""
# What has a form of its own; all other texts are free.
FORMED: dict[str, Any] = {
    "type": "service",
    "state": "critical",
    "kind": "scheduled",
    "form": "json",
    "start": "now",
    "duration": 3_600,
    "zone": "UTC",
    "timezone": "UTC",
    "scopes": ["read"],
    "dry_run": False,
    "role": "viewer",
    "medium": "email",
    "checks": [f"web-1:{WORDS[0]}"],
    "names": [WORDS[0]],
}
SHORT = 150
"""Letters of a text that is one of several."""
NAMES = {"name", "entity", "entities"}
"""May have no colon, and nothing that can't be printed."""
# What would say something else, or has to be the name of something that is there.
WITHOUT = {
    *("time", "ttl", "end", "id", "pattern", "startsAt", "endsAt", "week", "time_restrictions"),
    *("pagerduty", "ping", "filter", "acknowledgement_id", "media", "contacts", "regex_entities"),
    *("regex_tags", "critical_media", "warning_media", "unknown_media", "generatorURL"),
}
# These change who the tests themselves are, or would run the words.
NEVER = {"cronstring": "0 0 1 1 *", "timezone": "UTC"}
LEFT_OUT = ("/api/v1/session", "/ping/", "/api/v1/cron/instances", "/api/v1/cron/jobs/trigger")
TAKEN = {
    *("/api/v1/contact", "/api/v1/check-events", "/api/v1/cron/jobs"),
    *("/api/v1/checks/acknowledge", "/api/v1/checks/maintenance"),
    *("/api/v1/maintenance", "/api/v1/rules", "/api/v1/rules/describe", "/api/v2/alerts"),
}


# What changes nothing, did nothing here, or is a report.
UNNOTED = {
    *("/api/v1/maintenance/preview", "/api/v1/rules/describe", "/api/v1/rules/try"),
    *("/api/v1/cron/jobs/validate", "/api/v1/cron/preview", "/api/v1/cron/import/preview"),
    *("/api/v1/check-events", "/api/v1/alerts", "/api/v2/alerts", "/state"),
    *("/api/v1/alerts/retry", "/api/v1/events/preview", "/api/v1/events/check"),
}


class Bodies:
    """Bodies that fit a description, with the same word in each free text."""

    def __init__(self, described: dict[str, Any], word: str) -> None:
        self._shapes, self._word = described["components"]["schemas"], word

    def of(self, shape: dict[str, Any], name: str = "") -> Any:
        if name in FORMED:
            return FORMED[name]
        if name in NAMES:
            word = "".join(one for one in self._word if one.isprintable() and one != ":")
            return [word[:SHORT]] if name == "entities" else word
        if name == "definition":
            return job("", self._word)["definition"]
        if "$ref" in shape:
            return self.of(self._shapes[shape["$ref"].rpartition("/")[2]], name)
        for choice in ("oneOf", "anyOf"):
            if choice in shape:
                return self.of(shape[choice][0], name)
        return self._plain(shape)

    def _plain(self, shape: dict[str, Any]) -> Any:
        kind = shape.get("type")
        if "properties" in shape:
            kept = {k: each for k, each in shape["properties"].items() if k not in WITHOUT}
            return {name: self.of(each, name) for name, each in kept.items()}
        if kind == "object":
            return {"alertname": self._word, "instance": self._word, "summary": self._word}
        if kind == "array":
            one = self.of(shape["items"])
            return [one[:SHORT] if isinstance(one, str) else one]
        if "enum" in shape:
            return shape["enum"][0]
        if kind == "string":
            return self._word[: shape.get("maxLength", 1_000)]
        if kind is None:  # any JSON
            return self._word
        return {"integer": 60, "number": 1.5, "boolean": False}[str(kind)]


def posts(described: dict[str, Any], word: str) -> Iterator[tuple[str, str, Any]]:
    bodies = Bodies(described, word)
    for path, methods in described["paths"].items():
        for method in ("post", "put", "patch"):
            if method in methods and not path.startswith(LEFT_OUT):
                content = methods[method].get("requestBody", {}).get("content", {})
                shape = content.get("application/json", {}).get("schema")
                yield method.upper(), path, bodies.of(shape) if shape else None


async def sown(alice: Visitor) -> None:
    """Each of the words in what people see most."""
    for number, word in enumerate(WORDS):
        name = {"id": f"contact-{number}", "first_name": word, "last_name": word, "tags": [word]}
        assert (await alice.post("/api/v1/contacts", json=name)).status == 201
        event = {"type": "service", "state": "critical", "entity": "web-1", "check": word}
        words = {"summary": word, "details": word, "tags": [word]}
        assert (await alice.post("/api/v1/check-events", json=event | words)).status == 202
        await alice.post("/api/v1/check-events", json=event | {"state": word})
        answer = await alice.post("/api/v1/cron/jobs", json=job(word, word))
        assert answer.status == (201 if word.isprintable() else 422), (word, answer.text)
        await alice.post("/api/v1/api-keys", json={"name": word, "scopes": ["read"]})
    assert (await alice.post("/api/v1/events", json=workflow())).status == 201
    await alice.post("/api/v1/session", json={"user": WORDS[0], "password": "x"})
    role = RoleReport(name=WORDS[0], state=WORDS[2], words=WORDS[3])
    told = Process(name="x", host=WORDS[0], pid=1, version=WORDS[1], roles=[role])
    await processes.report(alice.site.store, told)


def job(name: str, command: str) -> dict[str, Any]:
    args = {"cmd": command, "lock": True, "ttl": 60}
    return {"name": name, "definition": {"cron_args": NEVER, "job_args": args}}


def workflow() -> dict[str, Any]:
    """With a word in each label and note."""
    printable = [word for word in WORDS if word.isprintable()]
    jobs = [{"plugin": "shellplug", "label": word} for word in printable]
    notes = [{"title": printable[0], "body": word} for word in WORDS]
    nodes = [
        {"id": f"n{place}", "type": "note" if "body" in data else "job", "data": data}
        for place, data in enumerate([*jobs, *notes])
    ]
    wires = [{"source": "start", "dest": f"n{place}"} for place in range(len(jobs))]
    return {
        "id": "hostile",
        "title": WORDS[0],
        "type": "workflow",
        "notes": WORDS[2],
        "timings": [{"type": "manual", "id": "start"}],
        "workflow": {"nodes": [{"id": "start", "type": "trigger"}, *nodes], "connections": wires},
    }


async def run_of(alice: Visitor) -> str:
    """A run that wrote all of the words; its id."""
    command = "printf '%s\\n' " + " ".join(shlex.quote(word) for word in WORDS)
    await alice.post("/api/v1/cron/jobs", json=job("loud", command))
    await alice.post("/api/v1/cron/jobs/trigger", json={"names": ["loud"]})

    async def found() -> list[Any]:
        items: list[Any] = (await alice.get("/api/v1/cron/runs?job=loud")).json()["items"]
        return items

    run = await eventually(found, 20, "the job was run")
    return str(run[0]["id"])


async def posted(alice: Visitor, described: dict[str, Any], word: str) -> dict[str, bool]:
    """The paths that took the word, and whether the audit log has an entry about it."""
    taken = {}
    for method, path, body in posts(described, word):
        name = quote(word, safe="")
        query = f"?contact=contact-0&id=contact-0&name={name}"
        url = path.replace("{id}", "x").replace("{name}", name[:60])
        before = await alice.site.store.call("XLEN", Web().audit())
        answer = await alice.ask(method, url + query, json=body)
        assert answer.status < 500, (method, path, answer.text)
        if answer.status < 300:
            taken[path] = await alice.site.store.call("XLEN", Web().audit()) > before
    return taken


@asynccontextmanager
async def signed_in(house: House) -> AsyncIterator[Visitor]:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as http:
        visitor = Visitor(Site(house.url, house.services), http)
        alice = await house.services.users.add("alice", "administrator", BY)
        path = await sign_in_links.make(house.store, alice, BY)
        await visitor.post(path, headers={"User-Agent": WORDS[2]})
        visitor.csrf = (await visitor.get("/api/v1/session")).json()["csrf"]
        yield visitor


async def test_no_word_is_more_than_a_word_on_any_page(house: House, visit: Visits) -> None:
    async def all_known() -> bool:
        return int(await house.store.call("ZCARD", Alerting().failed_checks())) >= len(WORDS)

    async with signed_in(house) as alice:
        await sown(alice)
        await eventually(all_known, 30, "all events are processed")
        described = (await alice.get("/api/v1/openapi.json")).json()
        all_taken = [await posted(alice, described, word) for word in TOGETHER]
        run = await run_of(alice)
    taken = set[str]().union(*all_taken)
    assert taken >= TAKEN, TAKEN - taken
    assert {path for path in taken if not any(one.get(path) for one in all_taken)} <= UNNOTED
    visit.forgive(r"/api/v1/\S+ answered (400|404|422)")  # there is nothing of that name
    page = await visit(house, "administrator", name="alice")
    for path in (*pages(), f"/cron/run?id={run}"):
        await page.goto(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.get_by_label("Loading")).to_have_count(0)
        assert visit.complaints() == [], path
        assert await strange(page) == [], path
    await expect(page.get_by_text(WORDS[0]).first).to_be_visible()
    await page.goto(f"/check?id={quote('web-1:' + WORDS[0], safe='')}")
    await expect(page.get_by_role("heading", level=1)).to_contain_text(WORDS[0])
    leads = await page.evaluate(
        "(paths) => paths.map((path) => new URL(path, location.href).origin)",
        [local(path) for path in AWAY],
    )
    assert set(leads) == {house.url}


def pages() -> Iterator[str]:
    """Each page as it is, and with words in its query; and pages of things so named."""
    for number, path in enumerate(MODULES):
        word = quote(WORDS[number % len(WORDS)], safe="")
        names = ("id", "name", "text", "tab", "who", "action", "state", "tag", "entity", "contact")
        yield path
        yield f"{path}?" + "&".join(f"{name}={word}" for name in names)
    for number, word in enumerate(WORDS[:4]):
        yield f"/check?id={quote('web-1:' + word, safe='')}"
        yield f"/contact?id=contact-{number}"
        yield f"/cron/job?name={quote(word, safe='')}"
    yield "/events/event?id=hostile"
    yield "/events/event?id=hostile&tab=edit"
    yield f"/sign-in?next={quote(WORDS[0], safe='')}"


async def strange(page: Page) -> list[str]:
    """Elements that no page of ours has, and attributes that would run something."""
    found: list[str] = await page.evaluate("""[...document.querySelectorAll("*")].filter((one) =>
        one.matches("iframe, object, embed, base, style, math, template, [srcdoc], [onerror]") ||
        [...one.attributes].some((a) =>
          a.name.startsWith("on") || (a.name === "href" && /^\\s*javascript:/i.test(a.value))) ||
        (one.matches("script") && !one.src) || (one.matches("form[action]") && one.origin)
      ).map((one) => one.outerHTML.slice(0, 200))""")
    return found


def test_there_are_thirty_different_words() -> None:
    assert len(set(WORDS)) == 30
