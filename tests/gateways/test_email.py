"""Mail into a real server that answers, refuses, hangs and hangs up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiosmtplib.email import parse_address
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.gateways import smtp
from tests.gateways.smtp import Sink, Terms
from tests.servers import HOST, Certificates, certificates, held_port
from tests.waiting import eventually
from watchbell.alerting.model import Alert
from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways import email, mime
from watchbell.gateways.alert_messages import AlertRenderer
from watchbell.gateways.email import Email, Settings, Stage, verdict
from watchbell.gateways.message import Message
from watchbell.gateways.message_texts import open_texts
from watchbell.gateways.samples import SAMPLES, sample
from watchbell.settings import Secret
from watchbell.store.client import Store

PASSWORD = "hunter2-geheim"
SENDER = mime.Mailbox("Watchbell", "w@example.com")


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with smtp.serving() as running:
        yield running


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("certificates"))


@asynccontextmanager
async def mailing(sink: Sink, **chosen: Any) -> AsyncIterator[Email]:
    settings = Settings(
        **{"host": HOST, "port": sink.port, "from_address": "Watchbell <w@example.com>", **chosen}
    )
    opened = email.open_medium("email", settings)
    try:
        yield opened
    finally:
        await opened.close()


def link(alert: Alert) -> str:
    return "https://watchbell.example.com/ack/x" if alert.state == "critical" else ""


def rendered(kind: str = "problem", **fields: Any) -> Message:
    texts = open_texts("email", "mail", "", link, pytest.fail)
    return AlertRenderer(texts, Email.form)(sample(kind, **fields))


async def sent(medium: Email, address: str = "alice@example.com", **fields: Any) -> str:
    return await medium.send(rendered(address=address, **fields))


async def failure(
    medium: Email, address: str = "alice@example.com", **fields: Any
) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as caught:
        await sent(medium, address, **fields)
    return caught.value


async def test_a_mail_has_a_text_and_html_and_says_who_it_is_for(sink: Sink) -> None:
    async with mailing(sink, reply_to="ops@example.com") as medium:
        assert await sent(medium, id="0123abcd") == "250 OK, kept"
    [got] = sink.mails
    message = got.message
    assert (got.sender, got.recipients) == ("w@example.com", ("alice@example.com",))
    assert message["Subject"] == "Problem: 'HTTP' on web-1.example.com is Critical"
    assert message["From"] == "Watchbell <w@example.com>"
    assert message["To"] == "Alice Archer <alice@example.com>"
    assert message["Reply-To"] == "ops@example.com"
    assert message["Message-ID"] == "<0123abcd@example.com>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["X-Watchbell-Check"] == "web-1.example.com:HTTP"
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert "Summary:           connection refused\n" in got.part("plain")
    assert "https://watchbell.example.com/ack/x" in got.part("plain")
    assert ">Acknowledge</a>" in got.part("html")
    assert "&#9632;" in got.part("html")  # the shape of a critical state, in ASCII
    assert got.content.isascii()


async def test_a_check_has_one_thread_and_summaries_have_another(sink: Sink) -> None:
    kinds = [*SAMPLES, "problem"]
    async with mailing(sink) as medium:
        for number, kind in enumerate(kinds):
            other = {"event_id": "web-2:HTTP"} if number == 6 else {}
            await medium.send(rendered(kind, id=f"a{number}", **other))
    threads = [got.message["References"] for got in sink.mails]
    assert threads == [got.message["In-Reply-To"] for got in sink.mails]
    assert len({got.message["Message-ID"] for got in sink.mails}) == len(kinds)
    one, summaries, other = threads[0], threads[4], threads[6]
    assert threads == [one, one, one, one, summaries, summaries, other]
    assert len({one, summaries, other}) == 3


async def test_one_connection_serves_many_mails(sink: Sink) -> None:
    async with mailing(sink) as medium:
        for number in range(20):
            await sent(medium, id=f"a{number}")
    assert len(sink.mails) == 20
    assert sink.connections == 1


async def test_mails_at_once_all_arrive_once_over_as_many_connections(sink: Sink) -> None:
    async with mailing(sink) as medium, asyncio.TaskGroup() as group:
        for number in range(30):
            group.create_task(sent(medium, f"user-{number}@example.com", id=f"a{number}"))
    got = sorted((mime.recipients[0], mime.message["Message-ID"]) for mime in sink.mails)
    assert got == sorted((f"user-{n}@example.com", f"<a{n}@example.com>") for n in range(30))
    assert sink.connections <= 30


async def test_a_kept_connection_that_was_cut_is_no_failure(sink: Sink) -> None:
    async with mailing(sink) as medium:
        await sent(medium)
        sink.hang_up()
        await sent(medium)
    assert len(sink.mails) == 2
    assert sink.connections == 2


async def test_a_kept_connection_that_went_silent_is_no_failure(sink: Sink) -> None:
    async with mailing(sink, timeout=4) as medium:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(sent(medium, "slow@example.com"))
        sink.freeze()
        await sent(medium)
    assert len(sink.mails) == 4
    assert sink.connections == 4


async def test_a_kept_connection_that_the_server_closes_with_a_word_is_no_failure(
    sink: Sink,
) -> None:
    async with mailing(sink) as medium:
        await sent(medium)
        sink.sender_answers = ["421 4.4.2 idle for too long"]
        await sent(medium)
    assert len(sink.mails) == 2
    assert sink.connections == 2


REFUSALS = [
    ("nobody@example.com", True, False, "nobody@example.com: 550 5.1.1 there is nobody"),
    ("later@example.com", False, False, "later@example.com: 451 4.7.1 greylisted"),
    ("busy@example.com", False, True, "refuses the recipients: 421 4.3.2 too busy"),
    ("spam@example.com", True, False, "refuses the mail: 554 5.7.1 this looks like spam"),
    ("full@example.com", False, False, "refuses the mail: 452 4.2.2 the mailbox is full"),
    ("cut@example.com", False, False, "closed the connection over the recipients"),
    ("vanish@example.com", False, False, "closed the connection over the mail"),
    ("nobody@example.com,nobody+2@example.com", True, False, "nobody+2@example.com: 550"),
    ("nobody@example.com, later@example.com", False, False, "later@example.com: 451"),
]


@pytest.mark.parametrize(("address", "permanent", "unreachable", "says"), REFUSALS)
async def test_a_refusal_is_told_in_the_servers_words_and_harms_no_other_mail(
    sink: Sink, address: str, permanent: bool, unreachable: bool, says: str
) -> None:
    async with mailing(sink) as medium:
        failed = await failure(medium, address)
        assert (failed.permanent, failed.unreachable) == (permanent, unreachable)
        assert says in str(failed)
        await sent(medium, "bob@example.com")
    assert [got.recipients for got in sink.mails] == [("bob@example.com",)]


async def test_after_a_refusal_the_connection_is_used_on(sink: Sink) -> None:
    async with mailing(sink) as medium:
        await failure(medium, "nobody@example.com")
        await failure(medium, "spam@example.com")
        await sent(medium)
    assert sink.connections == 1
    assert sink.commands.count("RSET") == 2


async def test_of_two_recipients_one_that_is_taken_is_enough_and_the_other_is_named(
    sink: Sink,
) -> None:
    async with mailing(sink) as medium:
        answer = await sent(medium, "nobody@example.com, alice@example.com, not an address")
    assert answer.startswith("250 OK, kept")
    assert "refused: nobody@example.com (550 5.1.1" in answer
    assert "refused: not an address (it has no @)" in answer
    assert [got.recipients for got in sink.mails] == [("alice@example.com",)]


@pytest.mark.parametrize(
    ("answer", "permanent", "unreachable"),
    [
        ("550 5.7.1 we don't know you", False, True),
        ("530 5.7.0 log in first", False, True),
        ("552 5.3.4 that is too big", True, False),
        ("451 4.3.0 try again", False, False),
    ],
)
async def test_a_refused_sender_is_told(
    sink: Sink, answer: str, permanent: bool, unreachable: bool
) -> None:
    sink.sender_answers = [answer]
    async with mailing(sink) as medium:
        failed = await failure(medium)
    assert f"refuses the sender: {answer}" in str(failed)
    assert (failed.permanent, failed.unreachable) == (permanent, unreachable)


@pytest.mark.parametrize(
    ("stage", "code", "expected"),
    [
        (Stage.CONNECTING, 554, (False, True)),
        (Stage.CONNECTING, 450, (False, True)),
        (Stage.RECIPIENTS, 421, (False, True)),
        (Stage.CONTENT, 421, (False, True)),
        (Stage.RECIPIENTS, 550, (True, False)),
        (Stage.CONTENT, 451, (False, False)),
        (Stage.CONTENT, -1, (False, False)),
    ],
)
def test_what_a_code_means_depends_on_when_it_comes(
    stage: Stage, code: int, expected: tuple[bool, bool]
) -> None:
    assert verdict(stage, code) == expected


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("", "the address is empty"),
        (" , ", "the address is empty"),
        ("alice", "'alice' is not a mail address: it has no @"),
        ("alice@example.com\nBcc: bob@example.com", "invalid characters"),
        ("alice\r\nRCPT TO:<bob@example.com>@example.com", "invalid characters"),
        ("<alice@example.com>", "invalid characters"),
        ("alice bob@example.com", "invalid characters"),
        ("alice@exam ple.com", "is not a domain"),
        ("alice@", "is not a domain"),
        ("@example.com", "invalid characters"),
        ("a\u202eb@example.com", "invalid characters"),
        ("alice@bob@example.com", "invalid characters"),
        ("alice@example..com", "is not a domain"),
        ("alice@\udcffexample.com", "is not a domain"),
        ("x" * 65 + "@example.com", "too long"),
        (",".join(f"user-{n}@example.com" for n in range(101)), "more than 100 recipients"),
        ("nobody," * 1_000, "'nobody' is not a mail address"),
    ],
)
async def test_what_is_no_address_fails_for_good_before_any_connection(
    sink: Sink, address: str, says: str
) -> None:
    async with mailing(sink) as medium:
        failed = await failure(medium, address)
    assert failed.permanent
    assert says in str(failed)
    assert str(failed).isprintable()
    assert len(str(failed)) <= 300
    assert sink.connections == 0


@settings(deadline=None)
@given(st.text(max_size=40) | st.from_regex(r"[a-z.+é@\[\]\"<>\n]{1,20}@[a-zü0-9.:\[\]-]{1,20}"))
def test_whatever_is_taken_for_an_address_is_one(text: str) -> None:
    try:
        got = mime.address(text)
    except ValueError:
        return
    assert parse_address(got) == got
    assert got.isprintable()
    assert not set(got) & set(' <>,;:"\\\r\n') - set(":" if "[" in got else "")


async def test_a_server_that_hangs_costs_the_timeout_and_no_other_mail(sink: Sink) -> None:
    async with mailing(sink, timeout=3) as medium:
        failed = await failure(medium, "hang@example.com")
        assert str(failed).endswith("did not answer about the recipients within 3 s")
        assert (failed.permanent, failed.unreachable) == (False, False)
        await sent(medium)
    assert sink.connections == 2


async def test_a_server_that_says_nothing_at_all_is_unreachable(sink: Sink) -> None:
    sink.silent = True
    async with mailing(sink, timeout=0.2) as medium:
        failed = await failure(medium)
    assert failed.unreachable
    assert "did not answer about the connection within 0.2 s" in str(failed)


async def test_a_slow_server_is_waited_for(sink: Sink) -> None:
    async with mailing(sink) as medium:
        assert await sent(medium, "slow@example.com") == "250 OK, kept"


async def test_nobody_behind_the_port_is_unreachable() -> None:
    with held_port() as hold:
        port = hold.getsockname()[1]
        async with mailing(Sink(port=port)) as medium:
            failed = await failure(medium)
    assert failed.unreachable
    assert str(failed) == f"127.0.0.1:{port} refuses the connection"


async def test_a_host_without_an_address_is_unreachable() -> None:
    async with mailing(Sink(port=25), host="nowhere.invalid") as medium:
        failed = await failure(medium)
    assert failed.unreachable
    assert str(failed).startswith("nowhere.invalid:25 ")


async def test_what_is_cancelled_half_way_leaves_the_medium_usable(sink: Sink) -> None:
    async with mailing(sink) as medium:
        await sent(medium, id="before")
        sending = asyncio.ensure_future(sent(medium, "hang@example.com"))
        await eventually(lambda: sink.commands.count("RCPT") == 2)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await sent(medium, id="after")
    identifiers = [got.message["Message-ID"] for got in sink.mails]
    assert identifiers == ["<before@example.com>", "<after@example.com>"]
    assert sink.connections == 2


async def test_connections_that_nobody_needs_are_ended(
    sink: Sink, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(email, "_LOOK", 0.01)
    monkeypatch.setattr(email, "_IDLE", 0.01)
    async with mailing(sink) as medium, asyncio.TaskGroup() as group:
        await sent(medium)
        assert len(sink.open) == 1
        attending = group.create_task(medium.attend(store))
        await eventually(lambda: not sink.open)
        attending.cancel()
    assert sink.connections == 1


async def test_starttls_and_login(pair: Certificates) -> None:
    terms = Terms(certificates=pair, user="alice", password=PASSWORD)
    async with smtp.serving(terms) as sink:
        login = {"user": "alice", "password": Secret(PASSWORD)}
        async with mailing(sink, tls="starttls", ca_file=str(pair.ca), **login) as medium:
            await sent(medium)
            await sent(medium)
    assert [(got.encrypted, got.login) for got in sink.mails] == [(True, "alice")] * 2
    assert sink.connections == 1


async def test_tls_from_the_first_byte(pair: Certificates) -> None:
    async with (
        smtp.serving(Terms(certificates=pair, implicit=True)) as sink,
        mailing(sink, tls="tls", ca_file=str(pair.ca)) as medium,
    ):
        await sent(medium)
    assert len(sink.mails) == 1


async def test_left_alone_it_uses_tls_where_it_can(sink: Sink, pair: Certificates) -> None:
    async with smtp.serving(Terms(certificates=pair)) as encrypting, mailing(encrypting) as medium:
        await sent(medium)
    async with mailing(sink) as medium:
        await sent(medium)
    assert encrypting.mails[0].encrypted
    assert not sink.mails[0].encrypted


async def test_a_wrong_password_is_told_and_not_shown(pair: Certificates) -> None:
    terms = Terms(certificates=pair, user="alice", password="another")
    login = {"user": "alice", "password": Secret(PASSWORD)}
    async with smtp.serving(terms) as sink, mailing(sink, **login) as medium:
        failed = await failure(medium)
    assert failed.unreachable
    assert "refuses the login of alice: 535" in str(failed)
    assert PASSWORD not in str(failed)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
async def test_a_certificate_that_nobody_vouches_for_is_refused(
    pair: Certificates, tls: str
) -> None:
    terms = Terms(certificates=pair, implicit=tls == "tls")
    async with smtp.serving(terms) as sink:
        async with mailing(sink, tls=tls) as medium:
            failed = await failure(medium)
        async with mailing(sink, tls=tls, verify=False) as medium:
            await sent(medium)
    assert failed.unreachable
    assert "certificate verify failed" in str(failed)
    assert len(sink.mails) == 1


async def test_without_the_tls_that_was_asked_for_nothing_is_sent(sink: Sink) -> None:
    async with mailing(sink, tls="starttls") as medium:
        failed = await failure(medium)
    async with mailing(sink, tls="tls") as medium:
        garbled = await failure(medium)
    assert failed.unreachable
    assert "STARTTLS" in str(failed)
    assert garbled.unreachable
    assert not sink.mails


async def test_a_password_does_not_cross_a_network_in_the_clear(sink: Sink) -> None:
    login = {"user": "alice", "password": Secret(PASSWORD)}
    async with mailing(sink, host="127.1", **login) as medium:  # loopback, though not spelled so
        failed = await failure(medium)
    assert failed.unreachable
    assert "the password is not sent unencrypted" in str(failed)


def test_a_secret_that_a_server_repeats_is_starred() -> None:
    settings = Settings(user="alice", password=Secret(PASSWORD), tls="none")
    pool = email.Pool(settings, "localhost")
    assert pool.shown(f"501 what is {PASSWORD}?") == "501 what is ***?"
    plain = "501 AUTH PLAIN AGFsaWNlAGh1bnRlcjItZ2VoZWlt"
    assert pool.shown(plain) == "501 AUTH PLAIN ***"
    assert len(pool.shown("x" * 100_000)) == 300


STRANGE = "Prüfung ✗ 🔔 \x00\x07\r\nBcc: bob@example.com\r\n\r\n<script>alert(1)</script>\u2028."


@pytest.mark.parametrize("kind", SAMPLES)
async def test_names_and_texts_of_strangers_stay_where_they_belong(sink: Sink, kind: str) -> None:
    fields = {
        "id": STRANGE,
        "event_id": f"{STRANGE}:{STRANGE}",
        "summary": STRANGE,
        "details": f".\r\n..\n.{STRANGE}\n" + "x" * 1_000_000,
        "contact_first_name": 'Bob" <bob@example.com>, "' + STRANGE,
        "contact_id": STRANGE,
        "tags": [STRANGE],
    }
    async with mailing(sink) as medium:
        await medium.send(rendered(kind, **fields))
    [got] = sink.mails
    message = got.message
    assert got.recipients == ("alice@example.com",)
    assert [name for name in message if name.lower() in {"bcc", "cc"}] == []
    assert len(message["To"].addresses) == 1
    assert message["To"].addresses[0].addr_spec == "alice@example.com"
    assert sorted(map(str.lower, message.keys())).count("subject") == 1
    assert message["Subject"].startswith(("Problem", "Recovery", "Acknowledgement", "Test"))
    assert "<script>" not in got.part("html")
    assert "\x00" not in got.part("plain") + got.part("html")
    assert len(got.content) < 150_000
    assert got.content.isascii()
    assert max(map(len, got.content.split(b"\r\n"))) <= 998


async def test_text_arrives_as_it_was_written(sink: Sink) -> None:
    text = "Zürich 🔔\n.\n..dots\n" + "long " * 400 + "\nends with blanks  \n=3D\tbar\n\nlast"
    async with mailing(sink) as medium:
        letter = Message(id="a1", address="alice@example.com", text=text, subject="Zürich 🔔")
        await medium.send(letter)
        await medium.send(replace(letter, subject="=?utf-8?q?trick?=", text="a\n.\nb"))
    encoded, plain = sink.mails
    assert encoded.message["Subject"] == "Zürich 🔔"
    assert encoded.part("plain").removesuffix("\n") == text
    assert encoded.content.isascii()
    assert plain.message["Subject"] == "=?utf-8?q?trick?="
    assert plain.part("plain").removesuffix("\n") == "a\n.\nb"
    assert plain.message["Content-Transfer-Encoding"] == "7bit"


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_a_header_is_one_header_whatever_is_in_it(subject: str, name: str) -> None:
    fields = {"event_id": name, "contact_first_name": name, "id": name}
    hostile = replace(rendered(**fields), subject=subject)
    content = mime.composed(hostile, ["alice@example.com"], SENDER, "", 0, "=_b")
    got = smtp.Mail("", (), content, encrypted=False, login="", options=()).message
    expected = smtp.Mail("", (), _composed(), encrypted=False, login="", options=()).message
    assert got.keys() == expected.keys()
    assert got.defects == []
    assert max(map(len, content.split(b"\r\n"))) <= 998


def _composed() -> bytes:
    return mime.composed(rendered(), ["alice@example.com"], SENDER, "", 0, "=_b")


async def test_only_addresses_that_need_it_ask_for_smtputf8(sink: Sink) -> None:
    async with mailing(sink) as medium:
        await sent(medium, "alice@bücher.example")
        await sent(medium, "ålice@example.com")
    plain, needing = sink.mails
    assert plain.recipients == ("alice@xn--bcher-kva.example",)
    assert not any("UTF8" in option for option in plain.options)
    assert needing.recipients == ("ålice@example.com",)
    assert "SMTPUTF8" in needing.options


async def test_a_server_that_knows_only_ascii_is_told_from_one_that_refuses() -> None:
    async with smtp.serving(Terms(utf8=False)) as sink, mailing(sink) as medium:
        failed = await failure(medium, "ålice@example.com")
    assert failed.permanent
    assert "accepts only ASCII addresses" in str(failed)


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"from_address": "nobody"}, "from_address is 'nobody': it has no @"),
        ({"from_address": "Alice <alice>"}, "from_address is 'Alice <alice>': it has no @"),
        ({"from_address": "a@b\nc"}, "from_address is 'a@b\\nc': the part after the @"),
        ({"reply_to": "@"}, "reply_to is '@'"),
        ({"user": "alice"}, "user and password go together"),
        ({"ca_file": "/nonexistent"}, "ca_file can't be used"),
    ],
)
def test_settings_that_can_not_work_are_told_at_the_start(chosen: Any, says: str) -> None:
    with pytest.raises(BadSettings) as caught:
        email.open_medium("email", Settings(**chosen))
    assert says in str(caught.value)


def test_without_a_sender_this_machine_sends() -> None:
    medium = email.open_medium("email", Settings(tls="none"))
    assert medium._sender.name == "Watchbell"
    assert medium._sender.address.startswith("watchbell@")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w@example.com", ("", "w@example.com")),
        ("Watchbell <w@example.com>", ("Watchbell", "w@example.com")),
        ('"Wächter, des Nachts" <w@example.com>', ("Wächter, des Nachts", "w@example.com")),
        ("<w@example.com>", ("", "w@example.com")),
    ],
)
def test_a_sender_may_have_a_name(text: str, expected: tuple[str, str]) -> None:
    assert mime.mailbox(text) == expected


async def test_a_server_in_another_process_writes_down_what_it_took(tmp_path: Path) -> None:
    file = tmp_path / "mails"
    with smtp.process(file) as (port, _):
        async with mailing(Sink(port=port)) as medium:
            await sent(medium, "alice@example.com, bob@example.com", id="one")
            await failure(medium, "nobody@example.com", id="two")
    assert smtp.received(file) == [
        ("<one@example.com>", "alice@example.com"),
        ("<one@example.com>", "bob@example.com"),
    ]
