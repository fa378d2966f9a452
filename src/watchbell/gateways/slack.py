"""Slack: by a web hook, or by a bot's token."""

import re
from typing import Any

from msgspec import field

from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways.message import Message
from watchbell.gateways.message_texts import cut
from watchbell.gateways.over_http import OverHttp, WideReach, client
from watchbell.http.answer import Answer, one_line
from watchbell.http.client import JSON, Request, encoded
from watchbell.http.networks import Networks
from watchbell.settings import Secret

STYLE = "note"
OWN = ("", "default")
"""Addresses that mean the default channel of the web hook in the settings."""

_HEADLINE, _TEXT = 300, 2_900
_COLOURS = {
    "critical": "#c0262d",
    "warning": "#e8a317",
    "unknown": "#6b4fbb",
    "ok": "#1c7c3c",
    "acknowledgement": "#1763ad",
}
_OTHER = "#55606e"
_LINK = re.compile(r"https?://[^\s<>|]+")
_CHANNEL_ID = re.compile("[CDGUW][A-Z0-9]{8,}")

_TEMPORARY = (
    *("ratelimited", "rate_limited", "message_limit_exceeded", "accesslimited"),
    *("internal_error", "fatal_error", "request_timeout", "service_unavailable"),
    "team_added_to_org",
)
_OURS = (
    *("invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"),
    *("no_permission", "missing_scope", "not_allowed_token_type", "access_denied"),
    *("org_login_required", "ekm_access_denied", "team_access_not_granted"),
    "two_factor_setup_required",
)
"""Errors that concern our token, so every message would fail."""


class Settings(WideReach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: Secret = field(default_factory=Secret)
    """The web hook for addresses that are not URLs."""
    token: Secret = field(default_factory=Secret)
    """A bot's token; addresses are channels then."""
    api_url: str = "https://slack.com/api"


def open_medium(_: str, settings: Settings) -> "Slack":
    if settings.url and settings.token:
        raise BadSettings("url and token exclude each other; set one of them")
    return Slack(settings)


class Slack(OverHttp):
    def __init__(self, settings: Settings) -> None:
        self._url = settings.url.reveal() if settings.url else ""
        self._token = settings.token.reveal() if settings.token else ""
        self._api = f"{settings.api_url.rstrip('/')}/chat.postMessage"
        self._theirs = client(
            settings, is_service=False, networks=Networks(settings.allow_networks)
        )
        self._ours = client(settings, is_service=True)
        super().__init__(settings, self._theirs, self._ours)

    async def send(self, message: Message) -> str:
        address, content = message.address.strip(), _content(message)
        if address.startswith(("http://", "https://")):
            request = Request(url=address, headers=JSON, body=encoded(content))
            return (await self._theirs.send(request)).line()
        if self._token:
            return await self._posted({**content, "channel": _channel(address)})
        if not self._url:
            reason = f"the address {one_line(address, 100)!r} is not a web hook's URL, and the"
            raise DeliveryFailed(f"{reason} settings have neither url nor token", permanent=True)
        if address not in OWN:
            content["channel"] = _channel(address)
        request = Request(url=self._url, headers=JSON, body=encoded(content))
        return (await self._ours.send(request)).line()

    async def _posted(self, content: dict[str, Any]) -> str:
        request = Request(
            url=self._api,
            headers=JSON,
            private={"Authorization": f"Bearer {self._token}"},
            body=encoded(content),
            secrets=(self._token,),
        )
        answer = await self._ours.send(request)
        reply = answer.json()
        if reply.get("ok") is not True:
            raise _refusal(answer, str(reply.get("error", "")))
        return one_line(f"{answer.status} ok, {reply.get('channel')} {reply.get('ts')}")


def _refusal(answer: Answer, error: str) -> DeliveryFailed:
    """Slack reports errors in answers with status 200."""
    reason = f"Slack answered {error}" if error else f"Slack answered {answer.line()}"
    if error in _OURS:
        return DeliveryFailed(f"{one_line(reason)}; is our token right?", unreachable=True)
    if error in _TEMPORARY or not error:
        return DeliveryFailed(one_line(reason), retry_after=answer.retry_after())
    return DeliveryFailed(one_line(reason), permanent=True)


def _channel(address: str) -> str:
    if address.startswith(("#", "@")) or _CHANNEL_ID.fullmatch(address):
        return address
    return f"#{address}"


def _content(message: Message) -> dict[str, Any]:
    """The first line on top, and the rest next to a bar in the colour of the state."""
    headline, _, rest = message.text.partition("\n")
    section = {
        "type": "section",
        "block_id": message.id[:255],
        "text": {
            "type": "mrkdwn",
            "text": _escaped(cut(rest.strip() or message.tone or headline or message.id, _TEXT)),
            "verbatim": True,  # else a # or @ in a check's report would notify people
        },
    }
    return {
        "text": _escaped(cut(headline, _HEADLINE)),
        "attachments": [{"color": _COLOURS.get(message.tone, _OTHER), "blocks": [section]}],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _escaped(text: str) -> str:
    """Escaped as Slack asks for it, with links that can be clicked."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LINK.sub(r"<\g<0>>", plain)
