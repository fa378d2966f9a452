"""The link of an agent: cut, stalled, refused, moved; and the token that it shows."""

import asyncio
import ssl
import stat
import subprocess
from pathlib import Path

import pytest

from tests.fleet.agent.agent_process import AgentProcess
from tests.fleet.agent.conftest import running_agent
from tests.fleet.agent.link_server import TOKEN, LinkServer, order
from tests.waiting import eventually
from watchbell.errors import Refused
from watchbell.fleet.agent.link import check_url
from watchbell.fleet.messages import Output, Refusal, RunEachMinute
from watchbell.fleet.model import Command


async def test_an_agent_connects_again_and_resends_what_was_not_acknowledged(
    folder: Path, server: LinkServer
) -> None:
    server.acknowledges = False
    async with running_agent(folder, server):
        await server.launch(order("j1", "seq 10000"))
        await server.ended("j1")
        server.cut()
        await eventually(lambda: len(server.hellos) == 2)
        [known] = server.hellos[1].jobs
        assert (known.id, known.reported) == ("j1", len(server.job("j1").reports))
        await eventually(lambda: not (folder / "jobs" / "j1").exists())
    assert server.job("j1").log.count(b"\n") == 10_000


async def test_a_server_that_has_lost_reports_gets_them_again(
    folder: Path, server: LinkServer
) -> None:
    server.acknowledges = False
    async with running_agent(folder, server):
        await server.launch(order("j1", "seq 10000; exit 3"))
        await server.ended("j1")
        del server.jobs["j1"]
        server.acknowledges = True
        server.cut()
        seen = await server.ended("j1")
        assert seen.log.count(b"\n") == 10_000
        assert len(seen.started) == 1


async def test_a_job_that_prints_while_the_link_is_cut_loses_no_line(
    folder: Path, server: LinkServer
) -> None:
    gate = folder / "gate"
    script = f"seq 300000; until test -e {gate}; do sleep 0.01; done; echo end"
    async with running_agent(folder / "agent", server):
        await server.launch(order("j2", script))
        await eventually(lambda: server.job("j2").log)
        server.refusal = Refusal(reason="not now")
        server.cut()
        gate.touch()
        await eventually(lambda: len(server.hellos) > 4)
        server.refusal = None
        seen = await server.ended("j2")
    expected = "".join(f"{number}\n" for number in range(1, 300_001)) + "end\n"
    assert seen.log == expected.encode()
    lines = offset = 0
    for one in seen.of(Output):
        assert (one.offset, one.line) == (offset, lines)
        offset, lines = offset + len(one.text), lines + one.text.count(b"\n")


async def test_a_connection_that_is_silent_is_given_up(
    folder: Path, server: LinkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchbell.fleet.agent.link._LEAST_PATIENCE", 0.5)
    async with running_agent(folder, server):
        await eventually(lambda: server.renewals)
        server.renews = False
        await eventually(lambda: len(server.hellos) >= 2)
        server.renews = True


async def test_an_agent_uses_any_of_several_servers(folder: Path, server: LinkServer) -> None:
    async with LinkServer() as other:
        urls = ("http://localhost:1", server.url, other.url)
        async with running_agent(folder, server, urls=urls):
            await eventually(lambda: server.hellos or other.hellos)
            first, second = (server, other) if server.hellos else (other, server)
            first.refusal = Refusal(reason="not now")
            first.cut()
            await eventually(lambda: second.hellos)
            await second.launch(order("j1", "true"))
            await second.ended("j1")


async def test_the_token_is_replaced_and_stored_privately(folder: Path, server: LinkServer) -> None:
    server.welcome["token"] = "the second token"
    async with running_agent(folder, server):
        await eventually((folder / "token").exists)
        mode = (folder / "token").stat().st_mode
        assert stat.S_IMODE(mode) == 0o600
        await eventually(lambda: server.confirmed)
        server.welcome["token"] = ""
        server.cut()
        await eventually(lambda: len(server.hellos) == 2)
    assert server.tokens == [TOKEN, "the second token"]
    assert [hello.has_stored for hello in server.hellos] == [False, True]
    assert server.confirmed == [True]
    async with running_agent(folder, server, token=""):
        await eventually(lambda: len(server.hellos) == 3)
    assert server.tokens[2] == "the second token"


async def test_an_agent_that_is_refused_for_good_ends(folder: Path, server: LinkServer) -> None:
    server.refusal = Refusal(reason="the token was revoked", is_final=True)
    with pytest.raises(Refused, match="the token was revoked"):
        async with running_agent(folder, server) as task:
            await asyncio.wait([task])


async def test_an_agent_without_a_token_does_not_start(folder: Path, server: LinkServer) -> None:
    with pytest.raises(Refused, match="has no token"):
        async with running_agent(folder, server, token="") as task:
            await asyncio.wait([task])


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("https://watchbell.example.com", ""),
        ("wss://watchbell.example.com:8180/x", ""),
        ("http://127.0.0.1:8180", ""),
        ("http://[::1]:8180", ""),
        ("http://watchbell.example.com", "has no TLS"),
        ("ftp://watchbell.example.com", "is not the URL of a server"),
        ("watchbell.example.com", "is not the URL of a server"),
    ],
)
def test_a_token_is_shown_to_no_network(url: str, refused: str) -> None:
    if not refused:
        check_url(url, allows_plain=False)
        return
    with pytest.raises(Refused, match=refused):
        check_url(url, allows_plain=False)


@pytest.fixture
def certificate(folder: Path) -> tuple[Path, Path]:
    key, cert = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    files = ["-nodes", "-keyout", str(key), "-out", str(cert), "-days", "2"]
    subprocess.run([*new, *files, *subject], check=True, capture_output=True)
    return key, cert


async def test_a_server_with_a_certificate_of_ones_own_ca(
    folder: Path, certificate: tuple[Path, Path]
) -> None:
    key, cert = certificate
    server = LinkServer()
    server.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.tls.load_cert_chain(cert, key)
    async with server:
        async with running_agent(folder / "trusting", server, ca=str(cert)):
            await server.launch(order("j1", """echo x > f; echo '{"files":["f"]}'"""))
            await server.ended("j1")
        assert server.uploads["j1", "f"] == b"x\n"
        before = len(server.hellos)
        async with running_agent(folder / "distrusting", server) as task:
            log = await asyncio.wait([task], timeout=0.5)
            assert not log[0]
        assert len(server.hellos) == before


async def test_a_machine_joins_once_and_then_remembers(folder: Path, server: LinkServer) -> None:
    server.welcome["token"] = "the second token"
    server.first = [RunEachMinute(commands=(Command(id="c", command="true"),))]
    with AgentProcess(folder / "data", server, "--once") as agent:
        assert await agent.wait() == 0
        log = agent.log.read_text()
        assert f"has joined {server.url}" in log
        assert "Traceback" not in log
    server.welcome["token"] = ""
    with AgentProcess(folder / "data", server, joins=False):
        await server.launch(order("j1", "echo HELLO"))
        assert (await server.ended("j1")).log == b"HELLO\n"
    assert server.tokens == [TOKEN, "the second token"]
