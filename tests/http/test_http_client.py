"""The client over HTTP: what it connects to, what it bears, and what it makes of answers."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gateways.http_sink import Reply, Sink, bomb, running
from tests.servers import HOST, certificates, held_port
from tests.waiting import eventually
from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways import over_http
from watchbell.gateways.over_http import Reach, WideReach
from watchbell.http.answer import Answer, one_line, starred
from watchbell.http.client import MOST, Client, Request
from watchbell.http.networks import Networks

LOOPBACK = ("127.0.0.0/8", "::1/128")
SECRET = "hush-hush-4711"
NOW = 1_772_716_029.0


def hook(url: str, **fields: str) -> Request:
    headers = {"Content-Type": "application/json", "Idempotency-Key": "a1"}
    body = b'{"alert":{"id":"a1"},"id":"a1","type":"alert"}'
    return Request(url=url, headers=headers, body=body, private=fields)


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with running() as one:
        yield one


Make = Callable[..., Client]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Clients that are closed at the end."""
    made: list[Client] = []

    def one(networks: Networks | None = None, *, is_service: bool = False, **fields: Any) -> Client:
        chosen = Reach(**{"timeout": 20, **fields})
        made.append(over_http.client(chosen, is_service=is_service, networks=networks))
        return made[-1]

    yield one
    for client in made:
        await client.close()


@pytest.fixture
def stranger(make: Make) -> Client:
    """Asks servers that addresses name, and may reach those of the tests."""
    return make(Networks(LOOPBACK))


@pytest.fixture
def service(make: Make) -> Client:
    return make(is_service=True)


async def failure_of(call: Awaitable[Answer]) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as raised:
        await call
    return raised.value


# What an answer means


def answered(status: int, body: str = "", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, body, NOW)


@pytest.mark.parametrize("status", range(200, 207))
def test_a_status_that_says_taken_is_no_failure(status: int) -> None:
    assert answered(status).failure(is_service=True) is None


@pytest.mark.parametrize(
    ("status", "of_a_service", "of_an_address"),
    [
        (207, "permanent", "permanent"),
        (302, "permanent", "permanent"),
        (400, "permanent", "permanent"),
        (401, "unreachable", "permanent"),
        (403, "unreachable", "permanent"),
        (404, "permanent", "permanent"),
        (408, "passing", "passing"),
        (410, "permanent", "permanent"),
        (413, "permanent", "permanent"),
        (425, "passing", "passing"),
        (429, "passing", "passing"),
        (500, "passing", "passing"),
        (503, "passing", "passing"),
        (599, "passing", "passing"),
    ],
)
def test_a_status_says_whether_trying_again_helps(
    status: int, of_a_service: str, of_an_address: str
) -> None:
    for is_service, expected in ((True, of_a_service), (False, of_an_address)):
        failure = answered(status, "so be it").failure(is_service=is_service)
        assert failure is not None
        assert kind(failure) == expected
        assert f"{status} so be it" in str(failure)


def kind(failure: DeliveryFailed) -> str:
    assert not (failure.permanent and failure.unreachable)
    return "permanent" if failure.permanent else "unreachable" if failure.unreachable else "passing"


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("120", 120),
        (" 7 ", 7),
        (formatdate(NOW + 90, usegmt=True), 90),
        (formatdate(NOW - 90, usegmt=True), 0),
        ("999999999", 86_400),
        ("-5", 0),
        ("soon", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
        ("Mon, 99 Foo 0000 00:00:00", 0),
        ("٣", 0),
        ("", 0),
    ],
)
def test_the_server_says_when_to_come_again(asked: str, seconds: float) -> None:
    failure = answered(429, retry_after=asked).failure(is_service=True)
    assert failure is not None
    assert failure.retry_after == pytest.approx(seconds, abs=1)


@given(st.text())
def test_no_wish_of_a_server_is_too_odd(asked: str) -> None:
    assert 0 <= answered(503, retry_after=asked).retry_after() <= 86_400


@given(st.text())
def test_an_answer_is_one_short_line_that_a_terminal_shows_as_it_is(body: str) -> None:
    line = answered(200, body).line()
    assert line.isprintable()
    assert len(line) <= 204


def test_a_long_answer_is_cut() -> None:
    assert one_line("word " * 1_000).endswith("...")
    assert one_line("a\r\nb\x1b[31m\0c\u202e") == "a b [31m c"


def test_secrets_are_starred_however_they_are_written() -> None:
    said = "no a/b+c d, no a%2Fb%2Bc%20d, no a%2Fb%2Bc+d; but abc"
    assert starred(said, ["a/b+c d", "abc", ""]) == "no ***, no ***, no ***; but abc"


@pytest.mark.parametrize("body", ["", "[1]", "{", '"x"', "[" * 100_000, '{"a":' * 100_000])
def test_what_is_no_object_is_an_empty_one(body: str) -> None:
    assert answered(200, body).json() == {}


# What may be connected to


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254"),
        *("169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1"),
        *("192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1"),
        *("240.0.0.1", "255.255.255.255", "168.63.129.16"),
        *("::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1"),
        *("2001:db8::1", "2002:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo"),
        *("fec0::1", "ff02::1", "3fff::1", "5f00::1"),
        *("127.1", "2130706433", "0x7f000001", "017700000001", "127.0.0.01", "1.2.3.4.5"),
        *("localhost", "", " 8.8.8.8", "8.8.8.8\n", "①②⑦.0.0.1"),
    ],
)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert Networks().refusal(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2606:4700::1111"]
)
def test_what_is_public_is_not(address: str) -> None:
    assert Networks().refusal(address) == ""


def test_networks_can_be_allowed() -> None:
    networks = Networks(["10.0.0.0/8", "fd00::/8"])
    for address in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1", "8.8.8.8"):
        assert networks.refusal(address) == ""
    for address in ("11.0.0.1", "127.0.0.1", "fe80::1"):
        assert (networks.refusal(address) == "") == (address == "11.0.0.1")


@pytest.mark.parametrize("wrong", ["10.0.0.1/8", "ten", "", "10.0.0.0/33"])
def test_a_network_that_is_none_is_told_with_what_was_expected(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"expected a network such as 10\.0\.0\.0/8"):
        WideReach(allow_networks=(wrong,))


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "LOCALHOST", "127.1", "2130706433", "0x7f.1", "0x7f000001"),
        *("017700000001", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
        *("①②⑦.⓪.⓪.①", "127。0。0。1", "169.254.169.254", "[fe80::1%25lo]", "[64:ff9b::7f00:1]"),
    ],
)
async def test_no_spelling_of_a_private_address_gets_through(
    sink: Sink, make: Make, host: str
) -> None:
    client = make(Networks())
    port = sink.url.rpartition(":")[2]
    failure = await failure_of(client.send(hook(f"http://{host}:{port}/hook")))
    assert failure.permanent
    assert not sink.received


async def test_a_name_is_refused_where_one_of_its_addresses_is(sink: Sink, make: Make) -> None:
    client = make(Networks(["::1/128"]))
    port = sink.url.rpartition(":")[2]
    failure = await failure_of(client.send(hook(f"http://localhost:{port}/hook")))
    assert failure.permanent
    assert "127.0.0.1 is not on the public Internet; allow_networks" in str(failure)
    assert not sink.received


@pytest.mark.parametrize(
    "url",
    [
        *("", "hello", "ftp://example.com/", "file:///etc/passwd", "http://", "http:///x"),
        *("javascript:alert(1)", "//example.com/", "http://exa mple.com/", "http://[::1/"),
        *("http://example.com:99999/", "http://example.com:x/", "http://a\r\nHost: b/"),
        *(
            "http://example.com/" + "x" * 5_000,
            "http://" + "a" * 64 + ".example.com/",
            "http://\0/",
        ),
    ],
)
async def test_what_is_no_web_address_is_given_up_at_once(stranger: Client, url: str) -> None:
    failure = await failure_of(stranger.send(hook(url)))
    assert failure.permanent or "no connection" in str(failure)
    assert len(str(failure)) < 300


# Redirects


async def test_three_redirects_are_followed_and_a_fourth_is_not(
    sink: Sink, stranger: Client
) -> None:
    assert (await stranger.send(hook(f"{sink.url}/fault/hops/3"))).status == 200
    assert sink.received[-1].path == "/hook"
    failure = await failure_of(stranger.send(hook(f"{sink.url}/fault/hops/4")))
    assert failure.permanent
    assert "redirects more than 3 times" in str(failure)


async def test_a_redirect_loop_ends(sink: Sink, service: Client) -> None:
    failure = await failure_of(service.send(hook(f"{sink.url}/fault/loop")))
    assert failure.unreachable
    assert len(sink.received) == 4


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirected_message_stays_a_message(
    sink: Sink, stranger: Client, status: int
) -> None:
    request = hook(f"{sink.url}/fault/to/{status}?url=/hook", Signature=SECRET)
    assert (await stranger.send(request)).status == 200
    assert not sink.problems
    assert sink.received[1].headers["signature"] == SECRET


async def test_after_see_other_the_other_page_is_only_looked_at(
    sink: Sink, stranger: Client
) -> None:
    sink.reply("/hook", Reply(200, "thank you"))
    await stranger.send(hook(f"{sink.url}/fault/to/303?url=/hook"))
    seen = sink.received[1]
    assert (seen.method, seen.body) == ("GET", b"")
    assert "content-type" not in seen.headers


async def test_a_signature_is_not_sent_to_another_host(sink: Sink, stranger: Client) -> None:
    async with running() as other:
        url = f"{sink.url.replace('//', '//alice:hush@')}/fault/to/307?url={other.url}/hook"
        await stranger.send(hook(url, Signature=SECRET))
        assert sink.received[0].headers["signature"] == SECRET
        assert "authorization" in sink.received[0].headers
        (received,) = other.received
        assert received.id == "a1"
        assert not {"signature", "authorization"} & set(received.headers)


async def test_credentials_in_a_redirect_are_not_used(sink: Sink, stranger: Client) -> None:
    target = f"{sink.url.replace('//', '//alice:hush@')}/hook"
    await stranger.send(hook(f"{sink.url}/fault/to/307?url={target}"))
    assert "authorization" not in sink.received[1].headers


async def test_without_a_check_no_redirect_leads_to_another_host(
    sink: Sink, service: Client
) -> None:
    async with running() as other:
        url = f"{sink.url}/fault/to/307?url={other.url}/hook"
        failure = await failure_of(service.send(hook(url)))
        assert failure.unreachable
        assert "redirects to another host" in str(failure)
        assert not other.received


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254 is not on the public"),
        ("http://[::1]:1/", "::1 is not on the public"),
        ("http://2130706433/", "not "),
        ("file:///etc/passwd", "redirects to no web address"),
        ("http://[::1/", "redirects to no web address"),
    ],
)
async def test_a_redirect_to_where_nobody_may_lead_us_is_refused(
    sink: Sink, make: Make, target: str, said: str
) -> None:
    client = make(Networks(["127.0.0.0/8"]))
    failure = await failure_of(client.send(hook(f"{sink.url}/fault/to/307?url={target}")))
    assert failure.permanent
    assert said in str(failure)


# What a server may do to us


async def test_a_server_that_hangs_is_left(sink: Sink, make: Make) -> None:
    failure = await failure_of(make(timeout=0.4).send(hook(f"{sink.url}/fault/hang")))
    assert kind(failure) == "passing"
    assert "did not answer within 0.4 s" in str(failure)


async def test_an_answer_that_trickles_is_known_by_its_status(sink: Sink, make: Make) -> None:
    """It has no end: who waited for one would wait for ever."""
    client = make(timeout=4)
    answer = await client.send(hook(f"{sink.url}/fault/trickle"))
    assert answer.line().startswith("200 ..")
    failure = await failure_of(client.send(hook(f"{sink.url}/fault/trickle?status=503")))
    assert kind(failure) == "passing"


async def test_of_a_huge_answer_the_beginning_is_read(sink: Sink, stranger: Client) -> None:
    answer = await stranger.send(hook(f"{sink.url}/fault/big"))
    assert len(answer.text) == MOST
    failure = await failure_of(stranger.send(hook(f"{sink.url}/fault/big?status=400")))
    assert len(str(failure)) < 300


async def test_of_a_bomb_no_more_is_inflated_than_is_read(sink: Sink, stranger: Client) -> None:
    bomb()
    tracemalloc.start()
    answer = await stranger.send(hook(f"{sink.url}/fault/bomb"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(answer.text) == MOST
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("encoding", "body", "line"),
    [
        ("br", "abc", "200 (an answer encoded as br)"),
        ("gzip", "this is no gzip", "200"),
        ("identity", "as it is", "200 as it is"),
    ],
)
async def test_an_encoding_that_nobody_asked_for_breaks_nothing(
    sink: Sink, stranger: Client, encoding: str, body: str, line: str
) -> None:
    sink.reply("/hook", Reply(200, body, {"Content-Encoding": encoding}))
    assert (await stranger.send(hook(f"{sink.url}/hook"))).line() == line


async def test_an_answer_that_breaks_off_is_known_by_its_status(
    sink: Sink, stranger: Client
) -> None:
    assert (await stranger.send(hook(f"{sink.url}/fault/half"))).status == 200
    failure = await failure_of(stranger.send(hook(f"{sink.url}/fault/half/500")))
    assert kind(failure) == "passing"


@pytest.mark.parametrize("fault", ["garbage", "close"])
async def test_what_is_no_answer_is_a_passing_failure(
    sink: Sink, service: Client, fault: str
) -> None:
    failure = await failure_of(service.send(hook(f"{sink.url}/fault/{fault}")))
    assert kind(failure) == "passing"


async def test_what_was_not_answered_is_not_sent_again_by_itself(
    sink: Sink, service: Client
) -> None:
    request = Request(url=f"{sink.url}/fault/close", method="GET")
    await failure_of(service.send(request))
    assert len(sink.received) == 1


@pytest.mark.parametrize(("is_service", "expected"), [(True, "unreachable"), (False, "passing")])
async def test_a_closed_port_tells_of_the_service_or_of_the_address(
    make: Make, is_service: bool, expected: str
) -> None:
    client = make(is_service=is_service)
    with held_port() as hold:
        url = f"http://{HOST}:{hold.getsockname()[1]}/hook?token={SECRET}"
        failure = await failure_of(client.send(hook(url)))
    assert kind(failure) == expected
    assert "no connection to 127.0.0.1: Connect call failed" in str(failure)
    assert SECRET not in str(failure)


async def test_a_server_that_is_silent_in_the_handshake_is_away(make: Make) -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(wait, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    client = make(is_service=True, timeout=0.6)
    failure = await failure_of(client.send(hook(f"https://{HOST}:{port}/hook")))
    assert failure.unreachable
    assert "no connection to 127.0.0.1 within 0.3 s" in str(failure)
    server.close()


async def test_certificates_are_checked(folder: Path, make: Make) -> None:
    made = certificates(folder)
    async with running(certificates=made) as sink:
        plain = make(is_service=True)
        failure = await failure_of(plain.send(hook(f"{sink.url}/hook")))
        assert failure.unreachable
        assert "certificate" in str(failure)
        knowing = make(is_service=True, ca_file=str(made.ca))
        assert (await knowing.send(hook(f"{sink.url}/hook"))).status == 200


async def test_plain_http_where_tls_is_expected_is_told(sink: Sink, service: Client) -> None:
    url = sink.url.replace("http:", "https:")
    failure = await failure_of(service.send(hook(f"{url}/hook")))
    assert failure.unreachable


async def test_a_redirect_from_https_to_http_is_not_followed(
    folder: Path, sink: Sink, make: Make
) -> None:
    made = certificates(folder)
    async with running(certificates=made) as safe:
        client = make(Networks(LOOPBACK), ca_file=str(made.ca))
        url = f"{safe.url}/fault/to/307?url={sink.url}/hook"
        failure = await failure_of(client.send(hook(url)))
        assert "from https to http" in str(failure)
        assert not sink.received


@pytest.mark.parametrize("content", [None, "this is no certificate"])
def test_certificates_that_cannot_be_read_stop_the_start(folder: Path, content: str | None) -> None:
    path = folder / "ca.crt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadSettings, match="ca_file"):
        over_http.client(Reach(ca_file=str(path)), is_service=True)


# Connections


async def test_a_connection_is_used_again(sink: Sink, stranger: Client) -> None:
    for _ in range(10):
        await stranger.send(hook(f"{sink.url}/hook"))
    assert len(sink.connections) == 1


async def test_connections_are_limited(sink: Sink, make: Make) -> None:
    client = make(concurrency=3)
    async with asyncio.TaskGroup() as group:
        for _ in range(30):
            group.create_task(client.send(hook(f"{sink.url}/hook")))
    assert len(sink.connections) <= 3


async def test_a_message_that_was_cancelled_leaves_the_client_as_it_was(
    sink: Sink, stranger: Client
) -> None:
    for path in ("/fault/hang", "/fault/trickle", "/fault/big"):
        count = len(sink.received)
        task = asyncio.get_running_loop().create_task(stranger.ask(hook(f"{sink.url}{path}")))
        await eventually(lambda: len(sink.received) > count)  # noqa: B023
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert (await stranger.send(hook(f"{sink.url}/hook"))).status == 200


async def test_a_large_message_is_sent_whole(sink: Sink, stranger: Client) -> None:
    sink.reply("/hook", Reply())
    body = b"x" * (3 << 20)
    await stranger.send(Request(url=f"{sink.url}/hook", body=body))
    assert sink.received[0].body == body


async def test_a_secret_that_the_server_repeats_is_not_shown(sink: Sink, stranger: Client) -> None:
    token = "T0123456789ABCDEF"
    said = f"no token={SECRET} for alice:wonderland at /hook/{token}"
    sink.reply(f"/hook/{token}", Reply(400, said))
    url = f"{sink.url.replace('//', '//alice:wonderland@')}/hook/{token}?token={SECRET}"
    failure = await failure_of(stranger.send(hook(url)))
    assert "400 no token=*** for alice:*** at /hook/***" in str(failure)
