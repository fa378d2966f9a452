"""Amazon SNS: its signature, by the examples that AWS publishes, and what is sent to it."""

import pytest

from tests.gateways.http_media import NASTY, kind_of, opened, problem, refused, scene, sent
from tests.gateways.http_sink import Reply
from watchbell.errors import BadSettings
from watchbell.gateways.aws_signature import Credentials, signed, signing_key
from watchbell.gateways.samples import SAMPLES, sample

EXAMPLE = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
AT = 1_440_938_160.0
"""2015-08-30 12:36:00 UTC, as in the examples."""
HOST = "https://example.amazonaws.com"
LETTERS = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

TOPIC = "arn:aws:sns:eu-central-1:123456789012:alerts"
SECRET = "wonderland/4711+secret"
OWN = {"access_key": "AKIDEXAMPLE", "secret_key": SECRET, "url": "SINK"}


@pytest.mark.parametrize(
    ("method", "url", "headers", "body", "signature"),
    [
        ("GET", "/", {}, b"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (
            *("GET", "/?Param2=value2&Param1=value1", {}, b""),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            *("GET", f"/?{LETTERS}={LETTERS}", {}, b""),
            "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
        ),
        (
            *("GET", "/ሴ", {}, b""),
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
        ),
        ("POST", "/", {}, b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            *("POST", "/", {"My-Header1": "value1"}, b""),
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        ),
        (
            *("POST", "/", FORM, b"Param1=value1"),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
    ids=["vanilla", "query", "unreserved", "utf8", "post", "header", "form"],
)
def test_a_request_is_signed_as_in_the_examples_of_aws(
    method: str, url: str, headers: dict[str, str], body: bytes, signature: str
) -> None:
    added = signed(EXAMPLE, method, HOST + url, headers, body, "us-east-1", "service", AT)
    names = ";".join(sorted({*map(str.lower, headers), "host", "x-amz-date"}))
    assert added == {
        "X-Amz-Date": "20150830T123600Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/"
        f"aws4_request, SignedHeaders={names}, Signature={signature}",
    }


def test_the_key_is_made_as_in_the_example_of_aws() -> None:
    key = signing_key(EXAMPLE.secret_key, "20150830", "us-east-1", "iam")
    assert key.hex() == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"


@pytest.mark.parametrize("kind", SAMPLES)
async def test_an_alert_is_published_to_a_topic(kind: str) -> None:
    async with scene("sns", **OWN) as (sink, medium):
        assert "567910cd" in await sent(medium, sample(kind, address=TOPIC))
        assert not sink.problems
        (got,) = sink.received
        assert got.form["TopicArn"] == TOPIC
        assert got.form["Message"]
        assert "/eu-central-1/sns/" in got.headers["authorization"]


async def test_a_number_gets_a_short_message_in_the_region_of_the_settings() -> None:
    async with scene("sns", region="ap-southeast-2", **OWN) as (sink, medium):
        await sent(medium, problem("+61 400 123 456"))
        (got,) = sink.received
        assert got.form["PhoneNumber"] == "+61400123456"
        assert "Subject" not in got.form
        assert "/ap-southeast-2/sns/" in got.headers["authorization"]
        assert not sink.problems


async def test_temporary_credentials_are_signed_with_their_token() -> None:
    async with scene("sns", session_token="temporary", **OWN) as (sink, medium):
        await sent(medium, problem(TOPIC))
        (got,) = sink.received
        assert got.headers["x-amz-security-token"] == "temporary"
        assert not sink.problems


async def test_a_topic_that_keeps_the_order_knows_an_alert_again() -> None:
    async with scene("sns", **OWN) as (sink, medium):
        await sent(medium, problem(f"{TOPIC}.fifo"))
        form = sink.received[0].form
        assert form["MessageDeduplicationId"] == "sample-problem"
        assert form["MessageGroupId"] == "web-1.example.com:HTTP"


@pytest.mark.parametrize("nasty", NASTY)
async def test_whatever_people_wrote_arrives(nasty: str) -> None:
    async with scene("sns", **OWN) as (sink, medium):
        await sent(medium, problem(TOPIC, **NASTY[nasty]))
        assert not sink.problems


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "InvalidParameter", "permanent"),
        (400, "Throttling", "passing"),
        (400, "RequestExpired", "unreachable"),
        (403, "SignatureDoesNotMatch", "unreachable"),
        (403, "InvalidClientTokenId", "unreachable"),
        (403, "AuthorizationError", "permanent"),
        (404, "NotFound", "permanent"),
        (500, "InternalFailure", "passing"),
    ],
)
async def test_the_code_of_a_refusal_says_what_to_do(status: int, code: str, kind: str) -> None:
    async with scene("sns", **OWN) as (sink, medium):
        body = f"<ErrorResponse><Error><Code>{code}</Code><Message>{SECRET}</Message></Error>"
        sink.reply("/", Reply(status, body))
        failure = await refused(medium, problem(TOPIC))
        assert kind_of(failure) == kind
        assert code in str(failure)
        assert SECRET not in str(failure)


@pytest.mark.parametrize(
    "address",
    [
        *("", "alice", "arn:aws:sns:evil.example.com/:123456789012:x"),
        *("arn:aws:sns:eu-central-1:123456789012:a b", "arn:aws:sqs:eu-central-1:123456789012:x"),
    ],
)
async def test_what_is_neither_topic_nor_number_is_given_up(address: str) -> None:
    async with scene("sns", **OWN) as (sink, medium):
        assert (await refused(medium, problem(address))).permanent
        assert not sink.received


def test_a_region_that_is_none_stops_the_start() -> None:
    with pytest.raises(BadSettings, match=r"region is 'Frankfurt'"):
        opened("sns", region="Frankfurt", **OWN)
