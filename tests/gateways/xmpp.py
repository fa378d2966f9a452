"""Debian's prosody on loopback, with rooms and TLS, and people who use it."""

import asyncio
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest
from slixmpp import JID

from tests.servers import HOST, _spawner, held_port
from tests.waiting import eventually, wait_until
from watchbell.errors import DeliveryFailed
from watchbell.gateways.xmpp_client import Account
from watchbell.gateways.xmpp_connection import Connection
from watchbell.settings import Secret

DOMAIN = "example.com"
ROOMS = f"conference.{DOMAIN}"
OPS = f"ops@{ROOMS}"
PASSWORD = "s3cret-of-everybody"
PEOPLE = ("alice", "bob", "charlie", "watchbell")


class Prosody:
    """One server with its own folder; ends with the test process however that ends."""

    def __init__(self, folder: Path, *, tls: str = "starttls", confirms: bool = True) -> None:
        if shutil.which("prosody") is None:
            pytest.skip("Debian's prosody is not installed")
        self.folder = folder
        self.ca = _certificate(folder)
        self._hold = held_port()
        self.port: int = self._hold.getsockname()[1]
        self.log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        accounts = folder / "data" / DOMAIN.replace(".", "%2e") / "accounts"
        accounts.mkdir(parents=True)
        for person in PEOPLE:
            (accounts / f"{person}.dat").write_text(f'return {{ ["password"] = "{PASSWORD}" }};\n')
        (folder / "prosody.cfg.lua").write_text(self._config(tls, confirms))

    def _config(self, tls: str, confirms: bool) -> str:
        modules = ["saslauth", "roster", "presence", "message", "disco", "ping", "offline"]
        modules += ["smacks"] if confirms else []
        modules += ["tls"] if tls != "none" else []
        ports = f"c2s_ports = {{ {self.port} }}"
        if tls == "direct":
            ports = f"c2s_ports = {{}}\nc2s_direct_tls_ports = {{ {self.port} }}"
        return f"""
run_as_root = true
data_path = "{self.folder}/data"
pidfile = "{self.folder}/pid"
interfaces = {{ "{HOST}" }}
{ports}
modules_enabled = {{ {", ".join(f'"{one}"' for one in modules)} }}
modules_disabled = {{ "s2s" }}
authentication = "internal_plain"
c2s_require_encryption = {str(tls != "none").lower()}
ssl = {{ certificate = "{self.ca}", key = "{self.ca.with_suffix(".key")}" }}
log = {{ info = "{self.log}" }}
VirtualHost "{DOMAIN}"
Component "{ROOMS}" "muc"
"""

    def start(self) -> Self:
        command = ["setpriv", "--pdeathsig", "KILL", "prosody", "-F"]
        with (self.folder / "output").open("ab") as output:
            self._process = _spawner.submit(
                subprocess.Popen[bytes],
                [*command, "--config", str(self.folder / "prosody.cfg.lua")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            ).result()
        wait_until(self._answers, 20, f"prosody answers, see {self.log}")
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "output").read_text()
        try:
            socket.create_connection((HOST, self.port), 1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        self._hold.close()

    def _end(self, number: signal.Signals) -> None:
        self._signal(number)
        self.resume()
        if self._process is not None:
            self._process.wait(60)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def account(self, person: str, **other: Any) -> Account:
        """Somebody's, over STARTTLS."""
        fields: dict[str, Any] = {
            "jid": f"{person}@{DOMAIN}",
            "password": Secret(PASSWORD),
            "host": HOST,
            "port": self.port,
            "trust": ssl.create_default_context(cafile=str(self.ca)),
            "nick": person.title(),
        }
        return Account(**{**fields, **other})


@contextmanager
def prosody(**options: Any) -> Iterator[Prosody]:
    folder = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
    server = Prosody(folder, **options)
    try:
        yield server.start()
    finally:
        server.close()
        shutil.rmtree(folder)


def _certificate(folder: Path) -> Path:
    made = ["openssl", "req", "-x509", "-noenc", "-days", "7", "-subj", f"/CN={DOMAIN}"]
    made += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    made += ["-addext", f"subjectAltName=DNS:{DOMAIN},DNS:{ROOMS}"]
    made += ["-out", str(folder / "server.crt"), "-keyout", str(folder / "server.key")]
    subprocess.run(made, check=True, capture_output=True)
    return folder / "server.crt"


class Person:
    """Somebody with a client, and all that it got; `late` for what was kept meanwhile, too."""

    def __init__(self, account: Account, *, late: bool = False) -> None:
        self._late = late
        self.stanzas: list[Any] = []
        self.link = Connection(account, lambda _: None)
        self.client = self.link._client
        self.client.add_event_handler("message", self._gets)
        self.present: set[str] = set()
        """Nicks that were in a room while we were."""
        self.client.add_event_handler("groupchat_presence", self._sees)

    def _gets(self, stanza: Any) -> None:
        if self._late or stanza.get_plugin("delay", check=True) is None:
            self.stanzas.append(stanza)

    def _sees(self, stanza: Any) -> None:
        self.present.add(stanza["from"].resource)

    @property
    def texts(self) -> list[str]:
        return [stanza["body"] for stanza in self.stanzas]

    @property
    def ids(self) -> list[str]:
        return [stanza["id"] for stanza in self.stanzas]

    def says(self, to: str, text: str) -> None:
        kind: Any = "groupchat" if to.endswith(f"@{ROOMS}") else "chat"
        self.client.send_message(mto=JID(to), mbody=text, mtype=kind)

    async def hears(self, *words: str) -> str:
        """The text with all the words, once it has come."""

        def found() -> str:
            fits = (text for text in self.texts if all(word in text for word in words))
            return next(fits, "")

        return await eventually(found, why=f"{words} among {self.texts}")


@asynccontextmanager
async def person(
    server: Prosody, name: str, *rooms: str, late: bool = False, **other: Any
) -> AsyncIterator[Person]:
    who = Person(server.account(name, **other), late=late)
    try:
        await who.link.open()
        for room in rooms:
            await eventually(partial(_entered, who, room), why=f"{name} enters {room}")
        yield who
    finally:
        await who.link.close()


async def _entered(who: Person, room: str) -> bool:
    """Not at once where somebody else is just making the room."""
    with suppress(DeliveryFailed):
        await who.link.enter(room)
        return True
    return False


@asynccontextmanager
async def beside(work: Callable[[], Any]) -> AsyncIterator[None]:
    """The work goes on meanwhile, until its cancellation; it must not end before."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work())
        yield
        assert not task.done()
        task.cancel()
