"""`watchbell gateways`."""

import asyncio

import click
from msgspec.structs import asdict

from watchbell.cli.arguments import limited, storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import counted, first, plain, when
from watchbell.cli.gateways_preview import preview, templates
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, NotFound, Refused
from watchbell.gateways import catalogue, failures, overview, test_send
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.failures import Failure
from watchbell.gateways.outbox import Item, Unfit
from watchbell.gateways.overview import MediumStatus
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened

_medium = click.argument("medium", metavar="MEDIUM", type=storable)


@click.group(invoke_without_command=True)
@with_settings()
@as_json
@click.pass_context
def command(context: click.Context, *, loaded: Loaded, as_json: bool) -> None:
    """Show the state of each medium in the settings: queue, deliveries and failures.

    Example: watchbell gateways
    """
    if context.invoked_subcommand is None:
        _show(loaded.settings, as_json)


command.add_command(preview)
command.add_command(templates)


def _show(settings: Settings, as_json: bool) -> None:
    media = catalogue.configured(settings)
    if not media and not as_json:
        click.echo("No medium is configured. Add a table such as [gateways.email] to the settings.")
        return
    found = asyncio.run(_statuses(settings, [one.name for one in media]))
    if as_json:
        now = SYSTEM.now()
        print_json([{**asdict(one), "health": overview.health(one, now)} for one in found])
        return
    show_table(
        [
            "medium",
            "state",
            "queued",
            "in delivery",
            "delivered",
            "failed",
            "last success",
            "answer",
        ],
        [_row(medium_status) for medium_status in found],
        right=["queued", "in delivery", "delivered", "failed"],
    )
    for medium_status in found:
        if medium_status.last_error:
            time, reason = when(medium_status.last_failure), plain(medium_status.last_error)
            click.echo(f"\nlast error of {medium_status.medium}: {time} {reason}")


async def _statuses(settings: Settings, media: list[str]) -> list[MediumStatus]:
    async with opened(settings) as store:
        return await overview.statuses(store, media)


def _row(medium_status: MediumStatus) -> list[str]:
    state = plain(overview.health(medium_status, SYSTEM.now()).words, 80)
    counts = [
        medium_status.queued,
        medium_status.on_its_way,
        medium_status.delivered,
        medium_status.failed,
    ]
    answer = plain(medium_status.last_answer, 60)
    return [
        medium_status.medium,
        state,
        *(f"{n:,}" for n in counts),
        when(medium_status.last_success),
        answer,
    ]


@command.command
@_medium
@click.argument("address", metavar="ADDRESS", type=storable)
@with_settings()
def test(*, loaded: Loaded, medium: str, address: str) -> None:
    """Send a test message and show the server's answer.

    Example: watchbell gateways test email alice@example.com
    """
    one = _configured(loaded.settings, medium)

    def report(words: str) -> None:
        click.echo(f"watchbell: {words}", err=True)

    answer = asyncio.run(test_send.send_test(loaded.settings, one, address, report))
    click.echo(f"the server answered: {plain(answer)}")


@command.command
@_medium
@limited(50)
@with_settings()
@as_json
def failed(*, loaded: Loaded, medium: str, limit: int, as_json: bool) -> None:
    """List alerts that could not be delivered, with the reason.

    Example: watchbell gateways failed email --limit 10
    """
    one = _configured(loaded.settings, medium)
    found = [failures.failure_of(each) for each in asyncio.run(_failed(loaded.settings, one.name))]
    if as_json:
        print_json(found[: limit or None])
        return
    if not found:
        click.echo("No alerts have failed.")
        return
    rows, more = first([_failure_row(failure) for failure in found], limit)
    show_table(["since", "check", "state", "address", "tries", "reason", "id"], rows)
    if more:
        click.echo(more)


async def _failed(settings: Settings, medium: str) -> list[Item | Unfit]:
    async with opened(settings) as store:
        return await failures.every(store, medium)


def _failure_row(one: Failure) -> list[str]:
    check = plain(one.check or one.raw, 60)
    tail = [str(one.tries), plain(one.error, 120), plain(one.id)]
    return [when(one.since), check, one.state, plain(one.address, 60), *tail]


@command.command
@_medium
@click.argument("ids", nargs=-1, metavar="[ID]...", type=storable)
@click.option("--all", "everything", is_flag=True, help="Send all failed alerts again.")
@with_settings()
def retry(*, loaded: Loaded, medium: str, ids: tuple[str, ...], everything: bool) -> None:
    """Send failed alerts again: those with the given ids, or all.

    Example: watchbell gateways retry email --all
    """
    if bool(ids) == everything:
        raise Refused("give ids, as `watchbell gateways failed` shows them, or --all")
    one = _configured(loaded.settings, medium)
    again = asyncio.run(_retried(loaded.settings, one.name, ids))
    click.echo(f"{counted(again, 'alert')} will be sent again")


async def _retried(settings: Settings, medium: str, ids: tuple[str, ...]) -> int:
    async with opened(settings) as store:
        if not ids:
            again = await failures.retry_all(store, medium, SYSTEM.now())
            if again:
                await record_change(store, "gateway.retry", medium, counted(again, "alert"))
            return again
        found = await failures.named(store, medium, ids)
        unknown = set(ids) - {one.id for one in found}
        if unknown:
            raise NotFound(f"{medium} has no failed alert {plain(min(unknown))!r}")
        again = await failures.retry(store, medium, found, SYSTEM.now())
        if again:
            await record_change(store, "gateway.retry", medium, counted(again, "alert"))
        return again


def _configured(settings: Settings, medium: str) -> Configured:
    media = {one.name: one for one in catalogue.configured(settings)}
    if medium not in media:
        names = ", ".join(media) or "none"
        raise BadSettings(f"there is no medium {plain(medium)!r} in the settings; there is {names}")
    return media[medium]
