"""`watchbell up` with contacts, and servers that record when each message arrives."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.gateways import http_sink
from tests.servers import HOST, held_port
from watchbell.alerting import contacts
from watchbell.alerting.model import Contact, Medium
from watchbell.clock import SYSTEM
from watchbell.store import url as store_url
from watchbell.store.client import Store

PEOPLE, ENTITIES = 10, 100
_FSYNC = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
while True:
    os.pwrite(file, os.urandom(1 << 20), 0)
    os.fsync(file)
"""


class Receipts:
    """When the event with each number arrived at each server, by the monotonic clock."""

    def __init__(self) -> None:
        self.times: dict[tuple[str, int], float] = {}

    def note(self, medium: str, content: bytes) -> None:
        found = re.search(rb"number (\d+)", content)
        if found:
            self.times.setdefault((medium, int(found[1])), SYSTEM.monotonic())

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.note("email", envelope.content)
        return "250 OK"


@asynccontextmanager
async def sinks() -> AsyncIterator[tuple[Receipts, int, str]]:
    """The receipts, the port of the mail server and the URL of the web server."""
    receipts, loop = Receipts(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(receipts, hostname="mail.example.com"), HOST, 0)
    async with server, http_sink.running() as web:

        async def note() -> None:
            receipts.note("webhook", web.received.pop().body)

        web.meanwhile = note
        yield receipts, server.sockets[0].getsockname()[1], web.url


@contextmanager
def up(folder: Path, mail_port: int) -> Iterator[str]:
    """Runs `watchbell up`; yields the URL of its store."""
    config = folder / "watchbell.toml"
    config.write_text(
        f'[gateways.email]\nhost = "127.0.0.1"\nport = {mail_port}\n'
        'from_address = "watchbell@example.com"\n'
        '[gateways.webhook]\nallow_networks = ["127.0.0.0/8"]\n'
    )
    data = folder / "data"
    command = [sys.executable, "-P", "-m", "watchbell", "up", "--data", str(data), "--port", "0"]
    with held_port() as hold:
        environment = {**os.environ, "WATCHBELL_WEB_PORT": str(hold.getsockname()[1])}
        command += ["--config", str(config)]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            assert process.stderr is not None
            try:
                while b'"serving"' not in process.stderr.readline():
                    pass
                with subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL):
                    yield f"unix://{data}/store.sock"
                    process.terminate()
            finally:
                process.terminate()


@contextmanager
def busy(folder: Path) -> Iterator[None]:
    """Eight busy processes, two of which sync the disk."""
    with ExitStack() as stack:
        for n in range(8):
            code, name = (_FSYNC, str(folder / f"busy-{n}")) if n < 2 else ("while True: pass", "")
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", code, name]))
            stack.callback(process.kill)
        yield


def event(check: int, state: str, number: int) -> str:
    """An event about one of the checks; each entity has ten."""
    fields: dict[str, Any] = {
        "entity": f"host-{check // 10}.example.com",
        "check": f"HTTP port {check % 10}",
        "type": "service",
        "state": state,
        "summary": f"this is number {number}",
        "initial_failure_delay": 0,
    }
    return json.dumps(fields)


async def people(store: Store, url: str) -> None:
    """Save ten contacts with mail and webhook, each for a tenth of the entities."""
    for n in range(PEOPLE):
        name = f"person-{n}"
        media = {
            "email": Medium(address=f"{name}@example.com"),
            "webhook": Medium(address=f"{url}/hook/{n}"),
        }
        await contacts.save(store, Contact(id=name, first_name="Alice", media=media))
    for n in range(ENTITIES):
        identifier = f"entity-{n}"
        name = f"host-{n}.example.com"
        await store.call("HSET", "all_entity_ids_by_name", name, identifier)
        await store.call("HSET", "all_entity_names_by_id", identifier, name)
        await store.call("SADD", f"contacts_for:{identifier}", f"person-{n % PEOPLE}")


@asynccontextmanager
async def system(folder: Path) -> AsyncIterator[tuple[Store, Receipts]]:
    async with sinks() as (receipts, port, url):
        with up(folder, port) as address:
            async with Store(store_url.parse(address)) as store:
                await people(store, url)
                yield store, receipts
