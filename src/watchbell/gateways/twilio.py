"""SMS by Twilio."""

from watchbell.gateways import sms
from watchbell.gateways.message import Message
from watchbell.gateways.over_http import OverHttp, Reach, client
from watchbell.http.answer import one_line
from watchbell.http.client import FORM, Request, basic, form
from watchbell.settings import Secret

STYLE = sms.STYLE


class Settings(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    account: str
    """The account's SID, `AC…`."""
    token: Secret
    from_number: str
    """A number or name of your account, or the `MG…` SID of a messaging service."""
    url: str = "https://api.twilio.com"


def open_medium(_: str, settings: Settings) -> "Twilio":
    return Twilio(settings)


class Twilio(OverHttp):
    def __init__(self, settings: Settings) -> None:
        sid, self._token = settings.account, settings.token.reveal()
        self._url = f"{settings.url.rstrip('/')}/2010-04-01/Accounts/{sid}/Messages.json"
        self._basic = basic(sid, self._token)
        is_service = settings.from_number.startswith("MG") and len(settings.from_number) == 34
        self._from = {"MessagingServiceSid" if is_service else "From": settings.from_number}
        self._client = client(settings, is_service=True)
        super().__init__(settings, self._client)

    async def send(self, message: Message) -> str:
        fields = {"To": sms.number(message.address), **self._from, "Body": message.text}
        request = Request(
            url=self._url,
            headers=FORM,
            private=self._basic,
            body=form(fields),
            secrets=(self._token,),
        )
        answer = await self._client.send(request)
        reply = answer.json()
        return one_line(f"{answer.status} {reply.get('status', '')} {reply.get('sid', '')}")
