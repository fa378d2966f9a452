"""Slack: by a webhook, or by a bot's token."""

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
"""Addresses that stand for the channel of the webhook in the settings."""

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

_PASSING = (
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
"""Errors that tell of our token, so that nobody is reached by it."""


class Settings(WideReach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: Secret = field(default_factory=Secret)
    """The webhook for addresses that are none themselves."""
    token: Secret = field(default_factory=Secret)
    """A bot's token, by which addresses are channels."""
    api_url: str = "https://slack.com/api"


def open_medium(name: str, chosen: Settings) -> "Slack":
    if chosen.url and chosen.token:
        raise BadSettings(f"gateways.{name}: url and token are two ways; give one of them")
    return Slack(name, chosen)


class Slack(OverHttp):
    def __init__(self, name: str, chosen: Settings) -> None:
        self._url = chosen.url.reveal() if chosen.url else ""
        self._token = chosen.token.reveal() if chosen.token else ""
        self._api = f"{chosen.api_url.rstrip('/')}/chat.postMessage"
        self._theirs = client(chosen, is_service=False, networks=Networks(chosen.allow_networks))
        self._ours = client(chosen, is_service=True)
        super().__init__(name, chosen, self._theirs, self._ours)

    async def send(self, message: Message) -> str:
        address, content = message.address.strip(), _content(message)
        if address.startswith(("http://", "https://")):
            request = Request(url=address, headers=JSON, body=encoded(content))
            return (await self._theirs.hand_over(request)).line()
        if self._token:
            return await self._posted({**content, "channel": _channel(address)})
        if not self._url:
            reason = f"the address {one_line(address, 100)!r} is no webhook's URL, and the"
            raise DeliveryFailed(f"{reason} settings have neither url nor token", permanent=True)
        if address not in OWN:
            content["channel"] = _channel(address)
        request = Request(url=self._url, headers=JSON, body=encoded(content))
        return (await self._ours.hand_over(request)).line()

    async def _posted(self, content: dict[str, Any]) -> str:
        request = Request(
            url=self._api,
            headers=JSON,
            private={"Authorization": f"Bearer {self._token}"},
            body=encoded(content),
            secrets=(self._token,),
        )
        answer = await self._ours.hand_over(request)
        told = answer.json()
        if told.get("ok") is not True:
            raise _refusal(answer, str(told.get("error", "")))
        return one_line(f"{answer.status} ok, {told.get('channel')} {told.get('ts')}")


def _refusal(answer: Answer, error: str) -> DeliveryFailed:
    """What Slack thinks of a message that it did not take, in an answer with status 200."""
    reason = f"Slack answered {error}" if error else f"Slack answered {answer.line()}"
    if error in _OURS:
        return DeliveryFailed(f"{one_line(reason)}; is our token right?", unreachable=True)
    if error in _PASSING or not error:
        return DeliveryFailed(one_line(reason), retry_after=answer.retry_after())
    return DeliveryFailed(one_line(reason), permanent=True)


def _channel(address: str) -> str:
    if address.startswith(("#", "@")) or _CHANNEL_ID.fullmatch(address):
        return address
    return f"#{address}"


def _content(message: Message) -> dict[str, Any]:
    """The first line above, and the rest beside a bar in the colour of the state."""
    headline, _, rest = message.text.partition("\n")
    section = {
        "type": "section",
        "block_id": message.id[:255],
        "text": {
            "type": "mrkdwn",
            "text": _escaped(cut(rest.strip() or message.tone or headline or message.id, _TEXT)),
            "verbatim": True,  # else a # or @ in what others wrote would call people
        },
    }
    return {
        "text": _escaped(cut(headline, _HEADLINE)),
        "attachments": [{"color": _COLOURS.get(message.tone, _OTHER), "blocks": [section]}],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _escaped(text: str) -> str:
    """As Slack asks for it, with links that are links."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LINK.sub(r"<\g<0>>", plain)
