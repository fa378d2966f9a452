"""The commands of `watchbell cron` about instances, the processes that run the jobs."""

import click

from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import plain, since
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.cron import instances, jobs
from watchbell.settings import Loaded
from watchbell.store.client import Store


@click.command("instances")
@with_settings()
@as_json
def list_instances(*, loaded: Loaded, as_json: bool) -> None:
    """List the instances: host, jobs, current runs and state.

    Example: watchbell cron instances
    """
    found = with_store(loaded.settings, instances.instances)
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("No instances are running. Start one with `watchbell run cron`.")
        return
    now = int(SYSTEM.now())
    rows = [
        [
            plain(one.name),
            plain(one.host),
            str(one.pid),
            f"{one.jobs:,}",
            f"{one.running} of {one.capacity}",
            instances.state(one),
            f"{since(int(one.seen), now)} ago",
            plain(", ".join(one.tags)),
        ]
        for one in found
    ]
    show_table(["instance", "host", "process", "jobs", "running", "state", "seen", "tags"], rows)


@click.command
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...", type=storable)
@with_settings()
def drain(*, loaded: Loaded, hosts: tuple[str, ...]) -> None:
    """Drain the instances on these hosts. They finish their runs and start no new ones, until
    `watchbell cron reload`.

    Example: watchbell cron drain worker-3.example.com
    """

    async def ask(store: Store) -> None:
        await jobs.drain(store, hosts)
        await record_change(store, "cron.drain", ", ".join(hosts))

    with_store(loaded.settings, ask)
    click.echo(
        f"draining {', '.join(map(plain, hosts))}; `watchbell cron instances` shows the progress"
    )


@click.command
@with_settings()
def reload(*, loaded: Loaded) -> None:
    """Reload the jobs on all instances. Drained instances start runs again.

    Example: watchbell cron reload
    """

    async def ask(store: Store) -> None:
        await jobs.reload(store)
        await record_change(store, "cron.reload")

    with_store(loaded.settings, ask)
    click.echo("asked all instances to reload")
