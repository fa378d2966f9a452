"""`watchbell events`, `categories`, `plugins`, `channels` and `tags` as people type them."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.cli import commands
from watchbell.jobs import stock
from watchbell.settings import load
from watchbell.store.opening import opened

PREFIX = "ours:"


@pytest.fixture
def place(server: servers.Single) -> Iterator[servers.Single]:
    server.server.call("FLUSHALL")
    asyncio.run(stocked(address(server)))
    yield server
    server.server.call("FLUSHALL")


def address(place: servers.Single) -> str:
    return f"{place.url}?prefix={PREFIX}"


async def stocked(url: str) -> None:
    loaded = load(Path("/dev/null"), {"HOME": "/dev"}, {"store.url": url})
    async with opened(loaded.settings) as store:
        await stock.ensure(store, 1)


def ran(place: servers.Single, *words: str, code: int = 0, given: str = "") -> str:
    """What was printed, and what was complained of."""
    at = words.index("--") if "--" in words else len(words)
    command = [*words[:at], "--store", address(place), *words[at:]]
    done = commands.ran(*command, given=given, TZ="UTC")
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def event(place: servers.Single, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran(place, "events", "show", name, "--json"))
    return found


def test_an_event_is_added_changed_and_removed(place: servers.Single) -> None:
    assert "There are no events" in ran(place, "events", "list")
    said = ran(
        *(place, "events", "add", "Nightly backup", "--id", "backup", "--category", "backups"),
        *("--at", "30 2 * * *", "--tz", "Europe/Rome", "--time-limit", "1 hour", "--retries", "2"),
        *("--retry-delay", "1 min", "--mail-on-error", "alice@example.com", "--", "pg_dump", "a b"),
    )
    assert said.startswith("added event Nightly backup (backup): at 02:30 every day, Europe/Rome")
    made = event(place, "nightly BACKUP")
    assert made["params"] == {"script": "#!/bin/sh\npg_dump 'a b'\n"}
    assert [one["type"] for one in made["timings"]] == ["schedule", "manual"]
    assert {one["type"]: one for one in made["limits"]} == {
        "time": {"type": "time", "duration": 3600},
        "retry": {"type": "retry", "amount": 2, "duration": 60},
    }
    assert made["actions"] == [{"trigger": "error", "type": "email", "email": "alice@example.com"}]

    ran(
        *(
            place,
            "events",
            "edit",
            "backup",
            "--every",
            "5 min",
            "--no-manual",
            "--retries",
            "none",
        ),
        *("--mail-on-error", "none", "--set", 'tags=["nightly"]', "--param", "json=false"),
        *("--", "#!/bin/bash\ndate"),
    )
    made = event(place, "backup")
    assert made["timings"] == [{"type": "interval", "duration": 300, "start": 0}]
    assert made["limits"] == [{"type": "time", "duration": 3600}]
    assert (made.get("actions", []), made["tags"]) == ([], ["nightly"])
    assert made["params"] == {"script": "#!/bin/bash\ndate", "json": False}
    assert "nothing would change" in ran(place, "events", "edit", "backup", code=2)

    ran(place, "events", "disable", "backup")
    assert "disabled" in ran(place, "events", "list")
    assert ran(place, "events", "next") == "Nothing runs by itself.\n"
    ran(place, "events", "enable", "backup")
    assert ran(place, "events", "next", "backup", "--count", "3").count("Nightly backup") == 3
    assert "add --yes" in ran(place, "events", "remove", "backup", code=1)
    ran(place, "events", "remove", "backup", "--yes")
    assert "there is no event 'backup'" in ran(place, "events", "show", "backup", code=1)
    audit = ran(place, "audit", "list")
    for action in ("event.add", "event.edit", "event.remove"):
        assert action in audit


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--at", "30 2 * *"), "--at: expected five fields"),
        (("--at", "@daily", "--tz", "Mars"), "--tz"),
        (("--retry-delay", "5"), "--retry-delay needs --retries"),
        (("--queue", "5"), "a queue limit needs a job limit"),
        (("--param", "script"), "expected NAME=VALUE"),
        (("--set", "limits=[{}]"), "limits[0].type"),
        (("--plugin", "nothing"), "nothing"),
        (("--max-jobs", "many"), "not a whole number"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_added(
    place: servers.Single, words: tuple[str, ...], reason: str
) -> None:
    done = commands.ran("events", "add", "Backup", *words, "--store", address(place))
    assert done.returncode in (1, 2)
    assert reason in done.stderr
    assert "There are no events" in ran(place, "events", "list")


def test_an_event_of_an_ambiguous_title_needs_its_id(place: servers.Single) -> None:
    for id_ in ("a", "b"):
        ran(place, "events", "add", "Twin", "--id", id_, "--", "true")
    assert "use an id: a, b" in ran(place, "events", "remove", "Twin", "--yes", code=1)
    ran(place, "events", "remove", "a", "--yes")
    ran(place, "events", "remove", "twin", "--yes")


def test_events_are_exported_and_imported(place: servers.Single, tmp_path: Path) -> None:
    ran(place, "events", "add", "Backup", "--id", "backup", "--at", "@daily", "--", "true")
    file = tmp_path / "events.json"
    file.write_text(ran(place, "events", "export", "--json"))
    ran(place, "events", "remove", "backup", "--yes")
    assert "add --yes" in ran(place, "events", "import", "json", str(file), code=1)
    assert "1 item created" in ran(place, "events", "import", "json", str(file), "--yes")
    assert event(place, "backup")["title"] == "Backup"
    assert "2 items unchanged" in ran(place, "events", "import", "json", str(file), "--yes")
    ran(place, "events", "edit", "backup", "--notes", "changed")
    assert "exists already" in ran(place, "events", "import", "json", str(file), "--yes", code=1)
    said = ran(place, "events", "import", "json", str(file), "--yes", "--replace")
    assert "1 item replaced" in said
    assert "notes" not in event(place, "backup")
    tab = "*/5 * * * * /usr/local/bin/tidy\nnonsense\n"
    said = ran(place, "events", "import", "crontab", "-", "--target", "web", "--yes", given=tab)
    assert "not imported: line 2" in said
    assert event(place, "tidy")["targets"] == ["web"]


@pytest.mark.parametrize("file", ["/nonexistent/file", "/dev"])
def test_a_file_that_can_not_be_read_is_reported(place: servers.Single, file: str) -> None:
    assert "can't read" in ran(place, "events", "import", "json", file, code=1)


@pytest.mark.parametrize("group", ["categories", "plugins", "channels", "tags"])
def test_other_definitions_have_the_same_commands(place: servers.Single, group: str) -> None:
    kind = {"categories": "category"}.get(group, group[:-1])
    more = ["--set", "command=/bin/true"] if group == "plugins" else []
    ran(place, group, "add", "extra", "--title", "An extra", *more)
    assert "exists already" in ran(place, group, "add", "extra", *more, code=1)
    assert "An extra" in ran(place, group, "list")
    ran(place, group, "edit", "an extra", "--notes", "seldom used")
    found = json.loads(ran(place, group, "show", "extra"))
    assert (found["notes"], found["revision"]) == ("seldom used", 2)
    assert "say what to change" in ran(place, group, "edit", "extra", code=2)
    if group != "tags":
        ran(place, group, "disable", "extra")
        assert json.loads(ran(place, group, "show", "extra"))["enabled"] is False
        ran(place, group, "enable", "extra")
    assert f"removed {kind} An extra (extra)" in ran(place, group, "remove", "extra", "--yes")
    assert f"there is no {kind} 'extra'" in ran(place, group, "show", "extra", code=1)


def test_an_event_is_restored_to_an_earlier_revision(place: servers.Single) -> None:
    ran(place, "events", "add", "Backup", "--id", "backup", "--notes", "old", "--", "true")
    ran(place, "events", "edit", "backup", "--notes", "new")
    assert "notes: old → new" in ran(place, "events", "history", "Backup")
    said = ran(place, "events", "restore", "Backup", "1")
    assert said == "restored revision 1 of event Backup (backup)\n"
    assert event(place, "backup")["notes"] == "old"
    found = json.loads(ran(place, "events", "history", "backup", "--json"))
    assert [one["revision"] for one in found] == [3, 2, 1]
    ran(place, "events", "remove", "backup", "--yes")
    ran(place, "events", "restore", "backup", "2")
    assert event(place, "backup")["notes"] == "new"
    assert "there is no event 'other'" in ran(place, "events", "history", "other", code=1)
    ran(place, "events", "restore", "backup", "99", code=1)
    assert "event.restore" in ran(place, "audit", "list")
