"""`watchbell gateways preview` and `watchbell gateways templates`."""

from pathlib import Path

import click

from watchbell.cli.arguments import storable
from watchbell.cli.formatting import counted, plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.errors import NotFound, Refused
from watchbell.gateways import catalogue
from watchbell.gateways.message_texts import KINDS, PARTS
from watchbell.gateways.test_send import Part, rendered, style
from watchbell.settings import Loaded


@click.command
@click.argument("medium", metavar="MEDIUM", type=storable)
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
            _show(one)
    for one in parts:
        if one.wrong:
            click.echo(f"watchbell: {plain(one.wrong)}", err=True)
    if any(one.wrong for one in parts):
        click.get_current_context().exit(1)


def _show(one: Part) -> None:
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


@click.command
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
