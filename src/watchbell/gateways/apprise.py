"""A hundred more services, by the library Apprise."""

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
    """An Apprise URL with `{address}` where a contact's address belongs; without it an address is
    such a URL itself."""
    allow_networks: tuple[str, ...] = ()
    """Networks that addresses may lead to, besides the public Internet."""

    def __post_init__(self) -> None:
        Networks(self.allow_networks)


def open_medium(name: str, chosen: Settings) -> "Apprise":
    if importlib.util.find_spec("apprise") is None:
        need = "the library apprise, which comes with the extra: pip install 'watchbell[apprise]'"
        raise BadSettings(f"gateways.{name}: this needs {need}")
    return Apprise(name, chosen)


class Apprise:
    form = Form(parts=("headline", "text"))

    def __init__(self, name: str, chosen: Settings) -> None:
        self.name, self.limits = name, chosen
        self._template = chosen.url.reveal() if chosen.url else ""
        self._networks = Networks(chosen.allow_networks)
        self._room = threading.BoundedSemaphore(chosen.concurrency)
        # It tells of failures by itself, to whom they don't belong.
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

    async def attend(self, store: Store) -> None:  # noqa: ARG002 nothing is heard back
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass

    def _sent(self, url: str, message: Message) -> str:
        """In a thread: the library waits for servers without letting others go on."""
        library, schemes = _loaded()
        with nullcontext() if self._template else guarded(self._networks) as guard:
            result = _notified(
                library, _service(library, schemes, url, self.limits.timeout), message
            )
        if result:
            return f"{_scheme(url)} taken"
        if guard is not None and guard.refusal:
            raise DeliveryFailed(f"{_scheme(url)} {guard.refusal}", permanent=True)
        said = " ".join(dict.fromkeys(entry.message for entry in result.logs()))
        reason = one_line(starred(said, _tokens(url))) or "the service did not take it"
        raise DeliveryFailed(f"{_scheme(url)} {reason}")

    async def _in_thread(self, work: Callable[[], str]) -> str:
        """In a thread that nobody waits for at the end: a server that says a byte now and then can
        keep it for ever."""
        if not self._room.acquire(blocking=False):
            raise DeliveryFailed(
                f"all {self.limits.concurrency} that may be under way at once hang"
            )
        done: Future[str] = Future()
        done.set_running_or_notify_cancel()  # so that it can be settled after we gave up

        def run() -> None:
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 raised where it is waited for
                done.set_exception(error)
            finally:
                self._room.release()

        threading.Thread(target=run, name="apprise", daemon=True).start()
        return await asyncio.wrap_future(done)


def _loaded() -> tuple[Any, list[str]]:
    """The library, and what URLs begin with for it. The first time it takes a second, and opens
    many files."""
    import apprise  # noqa: PLC0415
    from apprise import manager_plugins  # noqa: PLC0415

    plugins: Any = manager_plugins.NotificationManager
    return apprise, plugins().schemas()


def _service(library: Any, schemes: list[str], url: str, timeout: float) -> Any:
    """The library's object for a URL; DeliveryFailed where it understands none."""
    scheme, separator, _ = url.partition("://")
    scheme = scheme.lower()
    if not separator:
        reason = "the address is no URL for Apprise, as ntfys://ntfy.example.com/alerts"
        raise DeliveryFailed(reason, permanent=True)
    if scheme not in (*schemes, "http", "https"):
        close = difflib.get_close_matches(scheme, schemes, n=3)
        near = f"; near it are {', '.join(f'{one}://' for one in close)}" if close else ""
        reason = f"Apprise knows no address that begins with {one_line(scheme, 30)!r}{near}"
        raise DeliveryFailed(reason, permanent=True)
    asset = library.AppriseAsset(
        async_mode=False, service_timeout=0, storage_mode="memory", app_id="Watchbell"
    )
    service = library.Apprise.instantiate(url, asset=asset)
    if service is None:
        reason = f"Apprise can't read the address as one of {scheme}://"
        raise DeliveryFailed(reason, permanent=True)
    service.socket_connect_timeout = min(service.socket_connect_timeout, timeout / 2)
    service.socket_read_timeout = min(service.socket_read_timeout, timeout / 2)
    return service


def _notified(library: Any, service: Any, message: Message) -> Any:
    """What the library tells of it; true where the service took the message."""
    sender = library.Apprise(asset=service.asset)
    sender.add(service)
    kind = _TYPES.get(message.tone, "info")
    return sender.notify(
        body=message.text, title=message.subject, notify_type=kind, body_format="text"
    )


def _scheme(url: str) -> str:
    return f"{one_line(url.partition('://')[0], 30)}://"


def _tokens(url: str) -> list[str]:
    """What may be secret in a URL: all of its pieces."""
    rest = url.partition("://")[2]
    pieces = re.split("[:/?&=@,#]+", rest)
    return [one for piece in pieces for one in {piece, unquote(piece)} if len(one) >= _LONG_TOKEN]
