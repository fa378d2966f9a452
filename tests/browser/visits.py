"""Signed-in browser pages, and a record of everything that goes wrong in them."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, Self
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Error,
    Page,
    Request,
    Response,
    Route,
)

from tests.web.site import BY
from watchbell.actors import Role, signed_in
from watchbell.clock import SYSTEM
from watchbell.web.audit import Stamp
from watchbell.web.guard import cookie_name
from watchbell.web.services import Services

Look = Literal["desktop", "phone", "dark", "dark phone"]
DARK = {"color_scheme": "dark"}
PHONE = {
    "viewport": {"width": 360, "height": 740},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}
LOOKS: dict[Look, dict[str, Any]] = {
    "desktop": {},
    "phone": PHONE,
    "dark": DARK,
    "dark phone": PHONE | DARK,
}
ALWAYS: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 800},
    "locale": "en-GB",
    "timezone_id": "Europe/Berlin",
    "reduced_motion": "reduce",
    "color_scheme": "light",
}
PATIENCE = 90_000
"""Milliseconds, on a busy machine; nothing waits longer than it has to."""
_LOG_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => console.error(
  `against the policy ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""


class Place(Protocol):
    """Something that serves pages: a `Site` or a `House`."""

    url: str
    services: Services


class Visits:
    """Opens signed-in pages and records what should not happen in them.

    A console error, an exception, a dialog, a request to another host, a request that failed or was
    answered by 400 or more: each fails the test at its end, unless it was `forgiven`.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._forgiven: list[re.Pattern[str]] = []
        self._complaints: list[str] = []
        self._console: list[str] = []

    async def __call__(
        self,
        place: Place,
        role: Role | None,
        path: str = "",
        *,
        look: Look = "desktop",
        name: str = "",
        **more: Any,
    ) -> Page:
        """A page of somebody with this role (of a stranger without), on `path` if it is given.

        Each has cookies of their own; `page.context.new_page()` is a second tab. `more` goes to
        Playwright's `new_context`.
        """
        context = await self._browser.new_context(
            base_url=place.url, **(ALWAYS | LOOKS[look] | more)
        )
        self._contexts.append(context)
        context.set_default_timeout(PATIENCE)
        if "FAKETIME" in os.environ:  # the browser has the machine's clock: see conftest
            await context.clock.install(time=datetime.fromtimestamp(SYSTEM.now(), UTC))
        await context.add_init_script(_LOG_VIOLATIONS)
        self._watch(context, urlsplit(place.url).netloc)
        if role is not None:
            await sign_in(context, place, role, name)
        page = await context.new_page()
        if path:
            await page.goto(path)
        return page

    def forgive(self, pattern: str) -> None:
        """Complaints that match are expected from now on, and those from before, too."""
        self._forgiven.append(re.compile(pattern))

    def complaints(self) -> list[str]:
        return [
            one for one in self._complaints if not any(form.search(one) for form in self._forgiven)
        ]

    async def keep(self, folder: Path) -> None:
        """Saves screenshots of all pages and their console output, to investigate a failure."""
        pages = [page for context in self._contexts for page in context.pages]
        for number, page in enumerate(pages):
            try:
                await page.screenshot(path=folder / f"page-{number}.png", timeout=PATIENCE)
            except Error as error:  # it was closed, or hangs, which may be the failure itself
                self._console.append(f"no picture of page {number}: {error.message}")
        self._write(folder)

    def _write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "console.txt").write_text("\n".join([*self._console, *self._complaints]) + "\n")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for context in self._contexts:
            await context.close()

    def _watch(self, context: BrowserContext, host: str) -> None:
        async def dismiss(dialog: Dialog) -> None:
            self._complaints.append(f"dialog: {dialog.type} {dialog.message}")
            await dialog.dismiss()

        def ask(request: Request) -> None:
            address = urlsplit(request.url)
            if address.scheme not in ("data", "blob") and address.netloc != host:
                self._complaints.append(f"request to another host: {request.url}")

        context.on("console", self._on_console)
        context.on(
            "weberror",
            lambda error: self._complaints.append(f"exception: {_description(error.error)}"),
        )
        context.on("dialog", dismiss)
        context.on("request", ask)
        context.on("response", self._on_response)
        context.on("requestfailed", self._on_failure)

    def _on_console(self, message: ConsoleMessage) -> None:
        self._console.append(f"{message.type}: {message.text}")
        # A failed request has a complaint already, and a better one.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self._complaints.append(f"console: {message.text}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            request = response.request
            self._complaints.append(f"{request.method} {request.url} answered {response.status}")

    def _on_failure(self, request: Request) -> None:
        reason = request.failure or ""
        # Aborted by the page itself, as on leaving it, or by its policy, which the console reports.
        if "ERR_ABORTED" not in reason and reason != "csp":
            self._complaints.append(f"{request.method} {request.url} failed: {reason}")


@asynccontextmanager
async def held(page: Page, pattern: str) -> AsyncIterator[None]:
    """Requests for what matches have no answer before the end of this block."""
    ends = asyncio.Event()

    async def hold(route: Route) -> None:
        await ends.wait()
        await route.continue_()

    await page.route(pattern, hold)
    yield
    ends.set()


async def sign_in(context: BrowserContext, place: Place, role: Role, name: str = "") -> None:
    """Begins a session as a link would, and gives its cookie to the browser."""
    services, name = place.services, name or role
    user = await services.users.find(name) or await services.users.add(name, role, BY)
    entry = Stamp(signed_in(name, role, "127.0.0.1"), services.now()).entry(
        "session.begin", name, "link"
    )
    secret, _ = await services.sessions.begin(user, "tests", entry)
    cookie = cookie_name(place.url.startswith("https"))
    await context.add_cookies(
        [{"name": cookie, "value": secret, "url": place.url, "httpOnly": True, "sameSite": "Lax"}]
    )


def _description(error: Error) -> str:
    return error.stack or error.message
