"""Prometheus and its tools, as they are: bodies of its notifier, and a real amtool."""

import asyncio
import json
import shutil
import socket
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.alerting.scenes import Stage
from tests.waiting import eventually
from tests.web.alerting.test_reports_by_http import queued
from tests.web.site import BY, Site
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

PATH = "/api/v2/alerts"
AGENT = {"User-Agent": "Prometheus/2.53.3", "Content-Type": "application/json"}


def rfc3339(moment: datetime, digits: int = 9) -> str:
    """As Go writes it: without the zeros at the end of a fraction."""
    fraction = f"{moment.microsecond:06}000"[:digits].rstrip("0")
    return f"{moment:%FT%T}{'.' if fraction else ''}{fraction}Z"


def fired(now: datetime, **labels: str) -> dict[str, Any]:
    """An alert of a rule as Prometheus' notifier sends it, and again every minute."""
    return {
        "annotations": {
            "description": "web-1:9100 of job node has been down for more than 5 minutes.",
            "summary": "Instance web-1:9100 down",
        },
        "endsAt": rfc3339(now + timedelta(minutes=4)),
        "startsAt": rfc3339(now - timedelta(minutes=5, microseconds=123_456)),
        "generatorURL": "http://prometheus.example.com:9090/graph?g0.expr=up+%3D%3D+0&g0.tab=1",
        "labels": {
            "alertname": "InstanceDown",
            "instance": "web-1:9100",
            "job": "node",
            "severity": "critical",
            **labels,
        },
    }


def resolved(now: datetime, **labels: str) -> dict[str, Any]:
    """The same once the rule holds no more; sent for a quarter of an hour."""
    return {**fired(now, **labels), "endsAt": rfc3339(now - timedelta(seconds=15))}


async def test_a_rule_that_fires_is_told_and_told_again_when_it_is_over(
    site: Site, store: Store
) -> None:
    stage = Stage(store)
    stage.now = int(SYSTEM.now())
    await stage.contact("alice", "email")
    told = []
    async with site.program("intake") as prometheus:
        for body in (fired, fired, resolved, resolved):
            moment = datetime.fromtimestamp(SYSTEM.now(), UTC)
            raw = json.dumps([body(moment), body(moment, instance="db-1:9100", severity="warning")])
            answer = await prometheus.post(PATH, data=raw.encode(), headers=AGENT)
            assert answer.status == 200, answer.text
            await stage.later(60).drain()
            told.append(sorted(await stage.alert_lines()))
    down = "InstanceDown (job=node, severity={}, port=9100)"
    assert told == [
        [],
        [
            f"alice problem db-1:{down.format('warning')} warning",
            f"alice problem web-1:{down.format('critical')} critical",
        ],
        [
            f"alice recovery db-1:{down.format('warning')} ok",
            f"alice recovery web-1:{down.format('critical')} ok",
        ],
        [],
    ]


async def test_a_prometheus_that_falls_silent_makes_its_alerts_unknown(
    site: Site, store: Store
) -> None:
    stage = Stage(store)
    stage.now = int(SYSTEM.now())
    async with site.program("intake") as prometheus:
        moment = datetime.fromtimestamp(SYSTEM.now(), UTC)
        watchdog = fired(moment, alertname="Watchdog", severity="none")
        assert (await prometheus.post(PATH, json=[watchdog])).status == 200
    await stage.drain()
    key = stage.keys.current("web-1", "Watchdog (job=node, severity=none, port=9100)")
    assert await store.call("HGET", key, "state") == b"ok"
    await stage.later(241).drain()
    assert await store.call("HGET", key, "state") == b"unknown"


async def test_a_real_amtool_posts_alerts(site: Site, store: Store, tmp_path: Path) -> None:
    amtool = shutil.which("amtool")
    if amtool is None:
        pytest.skip("amtool is not installed (Debian's prometheus-alertmanager)")
    secret, _ = await site.services.api_keys.make("amtool", ("intake",), BY)
    config = tmp_path / "http.yml"
    config.write_text(f"authorization:\n  credentials: {secret}\n")
    options = [f"--alertmanager.url={site.url}", f"--http.config.file={config}"]
    words = ["Disk full", "instance=db-1:9100", "severity=warning"]
    more = ["--annotation=summary=92 % of /var", "--generator-url=http://x.test"]
    added = await ran([amtool, *options, "alert", "add", *words, *more])
    stranger = await ran([amtool, options[0], "alert", "add", *words])
    nonsense = await ran([amtool, *options, "alert", "add", "Broken", "instance={x}"])
    assert added.returncode == 0, added.stderr
    assert stranger.returncode != 0
    assert nonsense.returncode != 0
    (event,) = await queued(store)
    assert (event["entity"], event["state"], event["summary"]) == (
        "db-1",
        "warning",
        "92 % of /var",
    )
    assert event["check"] == "Disk full (severity=warning, port=9100)"
    assert "source: http://x.test" in event["details"]


async def ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False, timeout=60
    )


def webhook(status: str, *alerts: dict[str, Any]) -> dict[str, Any]:
    """As Alertmanager 0.25 posts it."""
    return {
        "receiver": "watchbell",
        "status": status,
        "alerts": [{**one, "status": status, "fingerprint": "3f0a9ab0b1b1c7d2"} for one in alerts],
        "groupLabels": {"alertname": "InstanceDown"},
        "commonLabels": {"alertname": "InstanceDown", "job": "node"},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example.com:9093",
        "version": "4",
        "groupKey": '{}:{alertname="InstanceDown"}',
        "truncatedAlerts": 0,
    }


@pytest.mark.parametrize("path", [PATH, "/api/v1/alerts"])
async def test_every_body_of_alertmanager_is_taken_on_every_path(
    site: Site, store: Store, path: str
) -> None:
    moment = datetime.fromtimestamp(SYSTEM.now(), UTC)
    endless = {**fired(moment), "endsAt": "0001-01-01T00:00:00Z"}
    bodies = [[fired(moment)], webhook("firing", endless), webhook("resolved", endless)]
    async with site.program("intake") as prometheus:
        answers = [await prometheus.post(path, json=body) for body in bodies]
        bad = await prometheus.post(path, json=webhook("firing", {"labels": {}}, endless))
    assert [answer.status for answer in (*answers, bad)] == [200, 200, 200, 400]
    if path == "/api/v1/alerts":
        assert answers[0].json() == {"status": "success"}
    assert bad.json()["errors"][0]["field"] == "[0]"
    events = await queued(store)
    assert [event["state"] for event in events] == ["critical", "critical", "ok", "critical"]
    assert {event["entity"] for event in events} == {"web-1"}
    assert ["ttl" in event for event in events] == [True, False, False, False]


@pytest.mark.parametrize(
    ("instance", "entity"), [("[fe80::1]:9100", "fe80--1"), ("fe80::1", "fe80--1")]
)
async def test_an_ipv6_address_is_named_as_by_every_receiver(
    site: Site, store: Store, instance: str, entity: str
) -> None:
    moment = datetime.fromtimestamp(SYSTEM.now(), UTC)
    async with site.program("intake") as prometheus:
        assert (await prometheus.post(PATH, json=[fired(moment, instance=instance)])).status == 200
    (event,) = await queued(store)
    assert event["entity"] == entity


async def test_a_real_alertmanager_passes_alerts_on(
    site: Site, store: Store, tmp_path: Path
) -> None:
    alertmanager, amtool = shutil.which("prometheus-alertmanager"), shutil.which("amtool")
    if alertmanager is None or amtool is None:
        pytest.skip("alertmanager is not installed (Debian's prometheus-alertmanager)")
    secret, _ = await site.services.api_keys.make("alertmanager", ("intake",), BY)
    config = tmp_path / "alertmanager.yml"
    config.write_text(
        "route: {receiver: watchbell, group_wait: 0s, group_interval: 1s}\n"
        "receivers:\n"
        "  - name: watchbell\n"
        "    webhook_configs:\n"
        f"      - url: {site.url}/api/v2/alerts\n"
        f"        http_config: {{authorization: {{credentials: {secret}}}}}\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = [f"--config.file={config}", f"--storage.path={tmp_path}", "--cluster.listen-address="]
    process = await asyncio.create_subprocess_exec(
        alertmanager,
        *options,
        f"--web.listen-address={address}",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    add = [amtool, f"--alertmanager.url=http://{address}", "alert", "add", "Disk full"]

    async def is_added() -> bool:
        return (await ran([*add, "instance=db-1:9100", "severity=warning"])).returncode == 0

    async def is_passed_on() -> bool:
        return bool(await queued(store))

    try:
        await eventually(is_added, 60)
        await eventually(is_passed_on, 60)
    finally:
        process.terminate()
        await process.wait()
    event = (await queued(store))[-1]
    assert (event["entity"], event["state"]) == ("db-1", "warning")
