"""Changes made on the command line: each is in the audit log, with the account that made it."""

import asyncio
import json
import os
import pwd
import socket
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
import msgspec
import pytest

from tests import servers
from tests.alerting import recorded
from tests.archive.crawling import PIPELINE
from tests.archive.test_pipelines import ROOM, record
from tests.cli.commands import printed
from tests.cli.commands import ran as ran_command
from tests.cli.test_cron_commands import PREFIX, instance
from tests.fleet.snapshot_scene import sampled
from watchbell.alerting.model import Alert
from watchbell.archive import idents, pipelines
from watchbell.archive.keys import Crawls
from watchbell.cli.main import COMMANDS, watchbell
from watchbell.clock import SYSTEM
from watchbell.fleet import presence
from watchbell.gateways.keys import Gateways
from watchbell.gateways.outbox import Item
from watchbell.jobs import stock
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.audit import Entry

T = TypeVar("T")
ACCOUNT = f"{pwd.getpwuid(os.geteuid()).pw_name}@{socket.gethostname()}"
DAY = 86_400

DEFINED = ("categories", "channels", "plugins", "tags")
READS = {
    *("audit list", "completion", "doctor", "downtime", "explain", "expression", "failing"),
    "history",
    *("keys", "outages", "rejected", "settings", "status", "version"),
    *("api-keys list", "users list", "contacts export", "contacts show", "entities export"),
    *("entities show", "maintenance show", "rules show", "gateways failed", "gateways preview"),
    *("cron export", "cron instances", "cron list", "cron output", "cron preview", "cron runs"),
    "cron show",
    *(f"{group} {word}" for group in DEFINED for word in ("list", "show")),
    *("groups list", "groups show", "servers list", "servers show"),
    *("events export", "events history", "events list", "events next", "events show"),
    *("jobs list", "jobs log", "jobs search", "jobs show", "roles list", "roles privileges"),
    *("archive check", "archive explain", "archive list", "archive log", "archive pending"),
    *("archive pipelines", "archive replay", "archive sets", "archive show", "archive status"),
    *("archive whereis", "records status", "records verify"),
    *("snapshots compare", "snapshots list", "snapshots show"),
    *("monitors list", "monitors show", "monitors test", "monitors values"),
    *("alert-defs list", "alert-defs show", "alert-defs test"),
    *("dashboards list", "dashboards show"),
    *("server-alerts list", "server-alerts show", "server-alerts snoozes"),
}
"""What changes nothing."""
REPORTS = {
    *("agent", "drain", "event", "run", "simulate", "up"),
    *("receive json", "receive mirror", "receive nagios", "receive nsca"),
}
"""What reports states, or processes them, as programs do all day."""
ELSEWHERE = {
    "gateways test",  # sends a message, with no store
    "gateways templates",  # writes files
    "cron validate",  # notes in a job what is wrong with it
    "store repair",  # for files of which no store runs
}
CHANGES = {
    *("archive abort", "archive add", "archive concurrency", "archive delay", "archive expire"),
    *(
        "archive forget",
        "archive ignore",
        "archive ignore-set",
        "archive note",
        "archive pause",
        "archive reports",
    ),
    *("archive resume", "archive stop", "archive unignore"),
    *("ack", "check disable", "check set", "purge", "test-notify"),
    *("api-keys create", "api-keys revoke"),
    *("contacts import", "contacts link", "contacts remove", "contacts set", "contacts unlink"),
    *("cron add", "cron drain", "cron edit", "cron import", "cron kill", "cron pause"),
    *("cron reload", "cron remove", "cron resume", "cron terminate", "cron trigger"),
    *("entities import", "entities remove", "entities set"),
    *("import flapjack",),
    *("records adopt", "records build", "records drop"),
    *("gateways retry", "maintenance create", "maintenance end"),
    *("rules add", "rules edit", "rules remove"),
    *("users add", "users link", "users password", "users remove", "users role"),
    *("api-keys edit", "cron convert", "users edit"),
    *(f"{group} {word}" for group in DEFINED for word in ("add", "edit", "remove")),
    *(f"{group} {word}" for group in DEFINED[:3] for word in ("disable", "enable")),
    *("events add", "events disable", "events edit", "events enable", "events flush"),
    *("events import", "events remove", "events restore", "events run"),
    *("groups add", "groups edit", "groups remove"),
    *("apply", "jobs abort", "jobs delete", "jobs rerun", "jobs resume", "jobs suspend"),
    "jobs tag",
    *("roles add", "roles disable", "roles edit", "roles enable", "roles remove"),
    *("servers disable", "servers edit", "servers enable", "servers remove", "servers token"),
    *("plugins try", "snapshots delete", "snapshots take", "snapshots watch"),
    *("monitors add", "monitors edit", "monitors remove"),
    *("dashboards add", "dashboards edit", "dashboards remove"),
    *("alert-defs add", "alert-defs disable", "alert-defs edit", "alert-defs enable"),
    *("alert-defs remove", "server-alerts delete", "server-alerts snooze"),
}


class Commands:
    """The commands on one store, and what the audit log has of each."""

    def __init__(self, server: servers.Single, folder: Path) -> None:
        self.url, self.server = f"{server.url}?prefix={PREFIX}", server.server
        self._last = 0
        self._config = folder / "watchbell.toml"
        self._config.write_text('[gateways.email]\nhost = "127.0.0.1"\n')

    def __call__(self, words: str, *arguments: str, given: str = "", code: int = 0) -> str:
        options = ["--store", self.url, "--config", str(self._config)]
        parts = [*words.split(), *arguments]
        at = parts.index("--") if "--" in parts else len(parts)
        done = ran_command(*parts[:at], *options, *parts[at:], given=given)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def entries(self) -> list[Entry]:
        """Those since the last look, in their order."""
        return list(reversed(self.do(self._entries)))

    async def _entries(self, store: Store) -> list[Entry]:
        found = [one.entry for one in await audit.read(store, "", 10_000)]
        new = found[: len(found) - self._last]
        self._last = len(found)
        return new

    def recorded(self, *expected: tuple[str, str, str]) -> None:
        """The last command left these: action, subject, details; all by this account."""
        found = self.entries()
        assert [(e.action, e.subject, e.details) for e in found] == list(expected)
        assert {e.who for e in found} == {f"{ACCOUNT} (command line)"}

    def do(self, work: Callable[[Store], Awaitable[T]]) -> T:
        async def run() -> T:
            async with Store(store_url.parse(self.url)) as store:
                return await work(store)

        return asyncio.run(run())


@pytest.fixture
def run(server: servers.Single, tmp_path: Path) -> Iterator[Commands]:
    server.server.call("FLUSHALL")
    yield Commands(server, tmp_path)
    server.server.call("FLUSHALL")


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield " ".join((*path, name))


def test_every_command_is_known_to_change_something_or_not() -> None:
    """Who adds a command decides, and adds one that changes something to the tests below."""
    found = set(leaves(watchbell))
    assert {name.split()[0] for name in found} == set(COMMANDS)
    assert found == CHANGES | READS | REPORTS | ELSEWHERE


def test_people_and_rules(run: Commands) -> None:
    run("contacts set alice --first-name Alice --medium email=alice@example.com")
    run.recorded(("contact.add", "alice", "first_name, medium"))
    run("contacts set alice --interval email=300")
    run.recorded(("contact.change", "alice", "interval"))
    run("contacts link alice --entity web-1 --check HTTP")
    run.recorded(("contact.link", "alice", "web-1:HTTP"))
    run("contacts unlink alice --entity web-1 --check HTTP")
    run.recorded(("contact.unlink", "alice", "web-1:HTTP"))
    said = run("rules add alice --entity web-1 --critical email")
    rule = said.removeprefix("rule ").partition(":")[0]
    (added,) = run.entries()
    assert (added.action, added.subject) == ("rule.add", "alice")
    assert added.details.startswith(rule)
    run(f"rules edit {rule} --critical email,sms")
    assert [(e.action, e.subject) for e in run.entries()] == [("rule.change", "alice")]
    run(f"rules edit {rule} --when", "22:00-06:00", "--replace-general")
    assert [e.action for e in run.entries()] == ["rule.change"] * 2
    run(f"rules remove {rule}")
    assert [(e.action, e.subject) for e in run.entries()] == [("rule.remove", "alice")]
    run("contacts remove alice")
    run.recorded(("contact.remove", "alice", ""))
    items = [{"id": "bob", "first_name": "Bob"}, {"id": "charlie", "first_name": 5}]
    run("contacts import -", given=json.dumps(items), code=1)
    run.recorded(("contacts.import", "", "1 of 2 items"))


def test_events_and_what_belongs_to_them(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text("events: [{id: backup, title: Backup, notes: applied}]")
    run.do(lambda store: stock.ensure(store, SYSTEM.now()))
    commands = [
        ("events add Backup --id backup -- true", "event.add"),
        ("events edit Backup --notes changed", "event.edit"),
        ("events disable Backup", "event.edit"),
        ("events enable Backup", "event.edit"),
        ("events restore Backup 1", "event.restore"),
        ("events run Backup", "event.run"),
        ("jobs abort Backup", "job.abort"),
        ("events flush Backup", "event.flush"),
        (f"apply -f {tmp_path / 'all.yaml'} --yes", "definitions.apply"),
        ("events remove Backup --yes", "event.remove"),
        ("categories add reports --title Reports", "category.add"),
        ("categories disable reports", "category.edit"),
        ("categories enable reports", "category.edit"),
        ("categories edit reports --title Other", "category.edit"),
        ("categories remove reports --yes", "category.remove"),
        ("groups add Web --id web", "group.create"),
        ("groups edit web --title Other", "group.change"),
        ("groups remove web --yes", "group.remove"),
        ("servers token db-1", "server.token"),
        ("monitors add swap --title Swap --source memory.swapused", "monitor.add"),
        ("monitors edit swap --title Other", "monitor.edit"),
        ("monitors remove swap --yes", "monitor.remove"),
        ("dashboards add night --title Night", "dashboard.add"),
        ("dashboards edit night --title Other", "dashboard.edit"),
        ("dashboards remove night --yes", "dashboard.remove"),
        ("alert-defs add full --title Full --expression load[0]>9", "alert.add"),
        ("alert-defs edit full --title Other", "alert.edit"),
        ("alert-defs disable full", "alert.edit"),
        ("alert-defs enable full", "alert.edit"),
        ("server-alerts snooze full --for 60", "server_alert.snooze"),
        ("server-alerts snooze full --end", "server_alert.wake"),
        ("alert-defs remove full --yes", "alert.remove"),
    ]
    for words, action in commands:
        run(words)
        assert [entry.action for entry in run.entries()] == [action], words


def test_snapshots(run: Commands) -> None:
    server = run.do(sampled)
    said = run("snapshots take db-1")
    taken = said.removeprefix("took ").partition(";")[0]
    run.recorded(("snapshot.create", taken, f"server {server.id}"))
    run("snapshots watch db-1 --for", "2 hours")
    run.recorded(("server.watch", server.id, "7200 s"))
    run("snapshots watch db-1 --end")
    run.recorded(("server.unwatch", server.id, ""))
    run(f"snapshots delete {taken} --yes")
    run.recorded(("snapshot.delete", taken, ""))
    run.do(lambda store: presence.disconnect(store, server.id, f"session of {server.hostname}"))
    run.do(lambda store: stock.ensure(store, SYSTEM.now()))
    assert "db-1 is offline" in run("plugins try open_files db-1", code=1)
    assert run.entries() == []


def test_crawls(run: Commands) -> None:
    run("archive add https://example.com/ --only")
    ident = idents.ident_of("https://example.com/")
    run.recorded(("crawl.add", ident, "https://example.com/"))
    commands = [
        (f"ignore {ident} /a /b", "crawl.change", "ignore /a; ignore /b"),
        (f"unignore {ident} /a", "crawl.change", "unignore /a"),
        (f"ignore-set {ident} forums", "crawl.change", "ignore set forums"),
        (f"delay {ident} 5 9", "crawl.change", "delay 5 to 9 ms"),
        (f"concurrency {ident} 2", "crawl.change", "concurrency 2"),
        (f"note {ident} closing", "crawl.change", "note closing"),
        (f"reports {ident} on", "crawl.change", "reports_ignores on"),
        (f"pause {ident}", "crawl.pause", ""),
        (f"resume {ident}", "crawl.resume", ""),
        (f"abort {ident}", "crawl.abort", "https://example.com/, ended"),
        (f"expire {ident}", "crawl.expire", "https://example.com/"),
    ]
    for words, action, details in commands:
        run(f"archive {words}")
        run.recorded((action, ident, details))
    run.do(lambda store: pipelines.report(store, record(), ROOM))
    run("archive stop alice")
    run.recorded(("pipeline.stop", PIPELINE, "alice"))
    run.do(lambda store: store.call("ZADD", Crawls(PREFIX).pipelines_seen(), 5, PIPELINE))
    run("archive forget alice")
    run.recorded(("pipeline.forget", PIPELINE, "alice"))


def test_entities(run: Commands) -> None:
    run("entities set web-1 --id 7 --tag eu")
    run.recorded(("entity.add", "web-1", ""))
    run("entities set web-1 --name web-2")
    run.recorded(("entity.change", "web-1", "renamed to web-2"))
    run("entities remove web-2")
    run.recorded(("entity.remove", "web-2", ""))
    run("entities import -", given=json.dumps([{"id": "9", "name": "db-1"}]))
    run.recorded(("entities.import", "", "1 of 1 items"))


def test_checks_and_maintenance(run: Commands) -> None:
    now = int(SYSTEM.now())
    for name in ("HTTP", "SSH"):
        past = [*((now - n * DAY, "ok") for n in (900, 800, 700)), (now - 60, "critical")]
        run.do(partial(recorded.check, event_id=f"web-1:{name}", changes=past))
    run("entities set web-1")
    run.entries()
    run("ack web-1:HTTP --for", "2 hours", "--summary", "on it")
    run.recorded(("check.acknowledge", "web-1:HTTP", "2 hours: on it"))
    run("ack web-1")
    run.recorded(("check.acknowledge", "2 checks", "4 hours"))
    run("test-notify web-1:HTTP --summary", "only a test")
    run.recorded(("check.test", "web-1:HTTP", "only a test"))
    run("check set web-1:HTTP --ttl 300")
    run.recorded(("check.settings", "web-1:HTTP", "ttl 300"))
    run("maintenance create web-1 --yes --reason move --from", "@2000000000", "--for", "1 hour")
    words = "scheduled, 2 checks, from 2033-05-18 03:33:20 UTC to 2033-05-18 04:33:20 UTC: move"
    run.recorded(("maintenance.plan", "web-1", words))
    run("maintenance end web-1 --yes --start", "@2000000000")
    run.recorded(("maintenance.end", "web-1", "2 windows"))
    run("purge --dry-run")
    assert run.entries() == []
    run("purge --check web-1:HTTP")
    (purged,) = run.entries()
    assert (purged.action, purged.subject) == ("history.purge", "web-1:HTTP")
    assert purged.details.endswith(" changes")
    run("check disable web-1:SSH")
    run.recorded(("check.disable", "web-1:SSH", ""))


def test_users_and_keys(run: Commands) -> None:
    run("users add alice --role administrator")
    run.recorded(("user.add", "alice", "administrator"), ("link.add", "alice", ""))
    run("users link alice")
    run.recorded(("link.add", "alice", ""))
    run("users add bob")
    run.entries()
    run("users role bob editor")
    run.recorded(("user.role", "bob", "viewer to editor"))
    run("users password bob", given="correct horse battery\n")
    run.recorded(("user.password", "bob", ""))
    run("users remove bob")
    run.recorded(("user.remove", "bob", ""))
    key = run("api-keys create deploy").split("_")[1]
    run.recorded(("key.add", key, "deploy: intake"))
    run(f"api-keys revoke {key}")
    run.recorded(("key.revoke", key, "deploy"))


def test_cron_jobs(run: Commands, server: servers.Single, tmp_path: Path) -> None:
    with instance(server, tmp_path / "data"):
        keep_jobs(run)


def keep_jobs(run: Commands) -> None:
    run("cron add backup --at @never --overlap allow --", "sleep", "600")
    (added,) = run.entries()
    assert (added.action, added.subject, bool(added.details)) == ("cron.create", "backup", True)
    run("cron edit backup --at @hourly")
    assert [(e.action, e.subject) for e in run.entries()] == [("cron.replace", "backup")]
    run("cron pause backup")
    run.recorded(("cron.pause", "backup", ""))
    run("cron resume all")
    run.recorded(("cron.resume", "backup", ""))
    for signal in ("terminate", "kill"):
        id_ = run("cron trigger backup").removeprefix("triggered backup: run ").strip()
        run.recorded(("cron.trigger", "backup", ""))
        run(f"cron {signal} {id_[:-1]}")
        run.recorded((f"cron.{signal}", "backup", id_))
    run(f"cron drain {socket.gethostname()}")
    run.recorded(("cron.drain", socket.gethostname(), ""))
    run("cron reload")
    run.recorded(("cron.reload", "", ""))
    run("cron import crontab - --yes", given="0 * * * * true # one\n5 * * * * false\n")
    (made,) = run.entries()
    assert (made.action, made.subject) == ("cron.import", "2 jobs")
    run("cron remove backup")
    run.recorded(("cron.remove", "backup", ""))


def test_alerts_that_are_sent_again(run: Commands) -> None:
    run("gateways retry email --all")
    assert run.entries() == []
    alert = Alert(
        id="a1",
        media="email",
        address="alice@example.com",
        contact_id="alice",
        contact_first_name="Alice",
        contact_last_name="Archer",
        event_id="web-1:HTTP",
        state="critical",
        notification_type="problem",
    )
    keys, kept = Gateways(PREFIX), msgspec.json.encode(Item(alert=alert, since=1, error="550 no"))
    for command in ("gateways retry email --all", "gateways retry email a1"):
        run.server.call("ZADD", keys.failed("email"), 1, "a1")
        run.server.call("HSET", keys.failures("email"), "a1", kept)
        run(command)
        run.recorded(("gateway.retry", "email", "1 alert"))


@pytest.mark.parametrize(
    "words",
    [
        *("contacts remove nobody", "contacts link nobody --all", "rules remove none"),
        *("entities remove none", "users remove nobody", "api-keys revoke none", "ack none"),
        *("cron remove none", "cron trigger none", "cron kill none", "maintenance end none --yes"),
    ],
)
def test_a_command_that_fails_leaves_no_entry(run: Commands, words: str) -> None:
    run(words, code=1)
    assert run.entries() == []


def test_a_store_that_refuses_is_told_of_in_one_line(run: Commands) -> None:
    run("contacts set alice --first-name Alice")
    run.server.call("CONFIG", "SET", "min-replicas-to-write", "1")
    try:
        for words in ("contacts remove alice", "users add bob", "entities set web-1"):
            said = run(words, code=4)
            assert said.startswith("watchbell: ")
            assert said.count("\n") == 1
    finally:
        run.server.call("CONFIG", "SET", "min-replicas-to-write", "0")
    assert [entry.action for entry in run.entries()] == ["contact.add"]


def test_who_became_root_is_named(run: Commands) -> None:
    options = ("--store", run.url)
    done = ran_command("users", "add", "bob", *options, SUDO_USER="alice")
    assert done.returncode == 0
    how = "command line, sudo by alice" if os.geteuid() == 0 else "command line"
    assert {entry.who for entry in run.entries()} == {f"{ACCOUNT} ({how})"}


def test_the_log_is_listed_and_filtered(run: Commands) -> None:
    assert "No changes are recorded yet." in run("audit list")
    for name in ("alice", "bob", "charlie"):
        run(f"contacts set {name} --first-name", name.title())
    run("entities set web-1")
    lines = run("audit list").splitlines()
    assert lines[0].split() == ["time", "who", "action", "subject", "details", "address"]
    assert [line.partition("(command line)")[2].split()[:2] for line in lines[1:]] == [
        ["entity.add", "web-1"],
        *(["contact.add", name] for name in ("charlie", "bob", "alice")),
    ]
    assert "the newest 2; --limit 0 shows all" in run("audit list --limit 2")

    def subjects(*options: str) -> list[str]:
        rows = printed("audit", "list", "--store", run.url, *options)
        return [row["subject"] for row in rows]

    assert subjects("--action", "contact", "--limit", "2") == ["charlie", "bob"]
    assert subjects("--action", "contact.change") == []
    assert subjects("--who", ACCOUNT, "--text", "BOB") == ["bob"]
    assert subjects("--who", "alice") == []
    assert subjects("--until", "1 hour ago") == []
    assert len(subjects("--since", "1 hour ago", "--limit", "0")) == 4
    assert "No changes match." in run("audit list --who alice")
