"""A hundred more services: their addresses are understood, and messages arrive where they can."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import ValidationError

from tests.gateways.http_media import (
    ACK_URL,
    LOOPBACK,
    NASTY,
    kind_of,
    opened,
    problem,
    refused,
    scene,
    sent,
)
from tests.gateways.http_sink import Reply, Sink, running
from tests.servers import HOST
from tests.waiting import eventually
from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways.apprise import _loaded, _service, _tokens
from watchbell.gateways.apprise_guard import guarded
from watchbell.gateways.samples import SAMPLES, sample
from watchbell.http.networks import Networks

# What the library imports is old in places.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

A, B = "a" * 32, "b" * 32
NUMBERS = "+15551234567/+15557654321"
UUID = "8e1f5cf2-1a3b-4c5d-9e8f-0123456789ab"
ADDRESSES = {
    "46elks": f"46elks://user:password@{NUMBERS}",
    "Africa's Talking": "atalk://user@apikey0123456789/+15551234567",
    "Apprise API": "apprises://apprise.example.com/key0123",
    "Bark": "barks://api.example.com/devicekey",
    "Bluesky": "bluesky://handle@abcd-efgh-ijkl-mnop",
    "Brevo": "brevo://abc123apikey:alice@example.com/bob@example.com",
    "BulkSMS": "bulksms://user:password@+15551234567",
    "BurstSMS": "burstsms://abcdefgh:secret0123@15551234567/15557654321",
    "Clickatell": "clickatell://apikey0123456789/15551234567",
    "ClickSend": "clicksend://user:apikey@+15551234567",
    "D7 Networks": "d7sms://token0123@15551234567",
    "DingTalk": "dingtalk://abcdefgh12345678/15551234567",
    "Discord": "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
    "Emby": "emby://alice:password@emby.example.com",
    "Feishu": "feishu://abc123abc123",
    "Flock": f"flock://{'a' * 24}/g:abc",
    "Form": "forms://example.com/path",
    "Google Chat": "gchat://workspace/key/token",
    "Gotify": "gotifys://gotify.example.com/Atoken0123",
    "Guilded": "guilded://webhookid/webhooktoken",
    "Home Assistant": "hassios://home.example.com/accesstoken",
    "IFTTT": "ifttt://webhookid@event",
    "Join": f"join://{A}/group.all",
    "JSON": "jsons://example.com/path",
    "Kavenegar": "kavenegar://apikey0123456789/15551234567",
    "Kodi": "kodi://kodi.example.com",
    "LaMetric": "lametric://apikey0123@lametric.example.com",
    "Line": "line://channeltoken/user",
    "Mail": "mailtos://alice:password@example.com",
    "MailerSend": "mailersend://user:mlsn.abc@example.com/alice@example.com",
    "Mailgun": "mailgun://user@example.com/apikey0123456789-abcdefgh-01234567",
    "Mastodon": "mastodons://accesstoken@mastodon.example.com",
    "Matrix": "matrixs://alice:password@matrix.example.com/#room:example.com",
    "Mattermost": "mmosts://mattermost.example.com/3ccdd113474722377935511fc85d3dd4",
    "MessageBird": f"msgbird://{'a' * 25}/15551234567/15557654321",
    "Misskey": "misskeys://accesstoken@misskey.example.com",
    "MSG91": f"msg91://template0123@{'a' * 23}/15551234567",
    "Nextcloud": "nclouds://admin:password@cloud.example.com/alice",
    "Nextcloud Talk": "nctalks://alice:password@cloud.example.com/roomid",
    "Notica": "noticas://notica.example.com/abcdef",
    "Notifiarr": "notifiarr://apikey/0123456789",
    "ntfy": "ntfys://ntfy.example.com/alerts",
    "OneSignal": f"onesignal://{UUID}@apikey0123/player0123",
    "Opsgenie": f"opsgenie://{UUID}",
    "PagerTree": "pagertree://int_0123456789",
    "Plivo": f"plivo://{'a' * 25}@{'b' * 40}/15551234567/15557654321",
    "Pushbullet": "pbul://accesstoken/device",
    "PushDeer": "pushdeer://pushkey",
    "Pushed": "pushed://appkey/appsecret",
    "Pushover": f"pover://{'u' * 30}@{'a' * 30}",
    "Pushsafer": f"psafer://{'a' * 20}",
    "Pushy": "pushy://apikey/device",
    "Reddit": "reddit://user:password@app_id/app_secret/subreddit",
    "Revolt": "revolt://bottoken/channelid",
    "Rocket.Chat": "rockets://alice:password@rocket.example.com/#room",
    "Ryver": "ryver://organization/abcd123abcd1234",
    "SendGrid": "sendgrid://apikey:alice@example.com/bob@example.com",
    "ServerChan": "schan://sendkey0123",
    "SES": "ses://alice@example.com/AKIAEXAMPLE/secretkey/us-east-1/bob@example.com",
    "Seven": "seven://apikey/15551234567",
    "SFR": "sfr://service_id:password@space_id/0601020304",
    "Signal": f"signals://signal.example.com/{NUMBERS}",
    "SIGNL4": "signl4://secret",
    "SimplePush": "spush://apikey",
    "Sinch": f"sinch://{A}:{B}@{NUMBERS}",
    "Slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#room",
    "SMS Manager": "smsmgr://apikey@+15551234567",
    "SMTP2Go": "smtp2go://user@example.com/apikey0123456789",
    "SparkPost": "sparkpost://user@example.com/apikey0123456789",
    "Spike": f"spike://{A}",
    "Splunk On-Call": f"splunk://routing_key@{UUID}",
    "Synology Chat": "synologys://nas.example.com/token0123",
    "Teams": "workflow://prod.example.com/workflowid/signature",
    "Telegram": "tgram://123456789:AAElEE0cd7-abcdefghijklmnopqrstuvwxyz/12315544",
    "Threema": "threema://ABCDEFGH@secret/+15551234567",
    "Twilio": f"twilio://AC{A}:{A}@{NUMBERS}",
    "Twist": "twist://password:alice@example.com/#room",
    "VoIP.ms": "voipms://password:alice@example.com/15551234567/15557654321",
    "Vonage": "vonage://abcdefgh:secret0123456789@15551234567/15557654321",
    "Webex": f"wxteams://{'a' * 80}",
    "WeCom": "wecombot://abcdef-0123",
    "WhatsApp": "whatsapp://token0123@15551234567/15557654321",
    "XML": "xmls://example.com/path",
    "Zoom": "zoom://webhookid/verificationtoken",
    "Zulip": f"zulip://botname@organization/{A}/stream",
}
LOCAL = {
    "Apprise API": "apprise://HOST/key0123",
    "Bark": "bark://HOST/devicekey",
    "Enigma2": "enigma2://HOST",
    "Form": "form://HOST/path",
    "Gorush": "gorush://HOST/devicetoken",
    "Gotify": "gotify://HOST/Atoken0123",
    "Home Assistant": "hassio://HOST/accesstoken",
    "JSON": "json://HOST/path",
    "Kodi": "kodi://HOST",
    "LaMetric": "lametric://apikey0123@HOST",
    "Mastodon": "mastodon://accesstoken@HOST",
    "Matrix": "matrix://token@HOST/!room:example.com?mode=off",
    "Mattermost": "mmost://HOST/3ccdd113474722377935511fc85d3dd4",
    "Misskey": "misskey://accesstoken@HOST",
    "Nextcloud": "ncloud://admin:password@HOST/alice",
    "Nextcloud Talk": "nctalk://alice:password@HOST/roomid",
    "Notica": "notica://HOST/abcdef",
    "ntfy": "ntfy://HOST/alerts",
    "OneBot": "onebot://HOST/123456",
    "Parse": "parsep://app:key@HOST",
    "PushDeer": "pushdeer://HOST/pushkey",
    "Rocket.Chat": "rocket://alice:password@HOST/#room",
    "Signal": f"signal://HOST/{NUMBERS}",
    "Synology Chat": "synology://HOST/token0123",
    "XML": "xml://HOST/path",
}
_SAID = {
    "id": "1",
    "success": True,
    "result": True,
    "status": "success",
    "code": 200,
    "retcode": 0,
    "access_token": "t",
    "room_id": "!room:example.com",
    "user_id": "u",
    "home_server": "example.com",
    "data": {"userId": "u", "authToken": "t"},
    "event_id": "$1",
    "errors": [],
}
OK = Reply(200, json.dumps(_SAID), {"Content-Type": "application/json"})
"""An answer with which all of them are content."""


def at(sink: Sink, address: str) -> str:
    return address.replace("HOST", sink.url.removeprefix("http://"))


@pytest.mark.parametrize("service", ADDRESSES)
def test_the_address_of_a_service_is_understood(service: str) -> None:
    assert _service(*_loaded(), ADDRESSES[service], 10).service_name


@pytest.mark.parametrize("service", LOCAL)
async def test_a_message_arrives_at_a_server_of_ones_own(service: str) -> None:
    async with scene("apprise", allow_networks=LOOPBACK) as (sink, medium):
        sink.otherwise = OK
        address = at(sink, LOCAL[service])
        assert await sent(medium, problem(address, summary="wonderland")) == (
            f"{address.partition('://')[0]}:// accepted"
        )
        said = [f"{got.query} {got.body!r}" for got in sink.received]
        assert any("wonderland" in one for one in said)


@pytest.mark.parametrize("kind", SAMPLES)
async def test_every_kind_of_alert_is_told(kind: str) -> None:
    async with scene("apprise", allow_networks=LOOPBACK) as (sink, medium):
        sink.otherwise = OK
        await sent(medium, sample(kind, address=at(sink, LOCAL["JSON"])), lambda _: ACK_URL)
        (got,) = sink.received
        types = {"problem": "failure", "recovery": "success"}
        expected = types.get(kind.removeprefix("rollup_"), "info")
        assert got.json["type"] == expected
        assert got.json["title"]
        assert got.json["message"]


async def test_the_url_of_the_settings_takes_addresses_in() -> None:
    async with running() as sink:
        sink.otherwise = OK
        medium = opened("apprise", url=at(sink, "json://HOST/alerts/{address}"))
        await sent(medium, problem("a/../b?c#d@e ü"))
        (got,) = sink.received
        assert got.path == "/alerts/a/../b?c#d@e ü"


@pytest.mark.parametrize(
    "address",
    [
        *LOCAL.values(),
        "mailto://alice:password@example.com?smtp=127.0.0.1",
        "json://localhost:1/",
        "json://2130706433/",
        "json://[::1]:1/",
        "syslog://",
    ],
)
async def test_nothing_of_this_machine_is_reached_in_a_strangers_name(address: str) -> None:
    async with scene("apprise") as (sink, medium):
        sink.otherwise = OK
        failure = await refused(medium, problem(at(sink, address)))
        assert failure.permanent
        assert not sink.received


def test_within_the_guard_this_machine_is_out_of_reach(folder: Path) -> None:
    path = folder / "socket"
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        guarded(Networks()) as guard,
    ):
        with pytest.raises(PermissionError):
            datagrams.sendto(b"x", (HOST, 514))
        with socket.socket(socket.AF_UNIX) as local, pytest.raises(PermissionError):
            local.connect(str(path))
        with pytest.raises(PermissionError):
            subprocess.run(["true"], check=True)
        with pytest.raises(PermissionError):
            Path("/etc/hostname").open()  # noqa: SIM115
        assert Path(os.__file__).read_text()
    assert guard.refusal == "127.0.0.1 is not on the public Internet; allow_networks can permit it"
    assert Path("/etc/passwd").read_text()


async def test_a_redirect_is_checked_too() -> None:
    async with scene("apprise", allow_networks=["127.0.0.0/8"]) as (sink, medium):
        sink.reply("/path", Reply(307, "", {"Location": "http://169.254.169.254/"}))
        failure = await refused(medium, problem(at(sink, LOCAL["JSON"])))
        assert failure.permanent
        assert "169.254.169.254 is not on the public Internet" in str(failure)


@pytest.mark.parametrize("option", ["template=/etc/passwd", "template=file:///etc/passwd"])
async def test_no_file_is_read_in_a_strangers_name(option: str) -> None:
    medium = opened("apprise", allow_networks=LOOPBACK)
    failure = await refused(medium, problem(f"{ADDRESSES['Slack']}?{option}"))
    assert "root:" not in str(failure)
    assert kind_of(failure) == "passing"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ntfyy://alerts", "similar ones are ntfy://, ntfys://"),
        ("telegram://x", "Apprise does not know the scheme 'telegram'"),
        ("alice@example.com", "as ntfys://ntfy.example.com/alerts"),
        ("", "the address is not an Apprise URL"),
        ("tgram://", "can't read the address as a tgram:// URL"),
        ("json://\r\nX-Evil: 1", "json://"),
    ],
)
async def test_an_address_that_is_not_understood_is_given_up(address: str, said: str) -> None:
    medium = opened("apprise")
    failure = await refused(medium, problem(address))
    assert failure.permanent
    assert said in str(failure)


@pytest.mark.parametrize("nasty", NASTY)
async def test_whatever_people_wrote_arrives(nasty: str) -> None:
    async with scene("apprise", allow_networks=LOOPBACK) as (sink, medium):
        sink.otherwise = OK
        await sent(medium, problem(at(sink, LOCAL["ntfy"]), **NASTY[nasty]))
        assert "x-evil" not in sink.received[0].headers


async def test_a_failure_is_told_without_the_secrets_of_the_address() -> None:
    async with scene("apprise", allow_networks=LOOPBACK) as (sink, medium):
        sink.otherwise = Reply(500, "token Asecret0123 is odd")
        failure = await refused(medium, problem(at(sink, "gotify://HOST/Asecret0123")))
        assert kind_of(failure) == "passing"
        assert "gotify:// " in str(failure)
        assert "Asecret0123" not in str(failure)


def test_all_pieces_of_an_address_are_secrets() -> None:
    assert set(_tokens("tgram://12345:abcdefgh/chat-room?x=hush%2Fhush")) == {
        *("abcdefgh", "chat-room", "hush%2Fhush", "hush/hush"),
    }


async def test_a_server_that_hangs_is_left_in_time_and_others_go_on() -> None:
    async with running() as sink:
        sink.otherwise = OK
        medium = opened("apprise", timeout=4, concurrency=2, allow_networks=LOOPBACK)
        slow = problem(at(sink, "json://HOST/fault/trickle"))
        failure = await refused(medium, slow)  # which never ends
        assert "json:// did not end within 4 s" in str(failure)
        await sent(medium, problem(at(sink, LOCAL["JSON"])))
        await refused(medium, slow)
        failure = await refused(medium, problem(at(sink, LOCAL["JSON"])))
        assert kind_of(failure) == "passing"
        assert "all 2 threads hang" in str(failure)
    async with running() as sink:
        sink.otherwise = OK

        async def is_free() -> bool:
            try:
                await sent(medium, problem(at(sink, LOCAL["JSON"])))
            except DeliveryFailed:
                return False
            return True

        assert await eventually(is_free)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(BadSettings, match=r"needs .*pip install 'watchbell\[apprise\]"):
        opened("apprise")


def test_a_network_that_is_none_stops_the_start() -> None:
    with pytest.raises(ValidationError, match="expected a network such as"):
        opened("apprise", allow_networks=["ten"])
