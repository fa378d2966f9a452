"""SMS by Vonage, formerly Nexmo."""

from typing import Any

from watchbell.errors import DeliveryFailed
from watchbell.gateways import sms
from watchbell.gateways.message import Message
from watchbell.gateways.over_http import OverHttp, Reach, client
from watchbell.http.answer import one_line, starred
from watchbell.http.client import FORM, Request, form
from watchbell.settings import Secret

STYLE = sms.STYLE

_ACCEPTED = "0"
_TEMPORARY = ("1", "5", "10")
"""Throttled, an internal error, too many connections."""
_OURS = ("4", "8", "9", "11", "14", "32")
"""Credentials, the account or its balance: every message would fail."""


class Settings(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    api_key: str
    api_secret: Secret
    from_number: str
    """A number or name of your account."""
    url: str = "https://rest.nexmo.com/sms/json"


def open_medium(_: str, settings: Settings) -> "Vonage":
    return Vonage(settings)


class Vonage(OverHttp):
    def __init__(self, settings: Settings) -> None:
        self._settings, self._secret = settings, settings.api_secret.reveal()
        self._client = client(settings, is_service=True)
        super().__init__(settings, self._client)

    async def send(self, message: Message) -> str:
        fields = {
            "api_key": self._settings.api_key,
            "api_secret": self._secret,
            "from": self._settings.from_number,
            "to": sms.number(message.address).removeprefix("+"),
            "text": message.text,
            "type": "text" if message.text.isascii() else "unicode",
            "client-ref": message.id[:40],
        }
        request = Request(
            url=self._settings.url, headers=FORM, body=form(fields), secrets=(self._secret,)
        )
        answer = await self._client.send(request)
        parts = _parts(answer.json())
        if not parts:
            raise DeliveryFailed(f"Vonage answered {answer.line()}")
        for part in parts:
            if part.get("status") != _ACCEPTED:
                raise _refusal(part, self._secret)
        return one_line(f"{answer.status} {parts[0].get('message-id', '')}")


def _parts(reply: dict[str, Any]) -> list[dict[str, Any]]:
    """The result of each part of the message."""
    parts = reply.get("messages")
    return [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []


def _refusal(part: dict[str, Any], secret: str) -> DeliveryFailed:
    status = str(part.get("status"))
    error = starred(f"status {status}: {part.get('error-text', '')}", [secret])
    reason = f"Vonage answered {one_line(error)}"
    if status in _OURS:
        return DeliveryFailed(f"{reason}; check the account", unreachable=True)
    return DeliveryFailed(reason, permanent=status not in _TEMPORARY)
