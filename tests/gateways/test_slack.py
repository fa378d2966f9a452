"""Slack: what is posted by webhook and by token, and what its answers mean."""

import json

import pytest

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
from tests.gateways.http_sink import Reply
from watchbell.errors import BadSettings
from watchbell.gateways.samples import SAMPLES, sample

TOKEN = "xoxb-1234567890-wonderland"
API = {"token": TOKEN, "api_url": "SINK/api"}
POST = "/api/chat.postMessage"


@pytest.mark.parametrize("kind", SAMPLES)
async def test_a_webhook_is_an_address_of_its_own(kind: str) -> None:
    async with scene("slack", allow_networks=LOOPBACK) as (sink, medium):
        alert = sample(kind, address=f"{sink.url}/services/T000/B000/XXXX")
        assert await sent(medium, alert) == "200 ok"
        assert not sink.problems
        (got,) = sink.received
        assert "channel" not in got.json
        section = got.json["attachments"][0]["blocks"][0]
        assert section["block_id"] == alert.id


@pytest.mark.parametrize(
    ("kind", "colour"),
    [
        ("problem", "#c0262d"),
        ("recovery", "#1c7c3c"),
        ("acknowledgement", "#1763ad"),
        ("test", "#55606e"),
        ("rollup_problem", "#c0262d"),
        ("rollup_recovery", "#1c7c3c"),
    ],
)
async def test_a_state_has_its_colour_and_its_words(kind: str, colour: str) -> None:
    async with scene("slack", url="SINK/services/T/B/X") as (sink, medium):
        await sent(medium, sample(kind, address="default"))
        content = sink.received[0].json
        assert content["attachments"][0]["color"] == colour
        assert "HTTP" in str(content) or "Critical" in str(content) or "Warning" in str(content)


@pytest.mark.parametrize(
    ("address", "channel"),
    [
        ("", None),
        ("default", None),
        ("#room", "#room"),
        ("room", "#room"),
        ("@alice", "@alice"),
        ("C024BE91L", "C024BE91L"),
    ],
)
async def test_the_webhook_of_the_settings_serves_other_addresses(
    address: str, channel: str | None
) -> None:
    async with scene("slack", url="SINK/services/T/B/X") as (sink, medium):
        await sent(medium, problem(address))
        assert sink.received[0].json.get("channel") == channel
        assert not sink.problems


async def test_by_token_an_address_is_a_channel() -> None:
    async with scene("slack", **API) as (sink, medium):
        assert await sent(medium, problem("#room")) == "200 ok, C024BE91L 1401383885.000061"
        assert not sink.problems
        (got,) = sink.received
        assert got.json["channel"] == "#room"
        assert got.headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("ratelimited", "passing"),
        ("internal_error", "passing"),
        ("service_unavailable", "passing"),
        ("channel_not_found", "permanent"),
        ("not_in_channel", "permanent"),
        ("is_archived", "permanent"),
        ("msg_too_long", "permanent"),
        ("invalid_auth", "unreachable"),
        ("token_revoked", "unreachable"),
        ("missing_scope", "unreachable"),
    ],
)
async def test_an_answer_with_status_200_may_be_a_refusal(error: str, kind: str) -> None:
    async with scene("slack", **API) as (sink, medium):
        body = json.dumps({"ok": False, "error": error})
        sink.reply(POST, Reply(200, body, {"Retry-After": "30"}))
        failure = await refused(medium, problem("#room"))
        assert kind_of(failure) == kind
        assert error in str(failure)
        assert failure.retry_after == (30 if kind == "passing" else 0)


@pytest.mark.parametrize("body", ["", "<html>", '{"ok":"true"}', "[]", '{"ok":false}'])
async def test_an_answer_that_is_not_understood_is_no_delivery(body: str) -> None:
    async with scene("slack", **API) as (sink, medium):
        sink.reply(POST, Reply(200, body))
        assert kind_of(await refused(medium, problem("#room"))) == "passing"


async def test_a_limit_says_when_to_come_again() -> None:
    async with scene("slack", **API) as (sink, medium):
        sink.reply(POST, Reply(429, '{"ok":false,"error":"ratelimited"}', {"Retry-After": "12"}))
        failure = await refused(medium, problem("#room"))
        assert (kind_of(failure), failure.retry_after) == ("passing", 12)


async def test_what_people_wrote_is_escaped_and_links_are_links() -> None:
    async with scene("slack", **API) as (sink, medium):
        hostile = problem("#room", summary="<!channel> a & b <https://evil.example|x>")
        await sent(medium, hostile, lambda _: ACK_URL)
        (got,) = sink.received
        text = got.json["attachments"][0]["blocks"][0]["text"]
        assert text["verbatim"] is True
        assert "&lt;!channel&gt; a &amp; b" in text["text"]
        assert "<https://watch.example.com/ack/abc?x=1&amp;y=2>" in text["text"]
        assert "<!" not in str(got.json)
        assert "|x>" not in str(got.json)


@pytest.mark.parametrize("nasty", NASTY)
async def test_whatever_people_wrote_arrives(nasty: str) -> None:
    async with scene("slack", **API) as (sink, medium):
        await sent(medium, problem("#room", **NASTY[nasty]))
        assert not sink.problems


async def test_an_address_that_nothing_serves_is_given_up() -> None:
    medium = opened("slack")
    failure = await refused(medium, problem("#room"))
    assert failure.permanent
    assert "neither url nor token" in str(failure)


async def test_a_webhook_that_is_gone_is_the_addresss_own_failure() -> None:
    async with scene("slack", allow_networks=LOOPBACK) as (sink, medium):
        sink.reply("/services/T/B/SECRETSECRETSECRET", Reply(403, "invalid_token"))
        failure = await refused(medium, problem(f"{sink.url}/services/T/B/SECRETSECRETSECRET"))
        assert failure.permanent
        assert "SECRET" not in str(failure)


async def test_a_webhook_of_the_settings_that_is_refused_is_everybodys() -> None:
    async with scene("slack", url="SINK/services/T/B/X") as (sink, medium):
        sink.reply("/services/T/B/X", Reply(403, "invalid_token"))
        assert (await refused(medium, problem("default"))).unreachable


async def test_a_private_webhook_needs_leave() -> None:
    async with scene("slack", **API) as (sink, medium):
        assert (await refused(medium, problem(f"{sink.url}/services/T/B/X"))).permanent
        assert not sink.received


def test_one_way_is_to_be_chosen() -> None:
    with pytest.raises(BadSettings, match="url and token exclude each other"):
        opened("slack", url="https://hooks.example.com/", token=TOKEN)
