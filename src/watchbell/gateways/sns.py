"""Amazon SNS: to a topic, or as an SMS to a phone."""

import re

from msgspec import field

from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways import sms
from watchbell.gateways.aws_signature import Credentials, signed
from watchbell.gateways.message import Form, Message
from watchbell.gateways.over_http import OverHttp, Reach, client
from watchbell.http.answer import Answer
from watchbell.http.client import FORM, Request, form, header
from watchbell.settings import Secret

STYLE = sms.STYLE

_REGION = re.compile("[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")
_ARN = re.compile(rf"arn:aws[a-z-]*:sns:({_REGION.pattern}):[0-9]{{12}}:[A-Za-z0-9_.-]{{1,256}}")
_CODE = re.compile("<Code>([A-Za-z.]{1,60})</Code>")
_TEMPORARY = ("Throttling", "ThrottledException", "KMSThrottling", "KMSThrottlingException")
_TOPIC_CLOSED = ("AuthorizationError", "AuthorizationErrorException")
"""Our credentials are right, but we may not publish to this topic."""
_CLOCK_WRONG = ("RequestExpired", "RequestTimeTooSkewed")


class Settings(Reach, frozen=True, kw_only=True, forbid_unknown_fields=True):
    access_key: str
    secret_key: Secret
    session_token: Secret = field(default_factory=Secret)
    """Of temporary credentials."""
    region: str = "us-east-1"
    """For phone numbers; a topic's ARN contains its own."""
    url: str = "https://sns.{region}.amazonaws.com"


def open_medium(_: str, settings: Settings) -> "Sns":
    if not _REGION.fullmatch(settings.region):
        raise BadSettings(f"region is {settings.region!r}; expected, for example, us-east-1")
    return Sns(settings)


class Sns(OverHttp):
    form = Form(parts=("subject", "text"))

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._credentials = Credentials(
            settings.access_key,
            settings.secret_key.reveal(),
            settings.session_token.reveal() if settings.session_token else "",
        )
        self._client = client(settings, is_service=True)
        super().__init__(settings, self._client)

    async def send(self, message: Message) -> str:
        address = message.address.strip()
        topic = _ARN.fullmatch(address)
        region = topic[1] if topic else self._settings.region
        target = _to_topic(address, message) if topic else {"PhoneNumber": sms.number(address)}
        fields = {"Action": "Publish", "Version": "2010-03-31", "Message": message.text, **target}
        answer = await self._client.ask(self._request(region, form(fields)))
        failure = _failure(answer)
        if failure is not None:
            raise failure
        return answer.line()

    def _request(self, region: str, body: bytes) -> Request:
        url = self._settings.url.replace("{region}", region).rstrip("/") + "/"
        private = signed(self._credentials, "POST", url, FORM, body, region, "sns", SYSTEM.now())
        secrets = (self._credentials.secret_key, self._credentials.session_token)
        return Request(url=url, headers=FORM, private=private, body=body, secrets=secrets)


def _to_topic(arn: str, message: Message) -> dict[str, str]:
    fields = {"TopicArn": arn}
    subject = header(message.subject.encode("ascii", "replace").decode())[:100]
    if subject:
        fields["Subject"] = subject
    if arn.endswith(".fifo"):
        fields["MessageGroupId"] = header(message.topic)[:128] or "watchbell"
        fields["MessageDeduplicationId"] = header(message.id)[:128]
    return fields


def _failure(answer: Answer) -> DeliveryFailed | None:
    """Decided by the code in the answer, which is more precise than the status."""
    failure = answer.failure(is_service=True)
    code = _CODE.search(answer.text)
    if failure is None or code is None:
        return failure
    if code[1] in _TEMPORARY:
        return DeliveryFailed(str(failure), retry_after=answer.retry_after())
    if code[1] in _CLOCK_WRONG:
        return DeliveryFailed(f"{failure}; is our clock right?", unreachable=True)
    if code[1] in _TOPIC_CLOSED:
        return DeliveryFailed(f"the server answered {answer.line()}", permanent=True)
    return failure
