"""Completes the files of a crawl: its log, its index, and what describes it; then moves them to
where finished files are kept. Every step can be repeated."""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from watchbell import logs
from watchbell.archive import crawl_files
from watchbell.archive.crawl_files import Sidecar
from watchbell.archive.crawl_folder import CrawlFolder, Undertaken
from watchbell.archive.crawl_run import CrawlRun
from watchbell.archive.crawl_work import CrawlWork, WorkEnd, info_of
from watchbell.archive.disk_work import in_thread
from watchbell.archive.model import Crawl, Ending, FinishedFile
from watchbell.archive.start_urls import LIST_NAME
from watchbell.archive.uploading.pending_uploads import PendingUploads
from watchbell.archive.urls import without_userinfo
from watchbell.archive.warc.cdxj import write_index
from watchbell.archive.warc.wacz import write_wacz
from watchbell.archive.warc.writer import WarcWriter
from watchbell.clock import Clock
from watchbell.fleet.agent.sampler import boot_id
from watchbell.probes import probe
from watchbell.settings import Archive as Settings

LOG_URL = "urn:X-watchbell:log"


class CrawlEnd:
    def __init__(
        self, settings: Settings, data: Path, uploads: PendingUploads | None, clock: Clock
    ) -> None:
        """`uploads`: None if finished files stay where they are."""
        self._settings, self._uploads, self._clock = settings, uploads, clock
        self._log = logs.get(role="pipeline")
        self.finished = (
            Path(settings.finished) if settings.finished else data / "archive" / "finished"
        )

    async def complete(self, run: CrawlRun, undertaken: Undertaken) -> Ending:
        """Takes up an end that was interrupted."""
        work = run.work
        end = work.end
        if end is None:
            end = WorkEnd(run.is_aborted, round(self._clock.now(), 3))
            work.log("The crawl was aborted." if end.is_aborted else "The crawl is complete.")
            await self._commit(run, end)
            probe("crawl.ending")
        if not end.names:
            names = await in_thread(self._write, work, undertaken, end)
            end = replace(end, names=names)
            await self._commit(run, end)
            probe("crawl.completed")
        files = await self._moved(work.folder, undertaken, end)
        size = sum(file.size for file in files if file.name.endswith(".warc.gz"))
        return Ending(
            is_aborted=end.is_aborted,
            failure=end.failure,
            files=files,
            warc_size=size,
            finished_at=end.at,
        )

    async def leave(
        self, folder: CrawlFolder, undertaken: Undertaken, files: Sequence[FinishedFile]
    ) -> None:
        """The end of a crawl is recorded: from now on its files are uploaded."""
        if self._uploads:
            await in_thread(self._uploads.add, undertaken, files)
            probe("crawl.uploading")
        await in_thread(folder.remove)

    async def interrupt(
        self, folder: CrawlFolder, undertaken: Undertaken, failure: str = ""
    ) -> str:
        """Keeps what was fetched of a crawl that has failed, or is no longer this pipeline's.
        Returns why it has to be tried again, as on a full disk; nothing once all is kept."""
        ident = undertaken.crawl.ident
        try:
            await self._interrupt(folder, undertaken, failure)
        except (OSError, sqlite3.OperationalError) as error:
            self._log.error("can't keep a crawl now", crawl=ident, reason=str(error))
            return str(error)
        except Exception:  # noqa: BLE001 one crawl must not end the others
            self._log.exception("can't read a crawl", crawl=ident)
            return self.set_aside(folder)
        return ""

    async def _interrupt(self, folder: CrawlFolder, undertaken: Undertaken, failure: str) -> None:
        parts = (folder, undertaken, self._settings, self._clock, boot_id())
        work = await CrawlWork(*parts).recovered()
        try:
            end = work.end
            if end is None:
                at = round(self._clock.now(), 3)
                end = WorkEnd(is_aborted=False, at=at, is_interrupted=True, failure=failure)
            if not end.names:
                names = await in_thread(self._write, work, undertaken, end)
                end = replace(end, names=names)
                work.set_end(end)
                await work.commit()  # from here on, files may be gone from the folder
                probe("crawl.kept")
        finally:
            work.close()
        files = await self._moved(folder, undertaken, end)
        await self.leave(folder, undertaken, files)

    def set_aside(self, folder: CrawlFolder) -> str:
        """Keeps a folder that is damaged, for people to look at. Returns why it can't be moved;
        nothing once it is."""
        place = folder.path.parent.with_name("damaged")
        try:
            place.mkdir(exist_ok=True)
            folder.path.rename(place / f"{folder.path.name}-{int(self._clock.now())}")
        except OSError as error:
            self._log.error("can't move a folder", folder=str(folder.path), reason=str(error))
            return str(error)
        return ""

    async def _commit(self, run: CrawlRun, end: WorkEnd) -> None:
        run.work.set_end(end)
        await run.commit()

    def _write(self, work: CrawlWork, undertaken: Undertaken, end: WorkEnd) -> tuple[str, ...]:
        """Writes everything that belongs to the crawl besides its WARC, and completes that."""
        folder, base = work.folder.path, undertaken.base
        paths = [*work.writer.finish(), self._meta(work, undertaken, end)]
        index = folder / f"{base}.cdxj"
        if work.writer.journal_path.exists():
            write_index(
                work.writer.journal_path,
                index,
                lambda part: crawl_files.final_name(work.writer.path(part).name, base, end.suffix),
            )
            if undertaken.crawl.options.makes_wacz:
                paths.append(_wacz(folder / f"{base}.wacz", paths[:-1], index, undertaken, end))
            paths.append(index)
        found = folder / f"{base}{LIST_NAME}"
        if found.exists():
            paths.append(found)
        sidecar = folder / f"{base}.json"
        files = tuple(
            FinishedFile(crawl_files.final_name(path.name, base, end.suffix), path.stat().st_size)
            for path in paths
        )
        crawl_files.write_sidecar(sidecar, _sidecar(undertaken.crawl, end, files))
        return tuple(path.name for path in [*paths, sidecar])

    def _meta(self, work: CrawlWork, undertaken: Undertaken, end: WorkEnd) -> Path:
        """The log of the crawl, as a WARC of its own."""
        base = f"{undertaken.base}-meta"
        for left in work.folder.path.glob(f"{base}*"):
            left.unlink()
        writer = WarcWriter(work.folder.path, base, info=info_of(undertaken))
        with work.folder.log.open("rb") as log:
            writer.write_resource(LOG_URL, end.at, FileBody(log), "text/plain; charset=utf-8")
        (path,) = writer.finish()
        writer.journal_path.unlink(missing_ok=True)
        return path

    async def _moved(
        self, folder: CrawlFolder, undertaken: Undertaken, end: WorkEnd
    ) -> tuple[FinishedFile, ...]:
        paths = [folder.path / name for name in end.names]
        base = undertaken.base
        moved = await in_thread(crawl_files.move, paths, self.finished, base, end.suffix)
        probe("crawl.moved")
        return moved


class FileBody:
    """A file, as the block of a record."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        self._file.seek(start)
        return self._file.read((self.size if stop is None else stop) - start)


def _wacz(
    target: Path, warcs: list[Path], index: Path, undertaken: Undertaken, end: WorkEnd
) -> Path:
    write_wacz(target, warcs, index, title=without_userinfo(undertaken.crawl.url), created=end.at)
    return target


def _sidecar(crawl: Crawl, end: WorkEnd, files: tuple[FinishedFile, ...]) -> Sidecar:
    return Sidecar(
        aborted=end.is_aborted,
        fetch_depth=crawl.fetch_depth,
        pipeline_id=crawl.pipeline_id,
        queued_at=crawl.queued_at,
        started_by=crawl.started_by,
        started_in=crawl.started_in,
        url=without_userinfo(crawl.url),
        url_file=without_userinfo(crawl.url_file) or None,
        ident=crawl.ident,
        note=crawl.note,
        started_at=crawl.started_at,
        finished_at=end.at,
        files=files,
    )
