"""The URL under which people and programs reach the server."""

from watchbell.settings import Settings


def server_url(settings: Settings) -> str:
    web = settings.web
    if web.url:
        return web.url.rstrip("/")
    host = f"[{web.host}]" if ":" in web.host else web.host
    return f"{'https' if web.tls_cert else 'http'}://{host}:{web.port}"
