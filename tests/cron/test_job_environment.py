"""What a job sees of its instance's environment: nothing that could be a secret."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.cron.crew import definition, ended, put
from tests.cron.fleet import Fleet
from watchbell.cron import history, jobs
from watchbell.store.client import Store

SECRET = "hunter2-geheim"
SETTINGS = """
[oobetet]
secret = "env:HOOK_SECRET"

[gateways.mail]
kind = "email"
host = "mail.example.com"
from = "bell@example.com"
password = "env:MAIL_PASSWORD"
"""


@pytest.fixture
def fleet(server: servers.Single, store: Store, folder: Path) -> Iterator[Fleet]:
    assert store.prefix == ""
    crew = Fleet(server.url, folder)
    yield crew
    crew.end()


async def test_a_job_inherits_neither_our_variables_nor_those_that_hold_secrets(
    fleet: Fleet, store: Store, folder: Path
) -> None:
    file = folder / "watchbell.toml"
    file.write_text(SETTINGS)
    names = ("HOOK_SECRET", "MAIL_PASSWORD", "WATCHBELL_DELIVERY_LINK_URL")
    others = {"WATCHBELL_CONFIG": str(file), "BELL_COLOUR": "green"}
    cmd = "env; tr '\\0' '\\n' </proc/$PPID/environ"  # that of the warden, too
    await put(store, "env", definition(cmd, environment={"WATCHBELL_DATA": "/srv/bell"}))
    await put(store, "plain", definition("env"))
    fleet.start(variables={**dict.fromkeys(names, SECRET), **others})
    await fleet.ready(store)
    for name in ("env", "plain"):
        await jobs.trigger(store, name)
    [seen], [plain] = await ended(store, "env"), await ended(store, "plain")
    shown = await _lines(store, seen.id)
    assert "WB_JOB=env" in shown
    assert shown.count("BELL_COLOUR=green") == 2
    assert "WATCHBELL_DATA=/srv/bell" in shown  # what the definition itself says
    assert not [line for line in shown if SECRET in line]
    assert not [line for line in await _lines(store, plain.id) if line.startswith("WATCHBELL_")]


async def _lines(store: Store, run: str) -> list[str]:
    texts = [line.text async for page in history.follow(store, run) for line in page]
    return b"".join(texts).decode().splitlines()
