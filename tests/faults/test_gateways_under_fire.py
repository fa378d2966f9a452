"""Gateways killed at every step, over servers that hang: everything arrives, and nothing twice
beyond what was in flight."""

import asyncio
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.faults import invariants
from tests.gateways import http_sink, smtp
from tests.gateways.post import alert
from tests.waiting import PATIENCE, eventually
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert
from watchbell.gateways import overview
from watchbell.gateways.keys import Gateways
from watchbell.store.client import Store

LEASE = 1.0
CONCURRENCY = 10
STEPS = [
    "queue.taken:3",
    "queue.before_acknowledge:4",
    "queue.acknowledged:3",
    "gateway.admitted:2",
    "gateway.claimed:20",
    "gateway.rendered:70",
    "gateway.sent:90",
    "gateway.recorded:110",
]


class Gateway:
    """The real loop in a process of its own."""

    def __init__(self, store: Store, config: Path, lease: float = LEASE) -> None:
        self._command = [sys.executable, "-m", "tests.faults.gateway_worker", store.url.redacted()]
        self._command += [str(config), str(lease)]

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[bytes]"]:
        process = subprocess.Popen(self._command)
        try:
            yield process
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def beside(self, fault: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Another one, which dies at the fault if it gets there, and at the end in any case."""
        with subprocess.Popen([*self._command, *([fault] if fault else [])]) as process:
            try:
                yield process
            finally:
                process.kill()

    async def killed_at(self, step: str) -> None:
        process = await asyncio.create_subprocess_exec(*self._command, step)
        try:
            async with asyncio.timeout(PATIENCE):
                assert await process.wait() == -signal.SIGKILL
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def push(store: Store, medium: str, alerts: list[Alert]) -> None:
    keys = Alerting(store.prefix)
    for one in alerts:
        await store.call("HSET", keys.alert(one.id), "address", one.address)
        await store.call("EXPIRE", keys.alert(one.id), 3_600)
    raw = [msgspec.json.encode(one) for one in alerts]
    await store.call("RPUSH", keys.queue(medium), *raw)


async def done(store: Store, medium: str, count: int) -> bool:
    medium_status = (await overview.statuses(store, [medium]))[0]
    lanes = await store.call("EXISTS", Gateways(store.prefix).lanes(medium))
    return medium_status.delivered == count and not lanes


async def check(store: Store, medium: str, alerts: list[Alert], received: list[str]) -> None:
    """I1, I6 and I7: all arrived, none twice but what a kill caught in flight, nothing is left."""
    times = Counter(received)
    assert set(times) == {one.id for one in alerts}
    kills = len(STEPS)
    doubled = sum(n - 1 for n in times.values())
    assert doubled <= kills * CONCURRENCY
    invariants.check(invariants.paged_once(received, kills))
    keys = Gateways(store.prefix)
    left = [keys.outbox(medium), keys.lanes(medium), keys.claims(medium), keys.failed(medium)]
    assert await store.call("EXISTS", *left) == 0
    for one in alerts:
        fields = await store.call("HMGET", Alerting(store.prefix).alert(one.id), "delivered_at")
        assert fields[0] is not None


async def test_webhooks_survive_a_kill_at_every_step(store: Store, tmp_path: Path) -> None:
    file, config = tmp_path / "ids", tmp_path / "watchbell.toml"
    config.write_text(
        f'[gateways.webhook]\nallow_networks = ["127.0.0.0/8"]\nconcurrency = {CONCURRENCY}\n'
    )
    with sink(file) as url:
        alerts = [
            alert(n, f"{url}/hook/{n % 97}", f"check {n % 11}", media="webhook")
            for n in range(2_000)
        ]
        await push(store, "webhook", alerts)
        gateway = Gateway(store, config)
        for step in STEPS:
            await gateway.killed_at(step)
        with gateway.running():
            await eventually(lambda: done(store, "webhook", len(alerts)), 120)
    await check(store, "webhook", alerts, file.read_text().split())


@contextmanager
def sink(file: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.gateways.http_sink", "--file", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def test_mails_survive_a_kill_at_every_step(store: Store, tmp_path: Path) -> None:
    file, config = tmp_path / "mails", tmp_path / "watchbell.toml"
    with smtp.process(file) as (port, _):
        config.write_text(
            f'[gateways.email]\nhost = "127.0.0.1"\nport = {port}\nconcurrency = {CONCURRENCY}\n'
            'from_address = "watchbell@example.com"\n'
        )
        alerts = [
            alert(n, f"person-{n % 53}@example.com", f"check {n % 7}", media="email")
            for n in range(2_000)
        ]
        await push(store, "email", alerts)
        gateway = Gateway(store, config)
        for step in STEPS:
            await gateway.killed_at(step)
        with gateway.running():
            await eventually(lambda: done(store, "email", len(alerts)), 120)
    ids = [message.strip("<>").partition("@")[0] for message, _ in smtp.received(file)]
    await check(store, "email", alerts, ids)


async def test_a_mail_that_was_taken_before_the_kill_comes_again_under_the_same_id(
    store: Store, tmp_path: Path
) -> None:
    file, config = tmp_path / "mails", tmp_path / "watchbell.toml"
    with smtp.process(file) as (port, _):
        config.write_text(
            f'[gateways.email]\nhost = "127.0.0.1"\nport = {port}\n'
            'from_address = "watchbell@example.com"\n'
        )
        one = alert(1, media="email")
        await push(store, "email", [one])
        gateway = Gateway(store, config)
        await gateway.killed_at("gateway.sent")
        assert len(smtp.received(file)) == 1
        with gateway.running():
            await eventually(lambda: done(store, "email", 1), 30)
            await push(store, "email", [one])  # as a producer that was not sure would
            await eventually(lambda: taken(store, "email"))
    first, second = smtp.received(file)
    assert first == second
    assert first[0].startswith("<a1@")


def outages(url: str, first: int, count: int) -> tuple[list[Alert], list[Alert]]:
    """The problem and the recovery of so many checks, all for one address."""
    problems, recoveries = [], []
    for n in range(first, first + count):
        address, check = f"{url}/hook/alice", f"check {n}"
        problems.append(alert(2 * n, address, check, media="webhook"))
        more = {"state": "ok", "notification_type": "recovery"}
        recoveries.append(alert(2 * n + 1, address, check, media="webhook", **more))
    return problems, recoveries


def check_order(received: list[str], checks: int) -> None:
    """No recovery was sent before its problem."""
    first = {name: at for at, name in reversed(list(enumerate(received)))}
    assert len(first) == 2 * checks
    early = [n for n in range(checks) if first[f"a{2 * n + 1}"] < first[f"a{2 * n}"]]
    assert not early, f"recoveries before their problems: {early}"


@pytest.mark.parametrize("step", ["queue.taken", "queue.before_acknowledge"])
async def test_a_recovery_waits_for_the_problem_that_a_gateway_died_with(
    store: Store, tmp_path: Path, step: str
) -> None:
    file, config = tmp_path / "ids", tmp_path / "watchbell.toml"
    config.write_text('[gateways.webhook]\nallow_networks = ["127.0.0.0/8"]\n')
    with sink(file) as url:
        gateway = Gateway(store, config, lease=5)
        problems, recoveries = outages(url, 0, 20)
        with gateway.running() as other:
            await eventually(lambda: waiting(store, 1))
            other.send_signal(signal.SIGSTOP)
            await push(store, "webhook", problems)
            await gateway.killed_at(step)
            await push(store, "webhook", recoveries)
            other.send_signal(signal.SIGCONT)
            await eventually(lambda: done(store, "webhook", 40), 60)
    check_order(file.read_text().split(), 20)


async def test_two_gateways_keep_the_order_whenever_one_is_killed_or_stopped(
    store: Store, tmp_path: Path, repetitions: Callable[[int], int]
) -> None:
    chance = random.Random(10)
    file, config = tmp_path / "ids", tmp_path / "watchbell.toml"
    config.write_text('[gateways.webhook]\nallow_networks = ["127.0.0.0/8"]\nconcurrency = 3\n')
    turns = repetitions(50)
    with sink(file) as url:
        gateway = Gateway(store, config)
        with gateway.running():
            for turn in range(turns):
                step = chance.choice(STEPS).partition(":")[0]
                fault = chance.choice([f"{step}:{chance.randrange(1, 6)}", ""])
                with gateway.beside(fault) as other:
                    await both_at_work(store, other)
                    for problem, recovery in zip(*outages(url, 20 * turn, 20), strict=True):
                        await push(store, "webhook", [problem])
                        await push(store, "webhook", [recovery])
                        if problem.id == f"a{40 * turn + 20}" and not fault:
                            other.send_signal(signal.SIGSTOP)
                    await eventually(partial(done, store, "webhook", 40 * turn + 40), 60)
                    other.send_signal(signal.SIGCONT)
    check_order(file.read_text().split(), 20 * turns)


async def waiting(store: Store, gateways: int) -> bool:
    """Whether so many gateways wait at their queue."""
    clients = str(await store.call("CLIENT", "LIST"))
    return clients.count("cmd=blmove") == gateways


async def both_at_work(store: Store, other: "subprocess.Popen[bytes]") -> None:
    """Both gateways wait at the queue, unless the other one died on its way there."""

    async def wait() -> bool:
        return await waiting(store, 2) or other.poll() is not None

    await eventually(wait)


async def taken(store: Store, medium: str) -> bool:
    return not await store.call("LLEN", Alerting(store.prefix).queue(medium))


async def test_a_mail_server_that_hangs_delays_no_webhook(store: Store, tmp_path: Path) -> None:
    file, config = tmp_path / "ids", tmp_path / "watchbell.toml"
    async with smtp.serving() as mails, http_sink.running(file=file) as web:
        config.write_text(
            f'[gateways.email]\nhost = "127.0.0.1"\nport = {mails.port}\ntimeout = 1\n'
            'from_address = "watchbell@example.com"\n'
            '[gateways.webhook]\nallow_networks = ["127.0.0.0/8"]\n'
        )
        stuck = [alert(n, f"hang+{n}@example.com", media="email") for n in range(40)]
        well = [alert(1_000 + n, f"{web.url}/hook/{n}", media="webhook") for n in range(500)]
        other = [alert(2_000 + n, f"{n}@example.com", media="email") for n in range(5)]
        await push(store, "email", [*stuck, *other])
        await push(store, "webhook", well)
        with Gateway(store, config).running():
            await eventually(lambda: done(store, "webhook", 500), 60)
            # One that took longer than the second that it is given comes again.
            wanted = {(one.address,) for one in other}
            await eventually(lambda: {mail.recipients for mail in mails.mails} == wanted, 60)
