"""As outside testing reported: one error reply of the store silenced a gateway for good."""

import signal
from pathlib import Path
from typing import Any

import msgspec

from tests.conftest import Up
from tests.gateways import smtp
from tests.gateways.post import alert
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.gateways.keys import Gateways
from watchbell.store import url as store_url
from watchbell.store.client import Store


def events(up: Up, level: str) -> list[dict[str, Any]]:
    return [one for one in up.records() if one["level"] == level]


async def test_mail_flows_again_after_a_key_of_a_wrong_type_and_up_ends(folder: Path) -> None:
    async with smtp.serving() as mails:
        config = folder / "watchbell.toml"
        config.write_text(
            f'[gateways.email]\nhost = "127.0.0.1"\nport = {mails.port}\n'
            'from_address = "watchbell@example.com"\n'
        )
        with Up(folder / "data", "--port", "0", "--config", str(config)) as up:
            async with Store(store_url.parse(up.url)) as store:
                status = Gateways(store.prefix).status("email")

                async def send(number: int) -> None:
                    one = alert(number, f"{number}@example.com", f"check {number}", media="email")
                    queue = Alerting(store.prefix).queue("email")
                    await store.call("RPUSH", queue, msgspec.json.encode(one))

                await eventually(lambda: store.call("EXISTS", status))
                await store.call("DEL", status)
                await store.call("SET", status, "x")
                await send(1)
                await eventually(lambda: bool(events(up, "error")), why="something is logged")
                assert any("WRONGTYPE" in str(line) for line in events(up, "error"))
                await store.call("DEL", status)
                await send(2)
                wanted = {("1@example.com",), ("2@example.com",)}
                await eventually(lambda: {m.recipients for m in mails.mails} == wanted, 120)
            up.process.send_signal(signal.SIGTERM)
            assert up.process.wait(60) == 0
    assert len(mails.mails) == 2, "nobody is notified twice"
