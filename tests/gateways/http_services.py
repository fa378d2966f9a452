"""What the services that speak HTTP document of their requests, to hold ours against."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs


class Received(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Under names in small letters."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        return {
            name: value
            for name, (value,) in parse_qs(
                self.body.decode(), keep_blank_values=True, strict_parsing=True
            ).items()
        }

    @property
    def id(self) -> str:
        return self.headers.get("idempotency-key", "")


class Service(NamedTuple):
    path: str
    """An expression for the paths that are its."""
    complaint: Callable[[Received], str]
    """What is wrong with a request, or nothing."""
    answer: tuple[int, str, str]
    """Status, type and content with which it takes a message."""


def of(path: str) -> Service | None:
    return next((one for one in SERVICES if re.fullmatch(one.path, path)), None)


def _json_wrong(got: Received) -> str:
    if got.method != "POST":
        return f"method {got.method}"
    if not got.headers.get("content-type", "").startswith("application/json"):
        return "content type"
    return "" if isinstance(got.json, dict) else "not an object"


def _form_wrong(got: Received, required: set[str]) -> str:
    if got.method != "POST":
        return f"method {got.method}"
    if not got.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return "content type"
    missing = sorted(required - set(got.form))
    return f"missing {missing}" if missing else ""


def _hook(got: Received) -> str:
    wrong = _json_wrong(got)
    if wrong:
        return wrong
    if set(got.json) != {"alert", "id", "type"} or got.json["type"] not in ("alert", "rollup"):
        return f"fields {sorted(got.json)}"
    if not got.json["id"] == got.json["alert"]["id"] == got.id:
        return "ids differ"
    return "" if got.headers.get("user-agent", "").startswith("watchbell/") else "agent"


def _slack_content(got: Received) -> str:
    content = got.json
    if not isinstance(content.get("text"), str) or len(content["text"]) > 4_000:
        return "text"
    for attachment in content.get("attachments", []):
        if not re.fullmatch("#[0-9a-f]{6}", attachment["color"]):
            return "colour"
        for block in attachment["blocks"]:
            text = block["text"]
            if block["type"] != "section" or text["type"] not in ("mrkdwn", "plain_text"):
                return "block"
            if not 1 <= len(text["text"]) <= 3_000 or len(block.get("block_id", "")) > 255:
                return "length of a block"
    return ""


def _slack_hook(got: Received) -> str:
    return _json_wrong(got) or _slack_content(got)


def _slack_api(got: Received) -> str:
    wrong = _json_wrong(got) or _slack_content(got)
    if wrong:
        return wrong
    if not got.json.get("channel"):
        return "channel"
    return "" if got.headers.get("authorization", "").startswith("Bearer xoxb-") else "token"


def _pagerduty(got: Received) -> str:
    wrong = _json_wrong(got)
    if wrong:
        return wrong
    event = got.json
    if not re.fullmatch("[0-9a-f]{32}", event.get("routing_key", "")):
        return "routing_key"
    if event.get("event_action") not in ("trigger", "acknowledge", "resolve"):
        return "event_action"
    if not 1 <= len(event.get("dedup_key", "")) <= 255:
        return "dedup_key"
    payload = event["payload"]
    if not 1 <= len(payload.get("summary", "")) <= 1_024 or not payload.get("source"):
        return "summary or source"
    if payload.get("severity") not in ("critical", "error", "warning", "info"):
        return "severity"
    if not all(link["href"].startswith(("http://", "https://")) for link in event["links"]):
        return "links"
    return "larger than 512 KB" if len(got.body) > 512 << 10 else ""


def _messagenet(got: Received) -> str:
    names = ("Username", "Pwd", "PhoneNumber", "PhoneMessage")
    if got.method != "GET" or set(got.query) != set(names):
        return f"{got.method} {sorted(got.query)}"
    return "longer than 159 characters" if len(got.query["PhoneMessage"]) > 159 else ""


def _twilio(got: Received) -> str:
    wrong = _form_wrong(got, {"To", "Body"})
    if wrong:
        return wrong
    if not {"From", "MessagingServiceSid"} & set(got.form):
        return "neither From nor MessagingServiceSid"
    if not re.fullmatch(r"\+[0-9]{3,15}", got.form["To"]):
        return "To"
    return "" if got.headers.get("authorization", "").startswith("Basic ") else "authorization"


def _vonage(got: Received) -> str:
    wrong = _form_wrong(got, {"api_key", "api_secret", "from", "to", "text", "type"})
    if wrong:
        return wrong
    if not re.fullmatch("[0-9]{3,15}", got.form["to"]):
        return "to"
    plain = got.form["text"].isascii()
    return "" if got.form["type"] == ("text" if plain else "unicode") else "type"


_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[A-Z0-9]+/\d{8}/[a-z0-9-]+/sns/aws4_request, "
    r"SignedHeaders=content-type;host;x-amz-date(;x-amz-security-token)?, Signature=[0-9a-f]{64}"
)


def _sns(got: Received) -> str:
    wrong = _form_wrong(got, {"Action", "Version", "Message"})
    if wrong:
        return wrong
    if got.form["Action"] != "Publish" or len({"TopicArn", "PhoneNumber"} & set(got.form)) != 1:
        return "Publish to one target"
    subject = got.form.get("Subject", "x")
    if not subject.isascii() or not 1 <= len(subject) <= 100:
        return "Subject"
    return "" if _SIGNED.fullmatch(got.headers.get("authorization", "")) else "signature"


_JSON, _TEXT, _XML = "application/json", "text/plain", "text/xml"
_MESSAGE = {"message-id": "0A0000000123ABCD1", "status": "0", "remaining-balance": "3.14"}

SERVICES = (
    Service("/json.*", _json_wrong, (200, _TEXT, "thank you")),
    Service("/hook.*", _hook, (200, _TEXT, "thank you")),
    Service("/services/.*", _slack_hook, (200, _TEXT, "ok")),
    Service(
        "/api/chat.postMessage",
        _slack_api,
        (200, _JSON, '{"ok":true,"channel":"C024BE91L","ts":"1401383885.000061"}'),
    ),
    Service(
        "/v2/enqueue",
        _pagerduty,
        (202, _JSON, '{"status":"success","message":"Event processed","dedup_key":"k"}'),
    ),
    Service("/dotnet/.*", _messagenet, (200, _XML, "<string>Message sent successfully</string>")),
    Service(
        "/2010-04-01/Accounts/AC[0-9a-f]{32}/Messages.json",
        _twilio,
        (201, _JSON, '{"sid":"SM00000000000000000000000000000001","status":"queued"}'),
    ),
    Service(
        "/sms/json",
        _vonage,
        (200, _JSON, json.dumps({"message-count": "1", "messages": [_MESSAGE]})),
    ),
    Service(
        "/",
        _sns,
        (200, _XML, "<PublishResponse><MessageId>567910cd</MessageId></PublishResponse>"),
    ),
)
