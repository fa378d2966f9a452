"""Messages without an alert, with caller and gateway killed at every step: each arrives once."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.families import keys
from tests.faults.test_gateways_under_fire import Gateway, done, sink
from tests.gateways import smtp
from tests.waiting import eventually
from watchbell.gateways import sent_messages
from watchbell.gateways.keys import Gateways
from watchbell.store.client import Store

COUNT = 30
QUEUEING = ["message.queueing:5", "message.queued:10", ""]
SENDING = ["gateway.claimed:1", "gateway.rendered:3", "gateway.recorded:5"]
IN_FLIGHT = "gateway.sent:4"
"""Killed between the server's answer and its record: this message alone comes twice."""


async def check(store: Store, medium: str, config: Path, address: str) -> None:
    for fault in QUEUEING:
        queue(store, medium, address, fault)
    gateway = Gateway(store, config)
    for step in [*SENDING, IN_FLIGHT]:
        await gateway.killed_at(step)
    with gateway.running():
        await eventually(lambda: done(store, medium, COUNT), 120)
    boxes = Gateways(store.prefix)
    left = [boxes.outbox(medium), boxes.lanes(medium), boxes.claims(medium), boxes.failed(medium)]
    assert await store.call("EXISTS", *left) == 0
    for number in range(COUNT):
        outcome = await sent_messages.outcome(store, keys.table(f"m{number}"))
        assert outcome is not None
        assert outcome.state == "sent"


def queue(store: Store, medium: str, address: str, fault: str) -> None:
    command = [sys.executable, "-m", "tests.faults.message_worker", store.url.redacted()]
    command += [medium, address, str(COUNT), *([fault] if fault else [])]
    ended = subprocess.run(command, check=False).returncode
    assert ended == (-signal.SIGKILL if fault else 0)


def check_received(ids: list[str]) -> None:
    times = Counter(ids)
    assert set(times) == {f"m{number}" for number in range(COUNT)}
    assert sum(count - 1 for count in times.values()) <= 1


async def test_mails_without_an_alert_survive_a_kill_at_every_step(
    store: Store, tmp_path: Path
) -> None:
    file, config = tmp_path / "mails", tmp_path / "watchbell.toml"
    with smtp.process(file) as (port, _):
        config.write_text(
            f'[gateways.email]\nhost = "127.0.0.1"\nport = {port}\n'
            'from_address = "watchbell@example.com"\n'
        )
        await check(store, "email", config, "alice@example.com")
    check_received([one.strip("<>").partition("@")[0] for one, _ in smtp.received(file)])


async def test_web_hooks_without_an_alert_survive_a_kill_at_every_step(
    store: Store, tmp_path: Path
) -> None:
    file, config = tmp_path / "ids", tmp_path / "watchbell.toml"
    config.write_text('[gateways.webhook]\nallow_networks = ["127.0.0.0/8"]\n')
    with sink(file) as url:
        await check(store, "webhook", config, f"{url}/json")
    check_received(file.read_text().split())
