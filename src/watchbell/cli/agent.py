"""`watchbell agent`."""

import asyncio
import signal
import sys
from pathlib import Path

import click

from watchbell import logs
from watchbell.cli.options import with_settings
from watchbell.errors import Refused
from watchbell.fleet.agent import agent
from watchbell.fleet.agent.agent_folder import AgentFolder, Joined
from watchbell.fleet.agent.link import check_url
from watchbell.settings import Loaded, secret_variables

_STDIN = "-"


@click.command
@click.option(
    "--join", "urls", metavar="URL", multiple=True, help="A server to join; can be repeated."
)
@click.option("--token", metavar="TOKEN", help="The token to join with; `-`: read it from stdin.")
@click.option(
    "--ca", metavar="FILE", help="Trust the certificates in FILE instead of the usual ones."
)
@click.option("--plain", is_flag=True, help="Allow a connection without TLS to another machine.")
@click.option("--once", is_flag=True, help="Exit once the server has accepted this machine.")
@with_settings(has_store=False)
def command(
    *,
    loaded: Loaded,
    urls: tuple[str, ...],
    token: str | None,
    ca: str | None,
    plain: bool,
    once: bool,
) -> None:
    """Run the jobs of a server on this machine. The agent connects to the server, and needs no port
    of its own. Once it has joined, `watchbell agent` is enough.

    Jobs go on while the agent is restarted.

    \b
    Examples:
      watchbell agent --join https://watchbell.example.com --token TOKEN
      watchbell agent --join https://a.example.com --join https://b.example.com --token -
      watchbell agent
    """
    if token == _STDIN:
        token = sys.stdin.readline().strip()
    folder = loaded.settings.data / "agent"
    joined = _joined(AgentFolder(folder), urls, ca, allows_plain=plain)
    asyncio.run(_run(loaded, folder, joined, token or "", once=once))
    if once:
        click.echo(f"This machine has joined {joined.urls[0]}.")


def _joined(
    files: AgentFolder, urls: tuple[str, ...], ca: str | None, *, allows_plain: bool
) -> Joined:
    if not urls:
        found = files.joined()
        if found is None:
            raise Refused("this machine has joined no server; use --join URL --token TOKEN")
        return found
    for url in urls:
        check_url(url, allows_plain=allows_plain)
    trusted = str(Path(ca).absolute()) if ca else ""
    if trusted and not Path(trusted).is_file():
        raise Refused(f"--ca: there is no file {trusted}")
    return Joined(urls=urls, ca=trusted)


async def _run(loaded: Loaded, folder: Path, joined: Joined, token: str, *, once: bool) -> None:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, task.cancel)
    log = logs.get(role="agent")
    try:
        await agent.run(
            loaded.settings.agent,
            folder,
            joined,
            token=token,
            secrets=secret_variables(loaded.settings),
            once=once,
        )
    except asyncio.CancelledError:
        log.info("stopped")
