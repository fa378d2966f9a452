"""Messages of SNS: believed by Amazon's signature alone, and confirmed where they are wanted."""

import base64
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gateways.http_sink import Reply, Sink, running
from tests.web.alerting.test_reports_by_http import ALARM, queued
from tests.web.site import Site, Visitor, served
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.alerting.intake import signatures, sns
from watchbell.web.alerting.intake.signatures import NoCertificate
from watchbell.web.alerting.intake.sns import Hosts

TOPIC = "arn:aws:sns:eu-west-1:123456789012:alarms"
CERTIFICATE = "/SimpleNotificationService-0123456789abcdef.pem"
CONFIRM = "/?Action=ConfirmSubscription&TopicArn=x&Token=y"


class Amazon:
    """Who signs: a certificate of its own, and the server that gives it out."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sink = folder, Sink()
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=sns"]
        files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
        subprocess.run([*command, *files], check=True, capture_output=True)
        self.pem = (folder / "cert.pem").read_text()

    @property
    def host(self) -> str:
        return self.sink.url.removeprefix("http://")

    def signed(self, text: bytes, kind: str) -> bytes:
        command = ["openssl", "dgst", f"-{kind}", "-sign", str(self.folder / "key.pem")]
        return subprocess.run(command, input=text, check=True, capture_output=True).stdout

    def message(self, version: str = "1", **fields: Any) -> dict[str, Any]:
        """As SNS posts it; what is None is left out."""
        now = datetime.fromtimestamp(SYSTEM.now(), UTC)
        body: dict[str, Any] = {
            "Type": "Notification",
            "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
            "TopicArn": TOPIC,
            "Subject": 'ALARM: "cpu high" in EU (Ireland)',
            "Message": json.dumps(ALARM),
            "Timestamp": f"{now:%FT%T}.655Z",
            "SignatureVersion": version,
            "SigningCertURL": self.sink.url + CERTIFICATE,
            "UnsubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe",
            **fields,
        }
        body = {name: value for name, value in body.items() if value is not None}
        kind = {"1": "sha1", "2": "sha256"}[version]
        signature = self.signed(sns.signed_text(body, body["Type"]), kind)
        return {"Signature": base64.b64encode(signature).decode(), **body}

    def confirmation(self, **fields: Any) -> dict[str, Any]:
        asked = {
            "Type": "SubscriptionConfirmation",
            "Subject": None,
            "Message": "You have chosen to subscribe to the topic.",
            "SubscribeURL": self.sink.url + CONFIRM,
            "Token": "2336412f37",
        }
        return self.message(**{**asked, **fields})


@pytest.fixture(scope="module")
def amazon_files(tmp_path_factory: pytest.TempPathFactory) -> Amazon:
    return Amazon(tmp_path_factory.mktemp("amazon"))


@pytest.fixture
async def amazon(amazon_files: Amazon) -> AsyncIterator[Amazon]:
    async with running() as sink:
        amazon_files.sink = sink
        sink.reply(CERTIFICATE, Reply(200, amazon_files.pem))
        sink.reply("/", Reply(200, "<ConfirmSubscriptionResponse/>"))
        yield amazon_files


@asynccontextmanager
async def sender(store: Store, amazon: Amazon, **web: Any) -> AsyncIterator[Visitor]:
    async with (
        served(store, sns_hosts=(amazon.host,), **web) as site,
        site.program("intake") as program,
    ):
        yield program


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", [None, "cpu high", ""])
async def test_a_signed_alarm_is_taken_once(
    store: Store, amazon: Amazon, version: str, subject: str | None
) -> None:
    body = amazon.message(version, Subject=subject)
    async with sender(store, amazon) as program:
        first = await program.post("/state", data=json.dumps(body))
        again = await program.post("/state", json=body)
    assert (first.status, first.json()) == (202, {"status": "accepted"})
    assert again.json() == {"status": "repeated"}
    (event,) = await queued(store)
    assert (event["entity"], event["check"], event["state"]) == ("i-1", "cpu high", "critical")


async def test_the_certificate_is_fetched_once(store: Store, amazon: Amazon) -> None:
    async with sender(store, amazon) as program:
        for number in range(3):
            body = amazon.message(MessageId=str(number))
            assert (await program.post("/state", json=body)).status == 202
    assert [one.path for one in amazon.sink.received] == [CERTIFICATE]


@pytest.mark.parametrize(
    "change",
    [
        {"Message": json.dumps({**ALARM, "AlarmName": "another"})},
        {"MessageId": "another"},
        {"TopicArn": TOPIC + "x"},
        {"Subject": "another"},
        {"SignatureVersion": "2"},
        {"Signature": ""},
        {"Signature": "%%%"},
        {"Signature": base64.b64encode(b"x" * 256).decode()},
    ],
)
async def test_what_was_changed_on_its_way_is_not_believed(
    store: Store, amazon: Amazon, change: dict[str, str]
) -> None:
    async with sender(store, amazon) as program:
        answer = await program.post("/state", json={**amazon.message(), **change})
    assert answer.status == 403
    assert answer.json()["errors"][0]["field"] == "Signature"
    assert await queued(store) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0.pem",
        "https://sns.eu-west-1.amazonaws.com.evil.example.com/SimpleNotificationService-0.pem",
        "https://sns.evil.example.com/SimpleNotificationService-0.pem",
        "https://evil.example.com/sns.eu-west-1.amazonaws.com/SimpleNotificationService-0.pem",
        "https://sns.eu-west-1.amazonaws.com@evil.example.com/SimpleNotificationService-0.pem",
        "https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-0.pem",
        "https://sns.eu-west-1.amazonaws.com/other.pem",
        "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0.pem?x=1",
        "https://sns.eu-west-1.amazonaws.com/x/../SimpleNotificationService-0.pem",
        "https://sns.eu.west.amazonaws.com/SimpleNotificationService-0.pem",
        "https://snsXeu-west-1.amazonaws.com/SimpleNotificationService-0.pem",
        "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0.pem\n",
        "https://s3.amazonaws.com/SimpleNotificationService-0.pem",
        "file:///etc/passwd",
        "",
    ],
)
async def test_a_certificate_from_elsewhere_is_not_even_fetched(
    store: Store, amazon: Amazon, url: str
) -> None:
    async with sender(store, amazon) as program:
        answer = await program.post("/state", json=amazon.message(SigningCertURL=url))
    assert (answer.status, answer.json()["errors"][0]["field"]) == (403, "SigningCertURL")
    assert amazon.sink.received == []
    assert not Hosts().has_certificate(url)


@pytest.mark.parametrize("region", ["eu-west-1", "us-gov-west-1", "cn-north-1"])
def test_amazons_own_urls_are_known(region: str) -> None:
    for end in ("", ".cn"):
        host = f"https://sns.{region}.amazonaws.com{end}"
        assert Hosts().has_certificate(f"{host}/SimpleNotificationService-f3ecfb7224c7233f.pem")
        assert Hosts().has_confirmation(
            f"{host}/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37fb687f"
        )
        assert not Hosts().has_confirmation(f"{host}/x?Action=ConfirmSubscription")
        assert not Hosts().is_chosen(f"{host}/?x=y")


async def test_without_the_setting_nothing_private_is_asked(store: Store, amazon: Amazon) -> None:
    async with served(store) as site, site.program("intake") as program:
        answer = await program.post("/state", json=amazon.message())
    assert answer.status == 403
    assert amazon.sink.received == []


@pytest.mark.parametrize(
    "reply", [Reply(404, "gone"), Reply(200, "hello"), Reply(302, "", {"Location": "http://x/"})]
)
async def test_a_certificate_that_is_none_is_told_and_not_asked_for_at_once_again(
    store: Store, amazon: Amazon, reply: Reply
) -> None:
    amazon.sink.reply(CERTIFICATE, reply)
    async with sender(store, amazon) as program:
        answers = [await program.post("/state", json=amazon.message()) for _ in range(3)]
    assert {answer.status for answer in answers} == {503}
    assert "can't be used" in answers[0].json()["detail"]
    assert len(amazon.sink.received) == 1


async def test_an_old_message_is_not_taken_again(store: Store, amazon: Amazon) -> None:
    body = amazon.message(Timestamp="2012-05-02T00:54:06.655Z")
    async with sender(store, amazon) as program:
        answer = await program.post("/state", json=body)
    assert (answer.status, answer.json()["errors"][0]["field"]) == (403, "Timestamp")


async def test_only_topics_of_the_settings_are_taken(store: Store, amazon: Amazon) -> None:
    other = TOPIC.replace("alarms", "others")
    async with sender(store, amazon, sns_topics=("arn:aws:sns:*:123456789012:al*",)) as program:
        taken = await program.post("/state", json=amazon.message())
        refused = await program.post("/state", json=amazon.message(TopicArn=other))
        asked = await program.post("/state", json=amazon.confirmation(TopicArn=other))
    assert (taken.status, refused.status, asked.status) == (202, 403, 403)
    assert refused.json()["errors"][0]["field"] == "TopicArn"
    assert [one.path for one in amazon.sink.received] == [CERTIFICATE]


async def test_a_topic_of_the_settings_is_confirmed(store: Store, amazon: Amazon) -> None:
    async with sender(store, amazon, sns_topics=(TOPIC,)) as program:
        answer = await program.post("/state", json=amazon.confirmation())
        amazon.sink.reply("/", Reply(500, "not now"))
        later = await program.post("/state", json=amazon.confirmation())
        ended = await program.post(
            "/state", json=amazon.confirmation(Type="UnsubscribeConfirmation")
        )
    assert (answer.status, answer.json()["reason"]) == (202, "confirmed")
    assert later.status == 503
    assert ended.status == 202
    confirmed = amazon.sink.received[1]
    assert (confirmed.method, confirmed.path) == ("GET", "/")
    assert confirmed.query["Action"] == "ConfirmSubscription"
    assert len(amazon.sink.received) == 3
    assert await queued(store) == []


async def test_a_topic_that_nobody_named_is_left_to_a_person(store: Store, amazon: Amazon) -> None:
    async with sender(store, amazon) as program:
        answer = await program.post("/state", json=amazon.confirmation())
    assert answer.status == 202
    assert "not in web.sns_topics" in answer.json()["reason"]
    assert [one.path for one in amazon.sink.received] == [CERTIFICATE]


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "https://evil.example.com/?x"])
async def test_a_confirmation_elsewhere_is_not_opened(
    store: Store, amazon: Amazon, url: str
) -> None:
    async with sender(store, amazon, sns_topics=("*",)) as program:
        answer = await program.post("/state", json=amazon.confirmation(SubscribeURL=url))
    assert (answer.status, answer.json()["errors"][0]["field"]) == (403, "SubscribeURL")


@pytest.mark.parametrize("missing", ["MessageId", "TopicArn", "Timestamp", "Message", "Signature"])
async def test_half_a_message_is_none(site: Site, amazon: Amazon, missing: str) -> None:
    body = amazon.message()
    del body[missing]
    async with site.program("intake") as program:
        answer = await program.post("/state", json=body)
    assert answer.status == 422
    assert missing in answer.json()["detail"]


async def test_a_message_that_is_no_alarm_is_refused(store: Store, amazon: Amazon) -> None:
    async with sender(store, amazon) as program:
        answer = await program.post("/state", json=amazon.message(Message="Hello world!"))
    assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "Message")


# Certificates and signatures


def test_openssl_and_we_agree_on_signatures(amazon_files: Amazon) -> None:
    key = signatures.key_of("some words before\n" + amazon_files.pem)
    for kind in ("sha1", "sha256"):
        signed = amazon_files.signed(b"hello", kind)
        assert signatures.fits(key, kind, b"hello", signed)
        assert not signatures.fits(key, kind, b"hullo", signed)
        assert not signatures.fits(key, "sha1" if kind == "sha256" else "sha256", b"hello", signed)
        assert not signatures.fits(key, kind, b"hello", signed[:-1])
        assert not signatures.fits(key, kind, b"hello", b"\x00" + signed)
        assert not signatures.fits(key, kind, b"hello", b"\xff" * 256)


@pytest.mark.parametrize("options", [["-newkey", "rsa:1024"], ["-newkey", "ed25519"]])
def test_a_weak_key_or_one_of_another_kind_is_refused(options: list[str], tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", *options, "-nodes", "-subj", "/CN=x", "-out", str(file)]
    subprocess.run([*command, "-keyout", str(tmp_path / "k")], check=True, capture_output=True)
    with pytest.raises(NoCertificate, match="RSA key"):
        signatures.key_of(file.read_text())


@given(st.binary(max_size=60) | st.builds(lambda n: b"\x30" * n, st.integers(0, 60)))
def test_any_bytes_are_a_certificate_or_are_told(raw: bytes) -> None:
    body = base64.b64encode(raw).decode()
    for text in (body, f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----"):
        with pytest.raises(NoCertificate):
            signatures.key_of(text)


def test_a_certificate_that_was_cut_or_changed_never_crashes(amazon_files: Amazon) -> None:
    whole = base64.b64decode("".join(amazon_files.pem.split("\n")[1:-2]))
    for at in range(0, len(whole), 7):
        for raw in (whole[:at], whole[:at] + b"\xff" + whole[at + 1 :]):
            body = base64.b64encode(raw).decode()
            text = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----"
            try:
                key = signatures.key_of(text)
            except NoCertificate:
                continue
            assert not signatures.fits(key, "sha1", b"hello", b"\x01" * 256)
