"""Short messages by Vonage, which was Nexmo."""

from typing import Any

from watchbell.errors import DeliveryFailed
from watchbell.gateways import sms
from watchbell.gateways.message import Message
from watchbell.gateways.over_http import OverHttp, Reach, client
from watchbell.http.answer import one_line, starred
from watchbell.http.client import FORM, Request, form
from watchbell.settings import Secret

STYLE = sms.STYLE

_TAKEN = "0"
_PASSING = ("1", "5", "10")
"""Throttled, an error of theirs, too many connections."""
_OURS = ("4", "8", "9", "11", "14", "32")
"""Credentials, the account, its money: nobody is reached."""


class Settings(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    api_key: str
    api_secret: Secret
    from_number: str
    """A number or name of ours."""
    url: str = "https://rest.nexmo.com/sms/json"


def open_medium(name: str, chosen: Settings) -> "Vonage":
    return Vonage(name, chosen)


class Vonage(OverHttp):
    def __init__(self, name: str, chosen: Settings) -> None:
        self._chosen, self._secret = chosen, chosen.api_secret.reveal()
        self._client = client(chosen, is_service=True)
        super().__init__(name, chosen, self._client)

    async def send(self, message: Message) -> str:
        fields = {
            "api_key": self._chosen.api_key,
            "api_secret": self._secret,
            "from": self._chosen.from_number,
            "to": sms.number(message.address).removeprefix("+"),
            "text": message.text,
            "type": "text" if message.text.isascii() else "unicode",
            "client-ref": message.id[:40],
        }
        request = Request(
            url=self._chosen.url, headers=FORM, body=form(fields), secrets=(self._secret,)
        )
        answer = await self._client.hand_over(request)
        parts = _parts(answer.json())
        if not parts:
            raise DeliveryFailed(f"Vonage answered {answer.line()}")
        for part in parts:
            if part.get("status") != _TAKEN:
                raise _refusal(part, self._secret)
        return one_line(f"{answer.status} {parts[0].get('message-id', '')}")


def _parts(told: dict[str, Any]) -> list[dict[str, Any]]:
    """What became of each piece that the message was sent in."""
    parts = told.get("messages")
    return [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []


def _refusal(part: dict[str, Any], secret: str) -> DeliveryFailed:
    status = str(part.get("status"))
    said = starred(f"status {status}: {part.get('error-text', '')}", [secret])
    reason = f"Vonage answered {one_line(said)}"
    if status in _OURS:
        return DeliveryFailed(f"{reason}; is our account right?", unreachable=True)
    return DeliveryFailed(reason, permanent=status not in _PASSING)
