"""`watchbell snapshots`."""

import click

from watchbell.cli.arguments import confirm, length, storable, yes_option
from watchbell.cli.audited import operator, record_change, subject_of
from watchbell.cli.formatting import plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.snapshot_texts import compared_lines, shown_lines
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound
from watchbell.fleet import groups, servers, snapshot_comparison, snapshots, watches
from watchbell.fleet.model import Snapshot, SnapshotHead, Target, Watch
from watchbell.fleet.snapshot_comparison import Comparison
from watchbell.fleet.watches import Watched
from watchbell.jobs import snapshot_taker
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import in_words

_HOUR = 3_600
_MOST = 10_000

_of_group = click.option("--group", "is_group", is_flag=True, help="NAME is the id of a group.")


@click.group
def command() -> None:
    """Take and compare snapshots: what servers were doing at one time.

    Example: watchbell snapshots take db-1
    """


@command.command("list")
@click.option("--server", type=storable, help="Only those of this server, by id or hostname.")
@click.option("--group", type=storable, help="Only those of this group.")
@click.option("--limit", type=click.IntRange(1, _MOST), default=50, help="How many. Default: 50.")
@with_settings()
@as_json
def list_(
    *, loaded: Loaded, server: str | None, group: str | None, limit: int, as_json: bool
) -> None:
    """List snapshots, newest first.

    Example: watchbell snapshots list --server db-1
    """

    async def read(store: Store) -> list[SnapshotHead]:
        found = await snapshots.heads(store, _MOST)
        if server is not None:
            id_ = (await servers.named(store, server)).id
            found = [one for one in found if one.server == id_]
        if group is not None:
            found = [one for one in found if one.type == "group" and group in one.groups]
        return found[:limit]

    found = with_store(loaded.settings, read)
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("There are no snapshots. `watchbell snapshots take SERVER` takes one.")
        return
    columns = ["id", "taken", "of", "for", "by", "servers", "jobs", "alerts"]
    show_table(columns, [_cells(one) for one in found])


def _cells(one: SnapshotHead) -> list[str]:
    name = one.hostname if one.type == "server" else f"group {', '.join(one.groups)}"
    cause = f"{one.source} {one.cause}" if one.cause else one.source
    counts = [str(one.servers), str(len(one.jobs)), str(len(one.alerts))]
    return [
        one.id,
        when(int(one.date)),
        plain(name),
        plain(cause),
        plain(one.username) or "-",
        *counts,
    ]


@command.command
@click.argument("id_", metavar="ID", type=storable)
@with_settings()
@as_json
def show(*, loaded: Loaded, id_: str, as_json: bool) -> None:
    """Show a snapshot, as a frozen `top`.

    Example: watchbell snapshots show snmhr6zkefh1
    """
    found = with_store(loaded.settings, lambda store: snapshots.get(store, id_))
    if as_json:
        print_json(found)
        return
    for line in shown_lines(found):
        click.echo(plain(line, 300))


@command.command
@click.argument("name", metavar="NAME", type=storable)
@_of_group
@with_settings()
@as_json
def take(*, loaded: Loaded, name: str, is_group: bool, as_json: bool) -> None:
    """Take a snapshot of a server or a group.

    A server is named by its id or hostname.

    Example: watchbell snapshots take db-1
    """

    async def act(store: Store) -> SnapshotHead:
        kind, target = await _target(store, name, is_group=is_group)
        by = operator()
        head, _ = await snapshot_taker.take(
            store, kind, target, source="user", now=SYSTEM.now(), username=by.actor.display_name
        )
        await record_change(store, "snapshot.create", head.id, f"{kind} {target}")
        return head

    head = with_store(loaded.settings, act)
    if as_json:
        print_json(head)
    else:
        click.echo(f"took {head.id}; `watchbell snapshots show {head.id}` shows it")


@command.command
@click.argument("before", metavar="ID", type=storable)
@click.argument("after", metavar="ID", type=storable)
@with_settings()
@as_json
def compare(*, loaded: Loaded, before: str, after: str, as_json: bool) -> None:
    """Show what changed between two snapshots.

    That is: figures, disks, connections, processes, jobs and alerts.

    Example: watchbell snapshots compare snmhr6zkefh1 snmhr7aq2fx0
    """

    async def read(store: Store) -> Comparison:
        old: Snapshot = await snapshots.get(store, before)
        return snapshot_comparison.compare(old, await snapshots.get(store, after))

    found = with_store(loaded.settings, read)
    if as_json:
        print_json(found)
        return
    for line in compared_lines(found):
        click.echo(plain(line, 300))


@command.command
@click.argument("ids", metavar="ID...", type=storable, nargs=-1, required=True)
@yes_option
@with_settings()
def delete(*, loaded: Loaded, ids: tuple[str, ...], yes: bool) -> None:
    """Delete snapshots.

    Example: watchbell snapshots delete snmhr6zkefh1
    """
    subject = subject_of(list(ids), "snapshot")
    confirm(f"Delete {plain(subject)}?", yes=yes)

    async def act(store: Store) -> int:
        count = await snapshots.delete(store, ids)
        if count:
            await record_change(store, "snapshot.delete", subject)
        return count

    count = with_store(loaded.settings, act)
    if not count:
        raise NotFound(f"there is no snapshot {plain(ids[0], 100)!r}")
    click.echo(f"deleted {count}")


@command.command
@click.argument("name", metavar="[NAME]", type=storable, required=False)
@_of_group
@click.option(
    "--for",
    "seconds",
    type=length,
    default=_HOUR,
    metavar="LENGTH",
    help="How long, at most 7 days. Default: 1 hour.",
)
@click.option("--end", is_flag=True, help="End the watch now.")
@with_settings()
def watch(*, loaded: Loaded, name: str | None, is_group: bool, seconds: int, end: bool) -> None:
    """Take a snapshot each minute, for some time.

    NAME is a server, by id or hostname, or a group. Without it, list what is watched.

    Example: watchbell snapshots watch db-1 --for "2 hours"
    """
    if name is None:
        _list_watches(loaded)
        return
    watches.check(seconds)

    async def act(store: Store) -> str:
        kind, target = await _target(store, name, is_group=is_group)
        if end:
            if not await watches.end(store, kind, target):
                raise NotFound(f"{plain(name)} is not watched")
            await record_change(store, f"{kind}.unwatch", target)
            return f"ended the watch of {plain(name)}"
        now = SYSTEM.now()
        by = operator().actor.display_name
        watch = Watch(type=kind, target=target, until=now + seconds, username=by, created=now)
        await watches.begin(store, watch)
        await record_change(store, f"{kind}.watch", target, f"{seconds} s")
        return f"watching {plain(name)} for {in_words(seconds)}"

    click.echo(with_store(loaded.settings, act))


def _list_watches(loaded: Loaded) -> None:
    async def read(store: Store) -> tuple[list[Watched], dict[str, str]]:
        names = {one.id: one.hostname for one in await servers.every(store)}
        return await watches.every(store), names

    found, names = with_store(loaded.settings, read)
    now = SYSTEM.now()
    rows = [
        [
            one.watch.type,
            plain(names.get(one.watch.target, one.watch.target)),
            when(int(one.watch.until)),
            plain(one.watch.username),
        ]
        for one in found
        if one.watch.until > now
    ]
    if rows:
        show_table(["type", "of", "until", "by"], rows)
    else:
        click.echo("Nothing is watched. `watchbell snapshots watch SERVER` begins it.")


async def _target(store: Store, name: str, *, is_group: bool) -> tuple[Target, str]:
    if is_group:
        return "group", (await groups.get(store, name)).id
    return "server", (await servers.named(store, name)).id
