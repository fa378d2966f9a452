"""`watchbell gateways`."""

import asyncio
from pathlib import Path

import click
from msgspec.structs import asdict

from watchbell.cli.arguments import limited, storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import first, plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, NotFound, Refused
from watchbell.gateways import catalogue, failures, overview, test_send
from watchbell.gateways.catalogue import Configured
from watchbell.gateways.failures import Failure
from watchbell.gateways.message_texts import KINDS, PARTS
from watchbell.gateways.overview import MediumStatus
from watchbell.gateways.test_send import Part, rendered, style
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.units import counted

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


def _show(settings: Settings, as_json: bool) -> None:
    media = catalogue.configured(settings)
    if not media and not as_json:
        click.echo("No medium is configured. Add a table such as [gateways.email] to the settings.")
        return
    names = [one.name for one in media]
    found = with_store(settings, lambda store: overview.statuses(store, names))
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
    every = with_store(loaded.settings, lambda store: failures.every(store, one.name))
    found = [failures.failure_of(each) for each in every]
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
    again = with_store(loaded.settings, lambda store: _retried(store, one.name, ids))
    click.echo(f"{counted(again, 'alert')} will be sent again")


async def _retried(store: Store, medium: str, ids: tuple[str, ...]) -> int:
    if ids:
        found = await failures.named(store, medium, ids)
        unknown = set(ids) - {one.id for one in found}
        if unknown:
            raise NotFound(f"{medium} has no failed alert {plain(min(unknown))!r}")
        again = await failures.retry(store, medium, found, SYSTEM.now())
    else:
        again = await failures.retry_all(store, medium, SYSTEM.now())
    if again:
        await record_change(store, "gateway.retry", medium, counted(again, "alert"))
    return again


@command.command
@_medium
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.option("--part", type=click.Choice(PARTS), help="Print only this part.")
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the HTML part to a file, to open in a browser.",
)
@with_settings()
@as_json
def preview(
    *, loaded: Loaded, medium: str, kind: str, part: str | None, html: Path | None, as_json: bool
) -> None:
    """Show the message that a medium sends for a sample alert. Shows the template of each part, and
    errors in templates. KIND is problem, recovery, acknowledgement, test, rollup_problem or
    rollup_recovery.

    Example: watchbell gateways preview email problem --html problem.html
    """
    parts = rendered(loaded.settings, medium, kind, [part] if part else PARTS)
    if html is not None:
        _write_html(html, medium, rendered(loaded.settings, medium, kind, ["html"])[0])
    if as_json:
        print_json(parts)
    elif part is not None:
        click.echo(parts[0].text)
    else:
        for one in parts:
            _show_part(one)
    for one in parts:
        if one.wrong:
            click.echo(f"watchbell: {plain(one.wrong)}", err=True)
    if any(one.wrong for one in parts):
        click.get_current_context().exit(1)


def _show_part(one: Part) -> None:
    origin = plain(one.file) if one.file and not one.wrong else "built in"
    if one.part == "html":
        text = f"{len(one.text):,} characters; --html FILE writes them" if one.text else "none"
        click.echo(f"html, {origin}: {text}")
        return
    lines = "\n".join(f"    {plain(line, 10_000)}".rstrip() for line in one.text.split("\n"))
    click.echo(f"{one.part}, {origin}:\n\n{lines}\n")


def _write_html(file: Path, medium: str, one: Part) -> None:
    if not one.text:
        raise Refused(f"messages of {plain(medium)} have no HTML part")
    try:
        file.write_text(one.text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{file} can't be written: {error.strerror}") from None


@command.command
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("media", nargs=-1, metavar="[MEDIUM]...", type=storable)
@with_settings()
def templates(*, loaded: Loaded, folder: Path, media: tuple[str, ...]) -> None:
    """Copy the built-in templates into a folder. Copies those of the given media, or of all media
    in the settings, as a start for your own. Existing files are never overwritten.

    Example: watchbell gateways templates /etc/watchbell/templates email
    """
    from watchbell.gateways.templates import built_in_files  # noqa: PLC0415  (slow to import)

    wanted = media or [one.name for one in catalogue.configured(loaded.settings)]
    if not wanted:
        raise NotFound("no medium is configured; name the media whose templates you want")
    files = {
        folder / medium / name: source
        for medium in wanted
        for name, source in built_in_files(style(loaded.settings, medium)).items()
    }
    present = [path for path in files if path.exists()]
    if present:
        raise Refused(f"{present[0]} exists already; nothing was written")
    try:
        for path, source in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"{error.filename} can't be written: {error.strerror}") from None
    place = plain(str(folder))
    click.echo(
        f"wrote {counted(len(files), 'template')} to {place}; delete those you don't change,"
    )
    click.echo(f'and name the folder in the settings: delivery.templates = "{place}"')


def _configured(settings: Settings, medium: str) -> Configured:
    media = {one.name: one for one in catalogue.configured(settings)}
    if medium not in media:
        names = ", ".join(media) or "none"
        raise BadSettings(f"there is no medium {plain(medium)!r} in the settings; there is {names}")
    return media[medium]
