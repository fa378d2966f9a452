"""Uploads by rsync: to a daemon, or over SSH."""

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from pathlib import Path

from watchbell.archive.uploading.target import Found, Outgoing, Progress, UploadFailed
from watchbell.settings import Secret, environment

_TIMEOUT = 300
"""Seconds without a byte after which rsync gives up."""
_CONNECT = 60
_PARTIAL = ".watchbell-partial"
"""The folder of what arrived before a connection broke, from which the next attempt goes on."""
_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "SSH_AUTH_SOCK", "TMPDIR")
"""Nothing that may be secret."""
_SSH = f"ssh -o BatchMode=yes -o ConnectTimeout={_CONNECT}"
_CHANGE = re.compile(r"^<f(\S+) ", re.MULTILINE)
"""What rsync would change of a file that it sends; all of it for one that is new."""
_PARTIAL_TRANSFER = 23
"""The exit code that concerns one file: it can't be read here, or not be written there."""


class Rsync:
    patience = 0.0

    def __init__(self, folder: str, secret: Secret, *, is_daemon: bool) -> None:
        """`folder` ends with a slash."""
        self.shown = self._folder = folder
        self._secret, self._is_daemon = secret, is_daemon

    async def look(self, file: Outgoing) -> Found:
        """Has the other side compute the digest; nothing is changed there."""
        options = ["--dry-run", "--checksum", "--out-format=%i %n"]
        changes = _CHANGE.search(await self._run(options, file.path, self._folder))
        if not changes:
            return Found.SAME
        return Found.MISSING if set(changes[1]) == {"+"} else Found.OTHER

    async def send(self, file: Outgoing, progress: Progress) -> None:
        options = ["--times", "--ignore-existing", "--partial", f"--partial-dir={_PARTIAL}"]
        await self._run([*options, "--chmod=F644"], file.path, self._folder)
        progress(file.size)

    async def fetch(self, place: str, target: Path) -> None:
        """Raises UploadFailed."""
        await self._run(["--times"], place, f"{target.parent}/{target.name}")

    def place(self, file: Outgoing) -> str:
        return self._folder + file.name

    async def close(self) -> None:
        pass

    async def _run(self, options: list[str], source: Path | str, target: str) -> str:
        command = ["rsync", f"--timeout={_TIMEOUT}", *options]
        has_password = self._is_daemon and bool(self._secret)
        if self._is_daemon:
            command.append(f"--contimeout={_CONNECT}")
        else:
            command.append(f"--rsh={_SSH}")
        if has_password:
            command.append("--password-file=-")
        environ = environment()
        try:
            process = await asyncio.create_subprocess_exec(
                *(*command, "--", str(source), target),
                stdin=PIPE if has_password else DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                env={name: environ[name] for name in _INHERITED if name in environ},
                start_new_session=True,
            )
        except OSError as error:
            raise UploadFailed(f"rsync can't be started: {error.strerror}") from error
        given = f"{self._secret.reveal()}\n".encode() if has_password else None
        try:
            output, errors = await process.communicate(given)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            await process.wait()
        if process.returncode:
            raise self._failure(process.returncode, errors.decode(errors="replace"))
        return output.decode(errors="replace")

    def _failure(self, code: int, errors: str) -> UploadFailed:
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        words = "; ".join(lines[:2])[:300] or "no reason was given"
        reason = f"rsync to {self.shown} failed with {code}: {words}"
        return UploadFailed(reason, is_outage=code != _PARTIAL_TRANSFER)
