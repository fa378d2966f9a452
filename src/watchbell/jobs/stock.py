"""What a new store has, so that an event runs at once and servers are monitored: a category, a
group, plugins, monitors and alert definitions."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from watchbell.errors import Refused
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Group, Monitor
from watchbell.jobs import validation
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import AlertDef, Category, Parameter, Plugin
from watchbell.jobs.monitoring_stock import ALERTS, MONITORS
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

GENERAL = Category(
    id="general",
    title="General",
    notes="Events that belong to no other category.",
)
MAIN = Group(id="main", title="Main", notes="Servers that belong to no other group.")

SHELL = Plugin(
    id="shellplug",
    title="Shell script",
    icon="console",
    notes="Runs a script. Its first line names the program that runs it.",
    command="watchbell-plugin shell",
    stock=True,
    params=(
        Parameter(
            id="script",
            type="code",
            title="Script",
            value="#!/bin/sh\n\necho Hello\n",
            required=True,
        ),
        Parameter(
            id="annotate",
            type="checkbox",
            title="Timestamps",
            caption="Begin each line of the log with its time.",
            value=False,
        ),
        Parameter(
            id="json",
            type="checkbox",
            title="JSON messages",
            caption="Read lines of JSON as messages about progress, result and so on.",
            value=True,
        ),
    ),
)
HTTP = Plugin(
    id="httpplug",
    title="HTTP request",
    icon="web",
    notes="Sends a request, and fails unless the answer is as expected.",
    command="watchbell-plugin http",
    stock=True,
    params=(
        Parameter(
            id="method",
            type="select",
            title="Method",
            value="GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        ),
        Parameter(id="url", type="text", title="URL", required=True, regex=r"^https?://\S+$"),
        Parameter(
            id="headers",
            type="textarea",
            title="Headers",
            value="User-Agent: Watchbell",
            caption="One in each line, such as Accept: text/html.",
        ),
        Parameter(id="data", type="textarea", title="Body"),
        Parameter(
            id="timeout",
            type="text",
            title="Timeout in seconds",
            value="30",
            regex=r"^\d+(\.\d+)?$",
        ),
        Parameter(id="follow", type="checkbox", title="Follow redirects", value=True),
        Parameter(
            id="ssl_cert_bypass",
            type="checkbox",
            title="Accept any certificate",
            value=False,
        ),
        Parameter(
            id="success_match",
            type="text",
            title="Expected text",
            caption="A regular expression that the answer must match.",
        ),
        Parameter(
            id="error_match",
            type="text",
            title="Unwanted text",
            caption="A regular expression that the answer must not match.",
        ),
    ),
)
HOOK = Plugin(
    id="hookplug",
    title="Web hook",
    icon="webhook",
    notes="Posts JSON about the job to a URL.",
    command="watchbell-plugin hook",
    stock=True,
    params=(
        Parameter(id="url", type="text", title="URL", required=True, regex=r"^https?://\S+$"),
        Parameter(
            id="data",
            type="textarea",
            title="Data",
            caption="JSON or text that is sent along.",
        ),
    ),
)
TEST = Plugin(
    id="testplug",
    title="Test",
    icon="test-tube",
    notes="Does nothing for a while, and ends as you select.",
    command="watchbell-plugin test",
    stock=True,
    params=(
        Parameter(id="duration", type="text", title="Seconds", value="10", regex=r"^\d+(\.\d+)?$"),
        Parameter(id="progress", type="checkbox", title="Report progress", value=True),
        Parameter(id="burn", type="checkbox", title="Use a CPU core", value=False),
        Parameter(
            id="action",
            type="select",
            title="Result",
            value="Success, Warning, Critical, Error, Crash",
        ),
    ),
)
OPEN_FILES = Plugin(
    id="open_files",
    title="Open files",
    type="monitor",
    icon="file-multiple",
    notes="How many files all processes of a server have open, and how many may be.",
    command="cat /proc/sys/fs/file-nr",
    stock=True,
)
PLUGINS = (SHELL, HTTP, HOOK, TEST, OPEN_FILES)

# KEYS[1] a hash of records, KEYS[2] channel of changes; ARGV[1] id, ARGV[2] the record as it was
# read, empty for none, ARGV[3] the new record, ARGV[4] message. Writes nothing where the record is
# another one.
_PUT = Script("""
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PUBLISH', KEYS[2], ARGV[4])
""")


# KEYS[1] what has been created before, KEYS[2] channel of changes; ARGV[1] msgpack: {key of a hash
# of records, id, record, name, message}. Each name is created once: what somebody has deleted since
# stays deleted.
_CREATE_ONCE = Script("""
for _, one in ipairs(cmsgpack.unpack(ARGV[1])) do
  local key, id, record, name, message = unpack(one)
  if redis.call('SADD', KEYS[1], name) == 1 and redis.call('HSETNX', key, id, record) == 1 then
    redis.call('PUBLISH', KEYS[2], message)
  end
end
""")


async def ensure(store: Store, now: float) -> None:
    """Creates what is missing, and brings plugins up to date that nobody has edited."""
    keys, fleet = Jobs(store.prefix), Fleet(store.prefix)
    created = int(now)
    raw = await store.call("HGET", keys.categories(), GENERAL.id)
    if raw is None:
        await _put(
            store,
            (keys.categories(), keys.changes()),
            b"",
            replace(GENERAL, created=created, modified=created),
            {"kind": "category", "id": GENERAL.id},
        )
    if await store.call("HGET", fleet.groups(), MAIN.id) is None:
        group = replace(MAIN, created=created, modified=created)
        await _put(store, (fleet.groups(), fleet.changes()), b"", group, MAIN.id)
    for plugin in PLUGINS:
        await _ensure_plugin(store, plugin, created)
    await _create_once(store, created)


async def _ensure_plugin(store: Store, plugin: Plugin, now: int) -> None:
    keys = Jobs(store.prefix)
    raw: bytes = await store.call("HGET", keys.plugins(), plugin.id) or b""
    new = replace(plugin, created=now, modified=now)
    if raw:
        try:
            current = validation.stored("plugin", raw)
        except Refused:
            return
        if not isinstance(current, Plugin) or current.revision > 1 or not current.stock:
            return
        new = replace(plugin, created=current.created, modified=current.modified)
        if new == current:
            return
        new = replace(new, modified=now)
    await _put(
        store,
        (keys.plugins(), keys.changes()),
        raw,
        new,
        {"kind": "plugin", "id": plugin.id},
    )


async def _create_once(store: Store, now: int) -> None:
    keys, items = Jobs(store.prefix), list[list[str | msgspec.Raw]]()
    ordered = [replace(one, sort_order=place) for place, one in enumerate(MONITORS)]
    tables: tuple[tuple[str, str, Sequence[Monitor | AlertDef]], ...] = (
        ("monitor", keys.monitors(), ordered),
        ("alert", keys.alert_defs(), ALERTS),
    )
    for kind, key, records in tables:
        for one in records:
            record = msgspec.json.encode(replace(one, created=now, modified=now))
            message = msgspec.json.encode({"kind": kind, "id": one.id})
            packed = verbatim(record), f"{kind}:{one.id}", verbatim(message)
            items.append([key, one.id, *packed])
    await _CREATE_ONCE(store, [keys.stocked(), keys.changes()], [msgspec.msgpack.encode(items)])


async def _put(
    store: Store,
    keys: tuple[str, str],
    old: bytes,
    record: Category | Group | Plugin,
    message: Mapping[str, str] | str,
) -> None:
    sent = message if isinstance(message, str) else msgspec.json.encode(message)
    await _PUT(store, keys, [record.id, old, msgspec.json.encode(record), sent])
