"""The role of Flapjack's API, where the settings name a port."""

import asyncio
from types import ModuleType

from msgspec.structs import replace

from watchbell import logs
from watchbell.roles.role import Context, Role, Several
from watchbell.settings import Settings
from watchbell.web.tls_warning import WARNING, is_exposed


def roles(settings: Settings) -> list[Role]:
    if not settings.flapjack_api.port:
        return []
    return [Role("flapjack-api", "answers clients of Flapjack's JSON API", _serve)]


async def _serve(context: Context) -> None:
    chosen = context.settings.flapjack_api
    app, calls, server = await asyncio.to_thread(_modules)
    backend = calls.Backend.opened(context.settings, context.store, context.clock)
    web = replace(context.settings.web, host=chosen.listen, port=chosen.port)
    async with server.serving(app.application(backend), web, section="flapjack_api"):
        address = f"{'https' if web.tls_cert else 'http'}://{web.host}:{web.port}"
        logs.get(role="flapjack-api").info("serving", address=address)
        if is_exposed(web):
            logs.get(role="flapjack-api").warning(WARNING)
        context.show_status(address)
        await asyncio.Event().wait()


def _modules() -> tuple[ModuleType, ModuleType, ModuleType]:
    """Imports late and off the event loop, as the role `web` does."""
    from watchbell.web import server  # noqa: PLC0415
    from watchbell.web.flapjack_api import app, calls  # noqa: PLC0415

    return app, calls, server


ROLE = Several("flapjack-api", "Flapjack's JSON API, for clients written for it", roles)
