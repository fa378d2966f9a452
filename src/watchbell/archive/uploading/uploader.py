"""Uploads finished files, one after the other, until each is whole where it belongs."""

import asyncio
import os
from pathlib import Path

from msgspec.structs import replace

from watchbell import logs
from watchbell.archive import history
from watchbell.archive.model import FinishedFile
from watchbell.archive.pipelines import UploadProgress
from watchbell.archive.uploading.digests import digests_of
from watchbell.archive.uploading.pending_uploads import PendingUpload, PendingUploads, UploadFile
from watchbell.archive.uploading.target import Found, Outgoing, Target, UploadFailed
from watchbell.clock import Clock
from watchbell.errors import WatchbellError
from watchbell.probes import probe
from watchbell.store.client import Store, patiently

_LOOK = 5.0
"""Seconds between two looks for what appears late, or can be tried again."""
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 600.0
_AGAIN = 3_600.0
"""Seconds until a file that can't be uploaded is tried again."""
_LATE = 60.0
"""Seconds between two looks whether a file has appeared."""
_LARGE = (".warc.gz", ".wacz")
"""What is removed after the upload; the index and the description stay."""


class Uploader:
    def __init__(
        self,
        store: Store,
        target: Target,
        finished: Path,
        pending: PendingUploads,
        clock: Clock,
        *,
        keeps: bool,
    ) -> None:
        self._store, self._target, self._finished = store, target, finished
        self._pending, self._clock, self._keeps = pending, clock, keeps
        self._log = logs.get(role="pipeline")
        self._postponed: dict[str, float] = {}
        """By file: when it is tried again, on a clock that is never set."""
        self._refused: dict[str, str] = {}
        """By file: why it can't be uploaded."""
        self._sent = 0
        self._outage = ""
        self._pause = _FIRST_PAUSE
        self._more = asyncio.Event()
        self._is_working = True

    def look_again(self) -> None:
        """There is more to upload."""
        self._more.set()

    @property
    def is_idle(self) -> bool:
        """Whether it only waits: all is done, or can't be done now."""
        return not self._is_working and (bool(self._outage) or not self._more.is_set())

    def progress(self) -> UploadProgress:
        left = [file for one in self._pending.every() for file in one.files if not file.is_done]
        problem = self._outage or next(iter(self._refused.values()), "")
        size = sum(file.size for file in left)
        return UploadProgress(files=len(left), size=size, sent=self._sent, problem=problem)

    async def run(self) -> None:
        try:
            while True:
                self._more.clear()
                self._is_working = True
                pause = await self._round()
                self._is_working = False
                await self._wait(pause)
        finally:
            await self._target.close()

    async def _wait(self, seconds: float) -> None:
        if self._outage:
            await asyncio.sleep(seconds)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._more.wait()
        except TimeoutError:
            pass

    async def _round(self) -> float:
        """One attempt at everything that is due. Returns the seconds until the next one."""
        for upload in self._pending.every():
            if self._is_postponed(upload.base):
                continue
            try:
                await self._upload(upload)
            except (WatchbellError, OSError) as error:
                return self._begin_outage(error)
            except Exception:  # noqa: BLE001 one crawl must not hold up the files of others
                self._log.exception("an upload failed", crawl=upload.ident)
                self._postponed[upload.base] = self._clock.monotonic() + _AGAIN
        return _LOOK

    def _is_postponed(self, name: str) -> bool:
        return self._postponed.get(name, 0) > self._clock.monotonic()

    def _begin_outage(self, error: WatchbellError | OSError) -> float:
        if not self._outage:
            self._log.warning("can't upload now; tries again", reason=str(error))
        self._outage = str(error)
        pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
        return pause

    def _end_outage(self) -> None:
        if self._outage:
            self._log.info("uploads again", to=self._target.shown)
        self._outage, self._pause = "", _FIRST_PAUSE

    # The files of one crawl.

    async def _upload(self, upload: PendingUpload) -> None:
        for file in upload.files:
            if file.is_done or self._is_postponed(file.name):
                continue
            try:
                upload = await self._attempted(upload, file)
            except UploadFailed as error:
                if error.is_outage:
                    raise
                self._refuse(file, str(error))
            except OSError as error:
                self._refuse(file, f"{file.name} can't be read: {error}")
            finally:
                self._sent = 0
        if all(file.is_done for file in upload.files):
            await self._complete(upload)

    def _refuse(self, file: UploadFile, reason: str) -> None:
        if self._refused.get(file.name) != reason:
            self._log.error("can't upload a file", file=file.name, reason=reason)
        self._refused[file.name] = reason
        self._postponed[file.name] = self._clock.monotonic() + _AGAIN

    async def _attempted(self, upload: PendingUpload, file: UploadFile) -> PendingUpload:
        path = self._finished / file.name
        if not path.is_file():
            self._log.error("a file is gone before its upload", file=str(path))
            self._refused.pop(file.name, None)
            return self._saved(upload, replace(file, is_gone=True))
        if file.digests is None:
            digests = await asyncio.to_thread(digests_of, path)
            file = replace(file, digests=digests, size=path.stat().st_size)
            upload = self._saved(upload, file)
        outgoing = self._outgoing(upload, file, path)
        found = await self._target.look(outgoing)
        is_awaited = self._clock.now() < file.sent_at + self._target.patience
        if found is Found.MISSING and not is_awaited:
            probe("upload.sending")
            await self._target.send(outgoing, self._show)
            probe("upload.sent")
            file = replace(file, sent_at=self._clock.now())
            upload = self._saved(upload, file)
            found = await self._target.look(outgoing)
        self._end_outage()
        return self._judged(upload, file, outgoing, found)

    def _judged(
        self, upload: PendingUpload, file: UploadFile, outgoing: Outgoing, found: Found
    ) -> PendingUpload:
        where = self._target.place(outgoing)
        if found is Found.OTHER:
            reason = f"{where} has other content, and is not replaced; move it away"
            raise UploadFailed(reason, is_outage=False)
        if found is Found.MISSING:
            if not self._target.patience:
                raise UploadFailed(f"{where} was sent, but is not there")
            self._postponed[file.name] = self._clock.monotonic() + _LATE
            return upload
        self._refused.pop(file.name, None)
        self._postponed.pop(file.name, None)
        upload = self._saved(upload, replace(file, place=where))
        probe("upload.verified")
        return upload

    def _outgoing(self, upload: PendingUpload, file: UploadFile, path: Path) -> Outgoing:
        assert file.digests
        return Outgoing(
            path=path,
            size=file.size,
            digests=file.digests,
            url=upload.url,
            ident=upload.ident,
            started_at=upload.started_at,
            total=upload.size,
            is_last=file.name == upload.files[-1].name,
        )

    def _show(self, sent: int) -> None:
        self._sent = sent

    def _saved(self, upload: PendingUpload, file: UploadFile) -> PendingUpload:
        upload = upload.changed(file)
        self._pending.save(upload)
        return upload

    async def _complete(self, upload: PendingUpload) -> None:
        files = [
            FinishedFile(file.name, file.size, file.place, file.digests.sha256)
            for file in upload.files
            if file.place and file.digests
        ]
        await patiently(
            lambda: history.set_places(self._store, upload.ident, upload.queued_at, files)
        )
        probe("upload.recorded")
        if not self._keeps:
            await asyncio.to_thread(self._remove, [file.name for file in files])
        self._pending.remove(upload)
        self._log.info("uploaded", crawl=upload.ident, files=len(files), to=self._target.shown)

    def _remove(self, names: list[str]) -> None:
        os.sync()  # the destination may be a folder of this machine
        for name in names:
            if name.endswith(_LARGE):
                (self._finished / name).unlink(missing_ok=True)
                probe("upload.removed")
