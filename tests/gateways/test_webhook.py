"""Webhooks: what is posted, signed and to whom."""

import hashlib
import hmac
import subprocess
import sys
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.gateways.http_media import (
    LOOPBACK,
    NASTY,
    kind_of,
    opened,
    problem,
    refused,
    scene,
    sent,
)
from tests.gateways.http_sink import Reply, running
from watchbell.alerting.model import Alert
from watchbell.errors import DeliveryFailed
from watchbell.gateways.message import Message
from watchbell.gateways.samples import SAMPLES, sample
from watchbell.gateways.webhook import signature

SECRET = "wonderland-4711"


def is_genuine(secret: str, header: str, body: bytes, now: int) -> bool:
    """As docs/media.md shows it to those who receive."""
    fields = dict(part.split("=", 1) for part in header.split(","))
    expected = hmac.new(secret.encode(), f"{fields['t']}.".encode() + body, hashlib.sha256)
    is_fresh = abs(now - int(fields["t"])) <= 300
    return is_fresh and hmac.compare_digest(expected.hexdigest(), fields["v1"])


@pytest.mark.parametrize("kind", SAMPLES)
async def test_an_alert_is_posted_with_all_that_is_known_of_it(kind: str) -> None:
    async with scene("webhook", allow_networks=LOOPBACK) as (sink, medium):
        alert = sample(kind, address=f"{sink.url}/hook/alice")
        assert await sent(medium, alert) == "200 thank you"
        assert not sink.problems
        (got,) = sink.received
        assert msgspec.convert(got.json["alert"], Alert) == alert
        assert got.json["type"] == ("rollup" if kind.startswith("rollup") else "alert")
        assert got.id == alert.id
        assert "x-watchbell-signature" not in got.headers


async def test_a_message_is_signed_with_the_secret() -> None:
    async with scene("webhook", allow_networks=LOOPBACK, secret=SECRET) as (sink, medium):
        await sent(medium, problem(f"{sink.url}/hook"))
        (got,) = sink.received
        header = got.headers["x-watchbell-signature"]
        time = int(header[2:12])
        assert is_genuine(SECRET, header, got.body, time)
        assert not is_genuine(SECRET, header, got.body + b" ", time)
        assert not is_genuine("another", header, got.body, time)
        assert not is_genuine(SECRET, header, got.body, time + 301)


def test_a_signature_is_what_it_was_last_year() -> None:
    expected = hmac.new(b"s", b'1700000000.{"a":1}', hashlib.sha256).hexdigest()
    assert signature("s", 1_700_000_000, b'{"a":1}') == f"t=1700000000,v1={expected}"


@pytest.mark.parametrize("nasty", NASTY)
async def test_whatever_people_wrote_arrives(nasty: str) -> None:
    async with scene("webhook", allow_networks=LOOPBACK, secret=SECRET) as (sink, medium):
        alert = problem(f"{sink.url}/hook", **NASTY[nasty])
        sink.reply("/hook", Reply(200, "ok"))
        await sent(medium, alert)
        (got,) = sink.received
        assert got.json["alert"]["event_id"] == alert.event_id.encode(errors="replace").decode()
        assert "x-evil" not in got.headers


@pytest.mark.parametrize("address", ["", "default", "  "])
async def test_the_urls_of_the_settings_are_asked_each(address: str) -> None:
    async with running() as first, running() as second:
        urls = [f"{first.url}/hook/1", f"{second.url}/hook/2"]
        medium = opened("webhook", urls=urls)
        assert await sent(medium, problem(address)) == "200 thank you; 200 thank you"
        assert [got.path for sink in (first, second) for got in sink.received] == [
            "/hook/1",
            "/hook/2",
        ]
        await medium.close()


async def test_a_url_that_took_it_is_not_asked_again_while_another_fails() -> None:
    async with running() as sink:
        medium = opened("webhook", urls=[f"{sink.url}/hook/good", f"{sink.url}/hook/bad"])
        sink.reply("/hook/bad", Reply(503, "later", {"Retry-After": "7"}), Reply(200, "now"))
        failure = await refused(medium, problem("default"))
        assert kind_of(failure) == "passing"
        assert failure.retry_after == 7
        assert str(failure) == "1 of 2 URLs failed: the server answered 503 later"
        assert await sent(medium, problem("default")) == "200 now"
        paths = [got.path for got in sink.received]
        assert paths.count("/hook/good") == 1
        assert paths.count("/hook/bad") == 2
        await medium.close()


async def test_one_hook_that_hangs_keeps_no_other_waiting() -> None:
    async with running() as sink:
        urls = [f"{sink.url}/fault/hang", f"{sink.url}/hook"]
        medium = opened("webhook", urls=urls, timeout=4)
        failure = await refused(medium, problem("default"))
        assert "1 of 2" in str(failure)
        assert [got.path for got in sink.received if got.path == "/hook"] == ["/hook"]
        await medium.close()


async def test_without_urls_the_default_address_is_given_up() -> None:
    medium = opened("webhook")
    failure = await refused(medium, problem("default"))
    assert failure.permanent
    assert "no urls" in str(failure)


async def test_a_private_address_needs_leave() -> None:
    async with scene("webhook") as (sink, medium):
        failure = await refused(medium, problem(f"{sink.url}/hook"))
        assert failure.permanent
        assert not sink.received


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/fault/status/500", "passing"),
        ("/fault/status/429?after=9", "passing"),
        ("/fault/status/401", "permanent"),
        ("/fault/status/410", "permanent"),
        ("/fault/close", "passing"),
        ("/fault/garbage", "passing"),
        ("/fault/loop", "permanent"),
    ],
)
async def test_a_failure_is_the_addresss_own(path: str, kind: str) -> None:
    async with scene("webhook", allow_networks=LOOPBACK, secret=SECRET) as (sink, medium):
        failure = await refused(medium, problem(f"{sink.url}{path}"))
        assert kind_of(failure) == kind
        assert failure.retry_after == (9 if "after" in path else 0)
        assert await sent(medium, problem(f"{sink.url}/hook")) == "200 thank you"


async def test_the_server_of_the_tests_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "ids"
    command = [sys.executable, "-m", "tests.gateways.http_sink", "--file", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        medium = opened("webhook", allow_networks=LOOPBACK)
        for number in range(3):
            await sent(medium, problem(f"{url}/hook", id=f"a{number}"))
        await medium.close()
        assert file.read_text().split() == ["a0", "a1", "a2"]
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


async def test_a_secret_that_the_server_repeats_is_not_shown() -> None:
    async with scene("webhook", allow_networks=LOOPBACK, secret=SECRET) as (sink, medium):
        sink.reply("/hook", Reply(400, f"your secret is {SECRET}"))
        failure = await refused(medium, problem(f"{sink.url}/hook"))
        assert str(failure) == "the server answered 400 your secret is ***"


def message(address: str, reach: Literal["", "public", "any"]) -> Message:
    return Message(id="m1", address=address, text="done", reach=reach)


async def test_a_sender_may_allow_the_public_internet_alone() -> None:
    async with scene("webhook", allow_networks=LOOPBACK) as (sink, medium):
        with pytest.raises(DeliveryFailed, match="is not on the public Internet"):
            await medium.send(message(f"{sink.url}/json", "public"))
        assert not sink.received
        assert await medium.send(message(f"{sink.url}/json", "")) == "200 thank you"


async def test_a_sender_may_allow_every_address() -> None:
    async with scene("webhook") as (sink, medium):
        with pytest.raises(DeliveryFailed, match="is not on the public Internet"):
            await medium.send(message(f"{sink.url}/json", ""))
        assert await medium.send(message(f"{sink.url}/json", "any")) == "200 thank you"
