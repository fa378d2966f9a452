"""The role of the web: pages, API and intake over HTTP."""

import asyncio
from types import ModuleType

from watchbell import logs
from watchbell.process.warden_handle import raise_open_files
from watchbell.roles import gc_tuning
from watchbell.roles.role import Context, Role, Several
from watchbell.settings import Settings
from watchbell.web.server_url import server_url
from watchbell.web.tls_warning import WARNING, is_exposed


def serving(settings: Settings) -> list[Role]:
    return [Role("web", "pages, API and intake", _serve)] if settings.web.port else []


async def _serve(context: Context) -> None:
    web = context.settings.web
    raise_open_files()
    app, server = await asyncio.to_thread(_modules)
    services = await app.open_services(
        context.settings, context.store, context.clock, context.origins
    )
    async with server.serving(app.framed(services), web):
        gc_tuning.collect_seldom()
        address = server_url(context.settings)
        log = logs.get(role="web")
        log.info("serving", address=address)
        if not await services.users.all():
            log.warning("nobody can sign in yet; see `watchbell users add --help`")
        if is_exposed(web):
            log.warning(WARNING)
        context.show_status(
            f"{address}, open to other machines without TLS" if is_exposed(web) else address
        )
        await services.background.failed()


def _modules() -> tuple[ModuleType, ModuleType]:
    """Imports late and off the event loop: it takes half a second, and only this role needs it.
    Page files are read and packed here as well, so that the first visitor does not wait."""
    from watchbell.web import app, assets, server  # noqa: PLC0415

    assets.files()
    return app, server


ROLE = Several("web", "pages, API and intake over HTTP", serving)
