"""The role that serves ArchiveBot's dashboard protocol, where the settings name a port."""

import asyncio
from functools import partial
from types import ModuleType

from msgspec.structs import replace

from watchbell import logs
from watchbell.errors import BadSettings
from watchbell.process.warden_handle import raise_open_files
from watchbell.roles.role import Context, Role, Several
from watchbell.settings import Settings
from watchbell.web.archive.dashboard.origins import Origins, allowed
from watchbell.web.server_url import server_url
from watchbell.web.tls_warning import NO_SIGN_IN, is_local

_SUMMARY = "serves crawls to viewers written for ArchiveBot"


def roles(settings: Settings) -> list[Role]:
    chosen = settings.archive.dashboard
    if not chosen.port:
        if chosen.stream_port:
            raise BadSettings("archive.dashboard.stream_port: set archive.dashboard.port as well")
        return []
    ports = frozenset({chosen.port, chosen.stream_port} - {0})
    origins = allowed(chosen.origins, chosen.host, ports)
    return [Role("dashboard", _SUMMARY, partial(_serve, origins))]


async def _serve(origins: Origins, context: Context) -> None:
    settings, chosen = context.settings, context.settings.archive.dashboard
    raise_open_files()
    module = await asyncio.to_thread(_module)
    place = replace(settings.web, host=chosen.host, port=chosen.port, url="")
    address = server_url(replace(settings, web=place))

    def show(viewers: int) -> None:
        context.show_status(f"{address}, {viewers:,} connected")

    async with module.serving(settings, context.store, context.clock, origins, show) as (_, sender):
        log = logs.get(role="dashboard")
        log.info("serving", address=address)
        if not is_local(chosen.host):
            log.warning(NO_SIGN_IN)
        show(0)
        await sender.run()


def _module() -> ModuleType:
    """Imports late and off the event loop, as the role of the web does."""
    from watchbell.web.archive.dashboard import serving  # noqa: PLC0415

    return serving


ROLES = Several("dashboard", _SUMMARY, roles)
