"""Prometheus and its tools, as they are: bodies of its notifier, and a real amtool."""

import asyncio
import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.alerting.scenes import Stage
from tests.web.site import BY, Site
from tests.web.test_reports_by_http import queued
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
            told.append(sorted(await stage.told()))
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
    secret, _ = await site.desk.api_keys.make("amtool", ("intake",), BY)
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
