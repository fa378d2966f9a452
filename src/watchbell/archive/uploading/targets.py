"""Opens the place that finished files are uploaded to."""

from pathlib import Path

from watchbell import logs
from watchbell.archive.uploading.destination import FOLDER, IN_FILES, destination, metadata
from watchbell.archive.uploading.internet_archive import InternetArchive
from watchbell.archive.uploading.object_target import ObjectTarget, bucket
from watchbell.archive.uploading.rsync import Rsync
from watchbell.archive.uploading.target import Target
from watchbell.files.objects import Files
from watchbell.settings import ArchiveUpload


def opened(chosen: ArchiveUpload, files: Files, data: Path) -> Target | None:
    """None if files are not uploaded. Raises BadSettings."""
    where = destination(chosen)
    if where is None:
        return None
    if chosen.secret:
        logs.hide(chosen.secret.reveal())
    if where.kind == "files":
        return ObjectTarget(files, FOLDER, IN_FILES, metadata(chosen))
    if where.kind == "objects":
        place = bucket(chosen, where, data)
        return ObjectTarget(place, "", f"{where.url}/", metadata(chosen))
    if where.kind == "internet archive":
        return InternetArchive(
            *(where.url, chosen.endpoint, chosen.access_key_id, chosen.secret), metadata(chosen)
        )
    return Rsync(where.url, chosen.secret, is_daemon=where.kind == "rsync daemon")
