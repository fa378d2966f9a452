"""Short messages: MessageNet, Twilio and Vonage, each as it documents its requests."""

import base64
import json
from typing import Any

import pytest
from msgspec import ValidationError

from tests.gateways.http_media import NASTY, kind_of, opened, problem, refused, scene, sent
from tests.gateways.http_sink import Reply
from watchbell.errors import DeliveryFailed
from watchbell.gateways.samples import SAMPLES, sample
from watchbell.gateways.sms import number

SECRET = "wonderland-4711"
SID = "AC" + "0" * 32
NUMBER = "+491701234567"
KINDS: dict[str, dict[str, Any]] = {
    "messagenet": {"username": "alice", "password": SECRET, "url": "SINK/dotnet/Lodge"},
    "twilio": {"account": SID, "token": SECRET, "from_number": "+15005550006", "url": "SINK"},
    "vonage": {
        "api_key": "abcd1234",
        "api_secret": SECRET,
        "from_number": "Watchbell",
        "url": "SINK/sms/json",
    },
}
PATHS = {
    "messagenet": "/dotnet/Lodge",
    "twilio": f"/2010-04-01/Accounts/{SID}/Messages.json",
    "vonage": "/sms/json",
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("about", SAMPLES)
async def test_a_short_message_is_handed_over(kind: str, about: str) -> None:
    async with scene(kind, **KINDS[kind]) as (sink, medium):
        answer = await sent(medium, sample(about, address=NUMBER))
        assert answer[:2] == "20"
        assert not sink.problems
        assert len(sink.received) == 1


async def test_messagenet_is_asked_as_ever() -> None:
    async with scene("messagenet", **KINDS["messagenet"]) as (sink, medium):
        await sent(medium, problem("+61 (0)400-123 456", summary="a & b + ü"))
        query = sink.received[0].query
        assert query["Username"] == "alice"
        assert query["Pwd"] == SECRET
        assert query["PhoneNumber"] == "+610400123456"
        assert query["PhoneMessage"].startswith("Problem: 'HTTP' on web-1.example.com is Critical")
        assert query["PhoneMessage"].endswith("a & b + ü")


async def test_twilio_is_told_from_whom() -> None:
    async with scene("twilio", **KINDS["twilio"]) as (sink, medium):
        answer = await sent(medium, problem(NUMBER))
        assert answer == "201 queued SM00000000000000000000000000000001"
        (got,) = sink.received
        assert (got.form["From"], got.form["To"]) == ("+15005550006", NUMBER)
        pair = base64.b64decode(got.headers["authorization"].removeprefix("Basic ")).decode()
        assert pair == f"{SID}:{SECRET}"


async def test_twilio_can_send_by_a_messaging_service() -> None:
    chosen = {**KINDS["twilio"], "from_number": "MG" + "1" * 32}
    async with scene("twilio", **chosen) as (sink, medium):
        await sent(medium, problem(NUMBER))
        assert sink.received[0].form["MessagingServiceSid"] == "MG" + "1" * 32
        assert "From" not in sink.received[0].form


async def test_vonage_is_given_the_id_of_the_alert() -> None:
    async with scene("vonage", **KINDS["vonage"]) as (sink, medium):
        assert await sent(medium, problem(NUMBER, summary="größer")) == "200 0A0000000123ABCD1"
        form = sink.received[0].form
        assert form["client-ref"] == "sample-problem"
        assert form["type"] == "unicode"
        assert form["to"] == NUMBER[1:]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((code, "passing") for code in ("1", "5", "10")),
        *((code, "permanent") for code in ("2", "3", "6", "7", "12", "15", "22", "29", "33")),
        *((code, "unreachable") for code in ("4", "8", "9", "11", "14", "32")),
    ],
)
async def test_vonage_says_by_a_number_what_became_of_each_part(status: str, kind: str) -> None:
    parts = [{"status": "0"}, {"status": status, "error-text": f"because of {SECRET}"}]
    async with scene("vonage", **KINDS["vonage"]) as (sink, medium):
        sink.reply("/sms/json", Reply(200, json.dumps({"messages": parts})))
        failure = await refused(medium, problem(NUMBER))
        assert kind_of(failure) == kind
        assert f"status {status}: because of ***" in str(failure)


@pytest.mark.parametrize("body", ["", "{}", '{"messages":[]}', '{"messages":[1]}', "<x>"])
async def test_an_answer_of_vonage_without_a_status_is_no_delivery(body: str) -> None:
    async with scene("vonage", **KINDS["vonage"]) as (sink, medium):
        sink.reply("/sms/json", Reply(200, body))
        assert kind_of(await refused(medium, problem(NUMBER))) == "passing"


@each_kind
@pytest.mark.parametrize("nasty", NASTY)
async def test_whatever_people_wrote_arrives_short(kind: str, nasty: str) -> None:
    async with scene(kind, **KINDS[kind]) as (sink, medium):
        await sent(medium, problem(NUMBER, **NASTY[nasty]))
        assert not sink.problems
        (got,) = sink.received
        form = got.query if kind == "messagenet" else got.form
        text = form.get("PhoneMessage") or form.get("Body") or form.get("text") or ""
        assert 0 < len(text) <= 159


@each_kind
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(400, "bad number"), "permanent"),
        (Reply(401, "who are you"), "unreachable"),
        (Reply(429, "", {"Retry-After": "3"}), "passing"),
        (Reply(503, ""), "passing"),
    ],
)
async def test_a_refusal_is_told(kind: str, reply: Reply, expected: str) -> None:
    async with scene(kind, **KINDS[kind]) as (sink, medium):
        sink.reply(PATHS[kind], reply._replace(body=f"{reply.body} {SECRET}"))
        failure = await refused(medium, problem(NUMBER))
        assert kind_of(failure) == expected
        assert SECRET not in str(failure)


@each_kind
async def test_a_service_that_is_away_is_away_for_everybody(kind: str) -> None:
    medium = opened(kind, **{**KINDS[kind], "url": "http://127.0.0.1:1/x"})
    failure = await refused(medium, problem(NUMBER))
    assert failure.unreachable
    assert SECRET not in str(failure)
    await medium.close()


@each_kind
async def test_what_is_no_number_is_given_up(kind: str) -> None:
    medium = opened(kind, **KINDS[kind])
    for address in ("", "alice", "+49\r\nX: 1", "12", "+" + "1" * 16, "0123x", "\0"):
        failure = await refused(medium, problem(address))
        assert failure.permanent


@pytest.mark.parametrize(
    ("written", "meant"),
    [("+49 170 / 12 34-567", NUMBER), ("0049.170.1234567", "00491701234567"), ("110", "110")],
)
def test_a_number_may_be_written_for_reading(written: str, meant: str) -> None:
    assert number(written) == meant


@pytest.mark.parametrize("digits", ["٠١٢٣٤٥", "\uff11\uff12\uff13\uff14\uff15"])
def test_digits_of_other_scripts_are_no_number(digits: str) -> None:
    with pytest.raises(DeliveryFailed):
        number(digits)


@each_kind
def test_a_secret_that_is_missing_stops_the_start(kind: str) -> None:
    secret = {"messagenet": "password", "twilio": "token", "vonage": "api_secret"}[kind]
    fields = {name: value for name, value in KINDS[kind].items() if name != secret}
    with pytest.raises(ValidationError, match=f"missing required field `{secret}`"):
        opened(kind, **fields)
