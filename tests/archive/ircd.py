"""Debian's ngircd on loopback, plain or with TLS, and people who use it."""

import asyncio
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest

from tests.servers import HOST, _spawner, held_port
from tests.waiting import eventually, wait_until
from watchbell.archive.irc import lines
from watchbell.archive.irc.connection import Account
from watchbell.archive.irc.lines import Line
from watchbell.settings import Secret

NAME = "irc.example.com"
PASSWORD = "s3cret-of-the-server"
CHANNEL = "#archive"


class Ngircd:
    """One server with its own folder; ends with the test process however that ends."""

    def __init__(self, folder: Path, *, tls: bool = False, password: str = "") -> None:
        if shutil.which("ngircd") is None:
            pytest.skip("Debian's ngircd is not installed")
        self.folder, self._is_tls = folder, tls
        self.ca = _certificate(folder) if tls else None
        self._hold = held_port()
        self.port: int = self._hold.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._password = password
        (folder / "ngircd.conf").write_text(self._config())

    def _config(self) -> str:
        ssl_part = ""
        if self.ca:
            key = self.ca.with_suffix(".key")
            ssl_part = f"[SSL]\nCertFile = {self.ca}\nKeyFile = {key}\nPorts = {self.port}\n"
        ports = "" if self._is_tls else f"Ports = {self.port}\n"
        password = f"Password = {self._password}\n" if self._password else ""
        return (
            f"[Global]\nName = {NAME}\nInfo = test\nListen = {HOST}\n{ports}{password}"
            "ServerUID = 65534\nServerGID = 65534\nMotdPhrase = hello\nMotdFile = /dev/null\n"
            "[Limits]\nMaxConnectionsIP = 0\nMaxNickLength = 12\nMaxPenaltyTime = 0\n"
            "[Options]\nDNS = no\nIdent = no\nPAM = no\nSyslogFacility = local0\n"
            f"{ssl_part}"
        )

    def start(self) -> Self:
        command = ["setpriv", "--pdeathsig", "KILL", "ngircd", "--nodaemon", "--config"]
        with (self.folder / "output").open("ab") as output:
            self._process = _spawner.submit(
                subprocess.Popen[bytes],
                [*command, str(self.folder / "ngircd.conf")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            ).result()
        wait_until(self._answers, 20, f"ngircd answers, see {self.folder / 'output'}")
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "output").read_text()
        try:
            socket.create_connection((HOST, self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(60)

    def suspend(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def close(self) -> None:
        self.kill()
        self._hold.close()

    def trust(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=str(self.ca)) if self.ca else None

    def account(self, **other: Any) -> Account:
        fields: dict[str, Any] = {
            "host": HOST,
            "port": self.port,
            "nick": "watchbell",
            "channels": (CHANNEL,),
            "trust": self.trust(),
            "password": Secret(self._password),
            "rejoin": 0.05,
        }
        return Account(**{**fields, **other})


@contextmanager
def ngircd(**options: Any) -> Iterator[Ngircd]:
    folder = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
    folder.chmod(0o755)
    server = Ngircd(folder, **options)
    try:
        yield server.start()
    finally:
        server.close()
        shutil.rmtree(folder)


def _certificate(folder: Path) -> Path:
    made = ["openssl", "req", "-x509", "-noenc", "-days", "7", "-subj", f"/CN={NAME}"]
    made += ["-newkey", "rsa:2048", "-addext", f"subjectAltName=IP:{HOST}"]
    made += ["-out", str(folder / "server.crt"), "-keyout", str(folder / "server.key")]
    subprocess.run(made, check=True, capture_output=True)
    (folder / "server.key").chmod(0o644)
    return folder / "server.crt"


class Person:
    """Somebody with a plain client, and all lines that it got."""

    def __init__(
        self, nick: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.nick, self._reader, self._writer = nick, reader, writer
        self.raw: list[bytes] = []
        self.got: list[Line] = []

    def sends(self, *words: str) -> None:
        self._writer.write(lines.command(*words))

    def sends_raw(self, line: bytes) -> None:
        self._writer.write(line + b"\r\n")

    def says(self, text: str, to: str = CHANNEL) -> None:
        self.sends("PRIVMSG", to, text)

    async def read(self) -> None:
        with suppress(OSError):
            while raw := await self._reader.readline():
                line = lines.read(raw)
                if line is None:
                    continue
                if line.command == "PING":
                    self.sends("PONG", line.word(0))
                self.raw.append(raw)
                self.got.append(line)

    def texts(self, to: str = CHANNEL) -> list[str]:
        """What was said in a channel, or to this person."""
        return [one.word(1) for one in self.got if one.command == "PRIVMSG" and one.word(0) == to]

    async def hears(self, *words: str, to: str = CHANNEL) -> str:
        """The text with all the words, once it has come."""

        def found() -> str:
            texts = (text for text in self.texts(to) if all(word in text for word in words))
            return next(texts, "")

        return await eventually(found, why=f"{words} among {self.got}")

    async def gets(self, command: str, *words: str) -> Line:
        def found() -> Line | None:
            fits = (
                line
                for line in self.got
                if line.command == command and all(word in line.words for word in words)
            )
            return next(fits, None)

        line = await eventually(found, why=f"{command} {words} among {self.got}")
        assert line is not None
        return line

    async def sees(self, nick: str, channel: str = CHANNEL) -> None:
        """Waits until somebody is in a channel."""

        async def is_there() -> bool:
            self.got = [line for line in self.got if line.command != "353"]
            self.sends("NAMES", channel)
            line = await self.gets("353")
            return any(name.lstrip("@+") == nick for name in line.word(3).split())

        await eventually(is_there, why=f"{nick} is in {channel}")


@asynccontextmanager
async def person(server: Ngircd, nick: str, channel: str = CHANNEL) -> AsyncIterator[Person]:
    reader, writer = await asyncio.open_connection(HOST, server.port, ssl=server.trust())
    somebody = Person(nick, reader, writer)
    reading = asyncio.create_task(somebody.read())
    try:
        if server._password:
            somebody.sends("PASS", server._password)
        somebody.sends("NICK", nick)
        somebody.sends("USER", nick, "0", "*", nick.title())
        await somebody.gets("001")
        if channel:
            somebody.sends("JOIN", channel)
            await somebody.gets("366")
        yield somebody
    finally:
        writer.close()
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
