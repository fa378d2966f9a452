"""Gets files of a crawl to this machine, where a command needs them."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from watchbell.archive import stored_files
from watchbell.archive.model import FinishedFile
from watchbell.archive.uploading.retrieval import retrieve
from watchbell.cli.formatting import plain
from watchbell.errors import NotFound, Refused
from watchbell.files.objects import opened
from watchbell.settings import Settings
from watchbell.units import counted, in_bytes


async def local_copies(
    settings: Settings, files: Sequence[FinishedFile], scratch: Path
) -> list[Path]:
    """Fetches those that are not here into `scratch`, and reports it on standard error. Raises
    NotFound, Refused."""
    folder = stored_files.finished_folder(settings)
    missing = [file for file in files if not (folder / file.name).is_file()]
    for file in missing:
        if not file.place or not stored_files.is_plain(file.name):
            raise NotFound(stored_files.whereabouts(file))
    if missing:
        await _fetch(settings, missing, scratch)
    return [(scratch if file in missing else folder) / file.name for file in files]


def _places(files: Sequence[FinishedFile]) -> str:
    """The folders of the files, or the first of them."""
    folders = list(dict.fromkeys(file.place.removesuffix(file.name) for file in files))
    return plain(folders[0], 200) + (" and elsewhere" if len(folders) > 1 else "")


async def _fetch(settings: Settings, missing: Sequence[FinishedFile], scratch: Path) -> None:
    size = sum(file.size for file in missing)
    free = shutil.disk_usage(scratch).free
    many = f"{counted(len(missing), 'file')}, {in_bytes(size)}"
    if size > free:
        raise Refused(f"{many} would have to be fetched, but {scratch} has {in_bytes(free)} left")
    click.echo(f"Fetching {many}, uploaded to {_places(missing)}", err=True)
    place = opened(settings.files, settings.data, create=False)
    with click.progressbar(length=size, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for file in missing:
            await retrieve(settings, place, file, scratch / file.name, bar.update)
