"""The role of the local agent: runs jobs on this machine, over the same link as other agents."""

import asyncio
import socket
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from watchbell.errors import BadSettings, Refused
from watchbell.fleet import tokens
from watchbell.process.warden_handle import raise_open_files
from watchbell.roles.role import Context, Role, Several
from watchbell.settings import Settings, secret_variables
from watchbell.store.client import Backoff, patiently
from watchbell.web.server_url import server_url

if TYPE_CHECKING:
    from watchbell.fleet.agent.agent_folder import AgentFolder

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
_HOUR = 3_600
_START_SECONDS = 30.0


def running(settings: Settings) -> list[Role]:
    """Without the web there is nothing to connect to."""
    return [Role("agent", "runs jobs on this machine", _run)] if settings.web.port else []


async def _run(context: Context) -> None:
    raise_open_files()
    agent, agent_folder = await asyncio.to_thread(_modules)
    settings = context.settings
    files = agent_folder.AgentFolder(settings.data / "agent")
    files.path.mkdir(0o711, parents=True, exist_ok=True)
    await patiently(lambda: _have_token(context, files))
    url, ca = loopback(settings)
    context.show_status(f"connects to {url}")
    await _until_served(url)
    await agent.run(
        settings.agent,
        files.path,
        agent_folder.Joined(urls=(url,), ca=ca),
        secrets=secret_variables(settings),
        clock=context.clock,
    )


def _modules() -> tuple[ModuleType, ModuleType]:
    """Imports late and off the event loop, because only this role needs it."""
    from watchbell.fleet.agent import agent, agent_folder  # noqa: PLC0415

    return agent, agent_folder


async def _have_token(context: Context, files: "AgentFolder") -> None:
    """A token to join with, unless the store knows the one in the folder. It is of use to this
    hostname alone."""
    now = int(context.clock.now())
    known = files.token.read()
    if known and await tokens.authenticate(context.store, known, now) is not None:
        return
    hostname = context.settings.agent.hostname or socket.gethostname()
    try:
        text, _ = await tokens.create_join(
            context.store, "up", now, hostname=hostname, expires=now + _HOUR
        )
    except Refused as error:
        raise BadSettings(f"agent.hostname: {error.reason}; set another name") from error
    files.token.store(text)


async def _until_served(url: str) -> None:
    """The web starts together with this role; an agent that comes too early would warn of it."""
    parts, backoff = urlsplit(url), Backoff(first=0.05, longest=0.5)
    with suppress(TimeoutError):
        async with asyncio.timeout(_START_SECONDS):
            while True:
                try:
                    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
                except OSError:
                    await backoff.wait()
                else:
                    writer.close()
                    return


def loopback(settings: Settings) -> tuple[str, str]:
    """The URL of the server on this machine, and a certificate to trust, if there is one."""
    web = settings.web
    if web.tls_cert:
        # A certificate names the public address, by which it is checked.
        return server_url(settings), "" if web.url else web.tls_cert
    host = _ANYWHERE.get(web.host, web.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{web.port}", ""


ROLE = Several("agent", "runs jobs on this machine", running)
