"""`watchbell run ROLE`."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import click

from watchbell import logs
from watchbell.cli.options import with_settings
from watchbell.errors import BadSettings, StoreUnfit
from watchbell.roles import presence
from watchbell.roles.catalogue import OUTSIDE, ROLES, chosen
from watchbell.roles.role import Role
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Loaded, Settings
from watchbell.store import data_folder, health
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently
from watchbell.store.opening import url_of
from watchbell.store.outage import Outage, attached
from watchbell.store.url import StoreURL

_ALL = [*ROLES, *OUTSIDE]
_NAMES = [role.name for role in _ALL]
_OUTSIDE = [role.name for role in OUTSIDE]


@click.command(epilog="\b\nRoles:\n" + "\n".join(f"  {r.name:<12}{r.summary}" for r in _ALL))
@click.argument("role", type=click.Choice(_NAMES), metavar="ROLE")
@with_settings()
def command(*, loaded: Loaded, role: str) -> None:
    """Run one role alone. Any number of processes on any number of machines can run the same role;
    they share the work through the store. Uses the store of `watchbell up` on this machine, or
    --store, and waits until it is available.

    Example: watchbell run processor --store redis://db.example.com
    """
    roles = chosen(loaded.settings, role)
    if not roles:
        raise BadSettings(f"the role {role} is not configured; see docs/settings.md")
    data_folder.make_private(loaded.settings.data)
    asyncio.run(_run(role, roles, loaded))


async def _run(name: str, roles: list[Role], loaded: Loaded) -> None:
    task = asyncio.current_task()
    assert task is not None
    log = logs.get(role=name)
    signals = 0

    def stop() -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            log.warning("stopped at once")
            os._exit(130)  # nothing is lost, as if it were killed
        task.cancel()

    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop)
    try:
        async with _store(name, loaded.settings) as store:
            log.info("running", store="none" if name in _OUTSIDE else store.url.redacted())
            supervisor = Supervisor(
                roles, loaded.settings, store, origins=loaded.origins, is_alone=True
            )
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(supervisor.run())
                    if name not in _OUTSIDE:
                        group.create_task(presence.run(store, supervisor.statuses))
            finally:
                supervisor.exit_if_stuck()
    except asyncio.CancelledError:
        log.info("stopped")


def _store(role: str, settings: Settings) -> AbstractAsyncContextManager[Store]:
    """A role that watches from outside uses no store, and must start without one."""
    if role in _OUTSIDE:
        return Store(store_url.parse("redis://127.0.0.1"))
    return _awaited(role, settings)


@asynccontextmanager
async def _awaited(role: str, settings: Settings) -> AsyncIterator[Store]:
    """The store, once it is available, however long that takes."""
    outage = Outage(role)
    with attached(outage):
        url = await patiently(partial(_place, settings))
    async with Store(url) as store:
        with attached(outage):
            unfit = await patiently(partial(_unfit, store))
        if unfit:
            raise unfit
        yield store


async def _place(settings: Settings) -> StoreURL:
    return url_of(settings)


async def _unfit(store: Store) -> StoreUnfit | None:
    """Why waiting for the store would not help."""
    try:
        await health.admit(store)
    except StoreUnfit as error:
        return error
    return None
