"""SMS by MessageNet."""

from watchbell.gateways import sms
from watchbell.gateways.message import Message
from watchbell.gateways.over_http import OverHttp, Reach, client
from watchbell.http.client import Request, form
from watchbell.settings import Secret

STYLE = sms.STYLE


class Settings(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    username: str
    password: Secret
    url: str = "https://www.messagenet.com.au/dotnet/Lodge.asmx/LodgeSMSMessage"


def open_medium(_: str, settings: Settings) -> "MessageNet":
    return MessageNet(settings)


class MessageNet(OverHttp):
    def __init__(self, settings: Settings) -> None:
        self._settings, self._password = settings, settings.password.reveal()
        self._client = client(settings, is_service=True)
        super().__init__(settings, self._client)

    async def send(self, message: Message) -> str:
        query = form(
            {
                "Username": self._settings.username,
                "Pwd": self._password,
                "PhoneNumber": sms.number(message.address),
                "PhoneMessage": message.text,
            }
        )
        request = Request(
            url=f"{self._settings.url}?{query.decode()}", method="GET", secrets=(self._password,)
        )
        return (await self._client.send(request)).line()
