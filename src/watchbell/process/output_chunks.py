"""The output of a child as bytes in chunks, for those who work on much of it.

The kernel moves it from the pipe to a file, from which it is taken. So a SIGKILL loses nothing, an
adopter continues where the last supervisor stopped, and however much waits, it is not in memory.
"""

import asyncio
import fcntl
import os
import select
import termios
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path

from watchbell import logs
from watchbell.process.spare_files import SpareFiles

_MOVED = 64 << 10  # at once: all that a pipe usually holds
_MOVES = 4  # at a time, so that a child that writes much leaves the loop to others
_PIPE = 1 << 20  # the most that a pipe holds
_WAITING = 1 << 20  # bytes not yet taken at which the child has to wait
_HOLE = 1 << 20  # bytes that were taken and still use the disk
_RETRY = 1.0  # seconds until a disk that was full is tried again
_FALLOC_FL_KEEP_SIZE, _FALLOC_FL_PUNCH_HOLE = 1, 2


class ChunkFile:
    def __init__(self, path: Path, spare: SpareFiles) -> None:
        """Continues with an existing file. Many commands print nothing, and need none."""
        self._path, self._spare = path, spare
        self._file = -1
        self.size = 0
        """Bytes of output so far. Those that were discarded count, too."""
        self._discarded = 0
        self._is_there = False

    def reopen(self) -> None:
        """Opens what a supervisor before this one has left."""
        if self._path.exists():
            self._open()

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.size = os.fstat(self._file).st_size
        self._is_there = True

    def move(self, pipe: int) -> int:
        """Moves bytes from the pipe to the file, and returns how many: 0 at the end."""
        if self._file < 0:
            if not _has_content(pipe):
                return 0
            self._spare.take(self._path)
            self._open()
        moved = os.splice(pipe, self._file, _MOVED, offset_dst=self.size)
        self.size += moved
        return moved

    def read(self, position: int, most: int) -> bytes:
        return os.pread(self._file, most, position) if self._file >= 0 else b""

    def discard(self, position: int) -> None:
        """Frees the disk space of what is before `position`, where the file system can do that."""
        if self._file >= 0 and position - self._discarded >= _HOLE:
            _punch_hole(self._file, self._discarded, position - self._discarded)
            self._discarded = position

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Closes it, too."""
        if self._is_there:
            self._spare.give(self._path, self._file, self.size)
        self.close()


class ChunkReader:
    """`while chunk := await reader.take(most): …`"""

    def __init__(self, pipe: int, file: ChunkFile) -> None:
        """Takes over the pipe, which must not block, and the file."""
        self._pipe, self._file = pipe, file
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._retry: asyncio.TimerHandle | None = None
        self._is_reading = self._is_over = self._is_closed = False
        self.position = 0
        """Where the next chunk begins, from the beginning of the output. To be set by an adopter
        before it takes the first one."""
        self._go_on()

    @property
    def size(self) -> int:
        """Bytes that the child has written, as far as they were read."""
        return self._file.size

    @property
    def is_taken(self) -> bool:
        """Whether it is over, and all of it was taken."""
        return self._is_over and self.position >= self._file.size

    async def take(self, most: int) -> bytes:
        """The next bytes; none at the end. While nobody takes any, a child that has written much
        blocks, as with a full pipe."""
        await self._wait_for(1)
        if self._is_closed:
            return b""
        chunk = self._file.read(self.position, most)
        self.position += len(chunk)
        self._go_on()
        return chunk

    async def gathered(self, most: int, seconds: float) -> bytes:
        """As `take`, but where there is less than `most`, more can gather for a while."""
        await self._wait_for(1)
        if not self._is_over and self._file.size - self.position < most:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wait_for(most)
        return await self.take(most)

    async def _wait_for(self, size: int) -> None:
        """Until so many bytes wait, or the output is over."""
        while not self._is_over and self._file.size - self.position < size:
            self._news.clear()
            await self._news.wait()

    def discard(self, position: int) -> None:
        """What is before `position` is not needed any more, not even by an adopter."""
        if not self._is_closed:
            self._file.discard(position)

    def overlook(self) -> None:
        """Nobody will take any more."""
        self.position = self._file.size

    def finish(self) -> None:
        """The child is gone: moves what is in the pipe and stops, whoever else holds the pipe."""
        for _ in range(_PIPE // _MOVED):
            if self._is_over or not self._move():
                break
        self._stop()

    def close(self) -> None:
        """Once everything was taken."""
        if not self._is_closed:
            self._stop()
            self._is_closed = True
            self._file.close()

    def _go_on(self) -> None:
        is_full = self._file.size - self.position >= _WAITING
        wanted = not (self._is_over or is_full or self._retry)
        if wanted and not self._is_reading:
            self._loop.add_reader(self._pipe, self._read)
        elif self._is_reading and not wanted:
            self._loop.remove_reader(self._pipe)
        self._is_reading = wanted

    def _read(self) -> None:
        for _ in range(_MOVES):
            if not self._move():
                break
        self._go_on()

    def _move(self) -> bool:
        """Whether there was anything to move."""
        try:
            moved = self._file.move(self._pipe)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != ENOSPC:
                raise
            self._wait_for_space()
            return False
        if moved:
            self._news.set()
        else:
            self._stop()
        return bool(moved)

    def _wait_for_space(self) -> None:
        if self._retry is None:
            logs.get().error("the disk is full: a command's output waits")
            self._retry = self._loop.call_later(_RETRY, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        if not self._is_over:
            self._read()

    def _stop(self) -> None:
        if not self._is_over:
            self._is_over = True
            if self._retry:
                self._retry.cancel()
            self._go_on()
            os.close(self._pipe)
            self._news.set()


def _has_content(pipe: int) -> bool:
    """Whether there is anything to read; False at the end. Raises BlockingIOError if more may
    come."""
    waiting = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    if any(waiting):
        return True
    poll = select.poll()
    poll.register(pipe, 0)
    if poll.poll(0):  # nobody can write any more
        fcntl.ioctl(pipe, termios.FIONREAD, waiting)
        return any(waiting)
    raise BlockingIOError


def _punch_hole(file: int, start: int, length: int) -> None:
    """Python has no call for it. Where it fails, the file stays as large as the output."""
    import ctypes  # noqa: PLC0415  (few outputs are so long)

    mode = _FALLOC_FL_KEEP_SIZE | _FALLOC_FL_PUNCH_HOLE
    fallocate = ctypes.CDLL(None).fallocate
    fallocate(file, mode, ctypes.c_longlong(start), ctypes.c_longlong(length))
