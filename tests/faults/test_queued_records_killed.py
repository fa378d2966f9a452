"""Alerts that are queued by their ids are delivered, wherever the gateway is killed, and leave no
records behind."""

from pathlib import Path

import msgspec
import pytest

from tests.alerting import record_model
from tests.alerting.consistency import Picture
from tests.faults.test_gateways_under_fire import Gateway, done, sink
from tests.gateways.post import alert
from tests.waiting import eventually
from watchbell.alerting import record_verify
from watchbell.alerting.effects import EFFECTS
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import Alert, RollupEntry
from watchbell.store.client import Store
from watchbell.store.effects import Word, flat, packed, verbatim

COUNT = 600  # more than one batch
ADMITTING = ["queue.taken", "queue.before_acknowledge", "queue.acknowledged", "gateway.admitted"]


async def push(store: Store, alerts: list[Alert]) -> None:
    """As the notifier does."""
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    for one in alerts:
        await store.call("HSET", keys.alert(one.id), "address", one.address)
        await store.call("EXPIRE", keys.alert(one.id), 3_600)
        json = verbatim(msgspec.json.encode(one))
        words: list[Word] = ["QUEUE_ALERTS", keys.queue("webhook"), own.payload(""), one.id, json]
        assert await EFFECTS.alone(store, [own.records()], [packed(flat([words]))]) == []


async def wrong(store: Store) -> list[str]:
    found = [str(one) async for one in record_verify.differences(store)]
    return [*found, *record_model.mistakes(await Picture.of(store))]


@pytest.mark.parametrize("point", ADMITTING)
async def test_alerts_by_id_outlast_a_gateway_that_is_killed(
    store: Store, tmp_path: Path, point: str
) -> None:
    file, config = tmp_path / "ids", tmp_path / "watchbell.toml"
    config.write_text('[gateways.webhook]\nallow_networks = ["127.0.0.0/8"]\n')
    await store.call("SET", AlertingOwn(store.prefix).records(), "on")
    with sink(file) as url:
        alerts = [
            alert(n, f"{url}/hook/{n % 9}", f"check {n % 5}", media="webhook") for n in range(COUNT)
        ]
        alerts[7].rollup_alerts = {"web-1:check 7": RollupEntry(state="critical", duration=5)}
        await push(store, alerts)
        gateway = Gateway(store, config)
        await gateway.killed_at(point)
        assert await wrong(store) == []
        with gateway.running():
            await eventually(lambda: done(store, "webhook", COUNT))
    received = file.read_text().split()
    assert set(received) == {one.id for one in alerts}
    assert await wrong(store) == []
    records = (await Picture.of(store)).records
    assert not records.keys() & {"alert::ids", "rollup_alert::ids"}
    assert await store.call("KEYS", AlertingOwn(store.prefix).payload("*")) == []
