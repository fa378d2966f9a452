"""Apprise, a library for a hundred more services."""

import asyncio
import difflib
import importlib.util
import logging
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any
from urllib.parse import quote, unquote

from msgspec import field

from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways.apprise_guard import guarded
from watchbell.gateways.medium import SendLimits
from watchbell.gateways.message import Form, Message
from watchbell.http.answer import one_line, starred
from watchbell.http.networks import Networks
from watchbell.settings import Secret
from watchbell.store.client import Store

STYLE = "note"

_ADDRESS = "{address}"
_LONG_TOKEN = 6
_TYPES = {"ok": "success", "warning": "warning", "critical": "failure", "unknown": "warning"}


class Settings(SendLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: Secret = field(default_factory=Secret)
    """An Apprise URL with `{address}` for a contact's address; without it, addresses are such URLs
    themselves."""
    allow_networks: tuple[str, ...] = ()
    """Networks, besides the public Internet, to which addresses may lead."""

    def __post_init__(self) -> None:
        Networks(self.allow_networks)


def open_medium(_: str, settings: Settings) -> "Apprise":
    if importlib.util.find_spec("apprise") is None:
        need = "the library apprise, which comes with the extra: pip install 'watchbell[apprise]'"
        raise BadSettings(f"this medium needs {need}")
    return Apprise(settings)


class Apprise:
    form = Form(parts=("headline", "text"))

    def __init__(self, settings: Settings) -> None:
        self.limits = settings
        self._template = settings.url.reveal() if settings.url else ""
        self._networks = Networks(settings.allow_networks)
        self._room = threading.BoundedSemaphore(settings.concurrency)
        # It logs failures itself, with secrets; we report them with the message.
        logger = logging.getLogger("apprise")
        logger.addHandler(logging.NullHandler())
        logger.propagate = False

    async def send(self, message: Message) -> str:
        address = message.address.strip()
        url = self._template.replace(_ADDRESS, quote(address, safe="")) or address
        try:
            async with asyncio.timeout(self.limits.timeout):
                return await self._in_thread(lambda: self._sent(url, message))
        except TimeoutError:
            seconds = f"{self.limits.timeout:g} s"
            raise DeliveryFailed(f"{_scheme(url)} did not end within {seconds}") from None

    async def attend(self, store: Store) -> None:  # noqa: ARG002 there are no answers
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass

    def _sent(self, url: str, message: Message) -> str:
        """Runs in a thread, because the library blocks while it waits for servers."""
        library, schemes = _loaded()
        with nullcontext() if self._template else guarded(self._networks) as guard:
            result = _notified(
                library, _service(library, schemes, url, self.limits.timeout), message
            )
        if result:
            return f"{_scheme(url)} accepted"
        if guard is not None and guard.refusal:
            raise DeliveryFailed(f"{_scheme(url)} {guard.refusal}", permanent=True)
        logged = " ".join(dict.fromkeys(entry.message for entry in result.logs()))
        reason = one_line(starred(logged, _tokens(url))) or "the service did not accept it"
        raise DeliveryFailed(f"{_scheme(url)} {reason}")

    async def _in_thread(self, work: Callable[[], str]) -> str:
        """Uses a daemon thread: a server that sends a byte now and then can keep it for ever."""
        if not self._room.acquire(blocking=False):
            raise DeliveryFailed(f"all {self.limits.concurrency} threads hang")
        done: Future[str] = Future()
        done.set_running_or_notify_cancel()  # so that it may end after we gave up

        def run() -> None:
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 raised by whoever awaits it
                done.set_exception(error)
            finally:
                self._room.release()

        threading.Thread(target=run, name="apprise", daemon=True).start()
        return await asyncio.wrap_future(done)


def _loaded() -> tuple[Any, list[str]]:
    """The library and the URL schemes that it knows. Takes a second the first time."""
    import apprise  # noqa: PLC0415
    from apprise import manager_plugins  # noqa: PLC0415

    plugins: Any = manager_plugins.NotificationManager
    return apprise, plugins().schemas()


def _service(library: Any, schemes: list[str], url: str, timeout: float) -> Any:
    """The library's object for a URL; DeliveryFailed where it can't read the URL."""
    scheme, separator, _ = url.partition("://")
    scheme = scheme.lower()
    if not separator:
        reason = "the address is not an Apprise URL such as ntfys://ntfy.example.com/alerts"
        raise DeliveryFailed(reason, permanent=True)
    if scheme not in (*schemes, "http", "https"):
        close = difflib.get_close_matches(scheme, schemes, n=3)
        near = f"; similar ones are {', '.join(f'{one}://' for one in close)}" if close else ""
        reason = f"Apprise does not know the scheme {one_line(scheme, 30)!r}{near}"
        raise DeliveryFailed(reason, permanent=True)
    asset = library.AppriseAsset(
        async_mode=False, service_timeout=0, storage_mode="memory", app_id="Watchbell"
    )
    service = library.Apprise.instantiate(url, asset=asset)
    if service is None:
        reason = f"Apprise can't read the address as a {scheme}:// URL"
        raise DeliveryFailed(reason, permanent=True)
    service.socket_connect_timeout = min(service.socket_connect_timeout, timeout / 2)
    service.socket_read_timeout = min(service.socket_read_timeout, timeout / 2)
    return service


def _notified(library: Any, service: Any, message: Message) -> Any:
    """The library's result, which is true if the service accepted the message."""
    sender = library.Apprise(asset=service.asset)
    sender.add(service)
    kind = _TYPES.get(message.tone, "info")
    return sender.notify(
        body=message.text, title=message.subject, notify_type=kind, body_format="text"
    )


def _scheme(url: str) -> str:
    return f"{one_line(url.partition('://')[0], 30)}://"


def _tokens(url: str) -> list[str]:
    """All parts of a URL, each of which may be a secret."""
    rest = url.partition("://")[2]
    pieces = re.split("[:/?&=@,#]+", rest)
    return [one for piece in pieces for one in {piece, unquote(piece)} if len(one) >= _LONG_TOKEN]
