"""Short messages by MessageNet."""

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


def open_medium(name: str, chosen: Settings) -> "MessageNet":
    return MessageNet(name, chosen)


class MessageNet(OverHttp):
    def __init__(self, name: str, chosen: Settings) -> None:
        self._chosen, self._password = chosen, chosen.password.reveal()
        self._client = client(chosen, is_service=True)
        super().__init__(name, chosen, self._client)

    async def send(self, message: Message) -> str:
        query = form(
            {
                "Username": self._chosen.username,
                "Pwd": self._password,
                "PhoneNumber": sms.number(message.address),
                "PhoneMessage": message.text,
            }
        )
        request = Request(
            url=f"{self._chosen.url}?{query.decode()}", method="GET", secrets=(self._password,)
        )
        return (await self._client.hand_over(request)).line()
