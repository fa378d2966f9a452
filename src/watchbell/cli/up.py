"""`watchbell up`: everything under one supervisor, the store included."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack

import click

from watchbell import logs
from watchbell.cli.board import Board
from watchbell.cli.options import with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import StoreUnavailable
from watchbell.roles import catalogue, presence
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Loaded, Settings, environment, usual_file
from watchbell.store import data_folder, health
from watchbell.store.client import CLIENT_ERRORS, Store
from watchbell.store.embedded import Embedded
from watchbell.store.opening import url_of
from watchbell.web.people import sign_in_links
from watchbell.web.server_url import server_url
from watchbell.web.tls_warning import WARNING, is_exposed


@click.command
@with_settings("store.port")
def command(*, loaded: Loaded) -> None:
    """Run everything on this machine: the embedded store (or the one at --store) and all
    roles, under a supervisor that restarts what fails.

    \b
    Examples:
      watchbell up
      watchbell up --data /srv/watchbell --port 0
      watchbell up --store redis://user:secret@db.example.com:6379/0?prefix=wb:
    """
    board = Board(loaded.settings)
    with board.shown():
        asyncio.run(_until_signalled(loaded, board))


async def _until_signalled(loaded: Loaded, board: Board) -> None:
    task = asyncio.current_task()
    assert task is not None
    signals = 0

    def stop() -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            os._exit(130)  # the kernel tells the store that we are gone
        board.note = "Stopping. Press Ctrl-C again to stop at once."
        board.draw()
        task.cancel()

    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop)
    try:
        await _up(loaded, board)
    except asyncio.CancelledError:
        board.note = "Stopped."
        logs.get().info("stopped")


async def _up(loaded: Loaded, board: Board) -> None:
    settings, begun = loaded.settings, SYSTEM.monotonic()
    log = logs.get()

    supervisors: list[Supervisor] = []
    async with AsyncExitStack() as stack:
        stack.callback(_end, supervisors)  # the last of all, after the store has ended
        server: Embedded | None = None
        data_folder.make_private(settings.data)
        if not settings.store.url:
            server = Embedded(settings, log.info)
            stack.push_async_callback(server.stop)
            await server.start()
        store = await stack.enter_async_context(Store(server.url if server else url_of(settings)))
        findings = await health.admit(store)
        supervisor = Supervisor(
            catalogue.chosen(settings),
            settings,
            store,
            origins=loaded.origins,
            on_change=board.draw,
        )
        supervisors.append(supervisor)
        board.facts = [
            *await _facts(settings, store, server, findings),
            ("settings", _file(loaded)),
            *await _web(settings, store),
        ]
        board.warnings = [f"{f.text}; {f.advice}" for f in findings if f.level == "warning"]
        if is_exposed(settings.web):
            board.warnings.append(WARNING)
        board.statuses = supervisor.statuses
        for warning in board.warnings:
            log.warning(warning)
        async with asyncio.TaskGroup() as keepers:
            keepers.create_task(supervisor.run())
            keepers.create_task(presence.run(store, supervisor.statuses))
            if server is not None:
                keepers.create_task(server.run())
            log.info("up", seconds=round(SYSTEM.monotonic() - begun, 2))


def _file(loaded: Loaded) -> str:
    """The settings file that was read, or where one would be."""
    if loaded.file is not None:
        return str(loaded.file)
    return f"defaults; create {usual_file(environment())} to change them"


def _end(supervisors: list[Supervisor]) -> None:
    for one in supervisors:
        one.exit_if_stuck()


async def _web(settings: Settings, store: Store) -> list[tuple[str, str]]:
    """Where the pages are, and at the first start how to get in."""
    if not settings.web.port:
        return []
    address, path = server_url(settings), None
    try:
        path = await sign_in_links.first(store, int(SYSTEM.now()))
    except (StoreUnavailable, *CLIENT_ERRORS) as error:  # it may be full, and run all the same
        logs.get().warning("no sign-in link was made", reason=str(error))
    return [("web", address), *([("link", f"{address}{path} (once)")] if path else [])]


async def _facts(
    settings: Settings, store: Store, server: Embedded | None, findings: list[health.Finding]
) -> list[tuple[str, str]]:
    version = next(f.text for f in findings if f.subject == "version")
    if server is None:
        return [("store", version), *([("prefix", store.prefix)] if store.prefix else [])]
    written = {"everysec": "on disk within a second", "always": "on disk before each answer"}
    by = "adopted, run by another process" if server.adopted else "embedded"
    return [
        ("store", f"{version.partition(' at ')[0]}, {by}"),
        ("socket", server.url.socket),
        ("port", f"127.0.0.1:{server.port}" if server.port else "none"),
        ("data", str(settings.data)),
        ("writes", written[settings.store.appendfsync]),
    ]
