"""The browser of a pipeline: started when a page needs it, replaced when it hangs or crashes."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from watchbell import ids, logs
from watchbell.archive.grabbing import certificate
from watchbell.archive.grabbing.chromium import Chromium, found
from watchbell.archive.grabbing.devtools import BrowserFailed, DevTools, PageLost, Params
from watchbell.archive.grabbing.proxy import HOST
from watchbell.archive.grabbing.tab import Tab
from watchbell.clock import Clock
from watchbell.fleet.agent.sampler import memory_bytes

_TABS = 4
"""Pages at a time, of all crawls."""
_STEP = 20.0
_CLOSE = 10.0
"""Seconds in which a page has to be gone."""
_IDLE = 60.0
_LOOK = 1.0
_MOST_MEMORY = 4 << 30
_AGAIN = 60.0
"""Seconds until a browser that could not be started is tried again."""


class NoBrowser(BrowserFailed):
    """There is none, or it can't be started."""


class Browser:
    def __init__(self, setting: str, folder: Path, clock: Clock) -> None:
        """`folder` is its alone. What an earlier one has left there is removed."""
        self._program = found(setting)
        self._folder, self._clock = folder, clock
        shutil.rmtree(folder, ignore_errors=True)
        self._certificate: certificate.ProxyCertificate | None = None
        self._running: Chromium | None = None
        self._starting = asyncio.Lock()
        self._places = asyncio.Semaphore(_TABS)
        self._tabs: dict[str, Tab] = {}
        self._contexts: set[str] = set()
        self._users = 0
        self._used = 0.0
        """When a page was closed last."""
        self._failed = ""
        self._failed_at = 0.0
        self._most_memory = min(_MOST_MEMORY, memory_bytes()["total"] // 2)
        self._log = logs.get(role="pipeline")

    @property
    def is_there(self) -> bool:
        return self._program is not None

    def certificate(self) -> certificate.ProxyCertificate:
        if self._certificate is None:
            self._folder.mkdir(0o700, parents=True, exist_ok=True)
            self._certificate = certificate.made(self._folder, self._clock.now())
        return self._certificate

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """The right to have a page. Waits for it."""
        async with self._places:
            yield

    @asynccontextmanager
    async def tab(self, proxy: int) -> AsyncIterator[Tab]:
        """A page without a past, all requests of which go to the proxy on this port. Raises
        BrowserFailed, NoBrowser."""
        self._users += 1
        try:
            chromium = await self._ensured()
            context, tab = await self._opened(chromium, proxy)
            try:
                yield tab
            finally:
                self._tabs.pop(tab.target, None)
                self._contexts.discard(context)
                tab.crash()
                await self._dispose(chromium, context)
        finally:
            self._users -= 1
            self._used = self._clock.monotonic()

    async def _opened(self, chromium: Chromium, proxy: int) -> tuple[str, Tab]:
        try:
            async with asyncio.timeout(_STEP):
                return await self._open(chromium.devtools, proxy)
        except (BrowserFailed, TimeoutError) as error:
            await self._end(chromium)
            reason = str(error) or "it hangs"
            raise PageLost(f"the browser opens no page: {reason}") from None

    async def _open(self, devtools: DevTools, proxy: int) -> tuple[str, Tab]:
        asked: Params = {
            "disposeOnDetach": True,
            "proxyServer": f"http://{HOST}:{proxy}",
            "proxyBypassList": "<-loopback>",
        }
        context = str(
            (await devtools.call("Target.createBrowserContext", asked))["browserContextId"]
        )
        try:
            return context, await self._opened_in(devtools, context)
        except asyncio.CancelledError:
            if not devtools.is_lost:
                devtools.send("Target.disposeBrowserContext", {"browserContextId": context})
            raise

    async def _opened_in(self, devtools: DevTools, context: str) -> Tab:
        of_context = {"browserContextId": context}
        deny = {"behavior": "deny", **of_context}
        await devtools.call("Browser.setDownloadBehavior", deny)
        made = await devtools.call("Target.createTarget", {"url": "about:blank", **of_context})
        target = str(made["targetId"])
        attach = {"targetId": target, "flatten": True}
        session = str((await devtools.call("Target.attachToTarget", attach))["sessionId"])
        tab = self._tabs[target] = Tab(devtools, target, session)
        self._contexts.add(context)
        return tab

    async def _dispose(self, chromium: Chromium, context: str) -> None:
        """A browser that can't close a page is killed."""
        if not chromium.is_running:
            return
        gone = {"browserContextId": context}
        try:
            async with asyncio.timeout(_CLOSE):
                await chromium.devtools.call("Target.disposeBrowserContext", gone)
        except (BrowserFailed, TimeoutError):
            self._log.warning("the browser hangs, and is started again")
            await self._end(chromium)

    async def _ensured(self) -> Chromium:
        async with self._starting:
            if self._running and self._running.is_running:
                return self._running
            if self._running:
                await self._end(self._running)
            if self._program is None:
                raise NoBrowser("this pipeline has no browser")
            if self._failed and self._clock.monotonic() - self._failed_at < _AGAIN:
                raise NoBrowser(self._failed)
            self._running = await self._started(self._program)
            return self._running

    async def _started(self, program: str) -> Chromium:
        folder = self._folder / ids.token()
        try:
            digest = self.certificate().key_digest
            await asyncio.to_thread(folder.mkdir, 0o700)
            one = await Chromium.started(program, folder, digest)
            one.devtools.listen("", self._heard)
            await one.devtools.call("Target.setDiscoverTargets", {"discover": True})
        except (BrowserFailed, OSError) as error:
            self._failed, self._failed_at = str(error), self._clock.monotonic()
            self._log.warning("the browser can't be started", reason=str(error))
            raise NoBrowser(self._failed) from None
        self._failed = ""
        return one

    async def _end(self, chromium: Chromium) -> None:
        if self._running is chromium:
            self._running = None
        for tab in self._tabs.values():
            tab.crash()
        await chromium.kill()

    def _heard(self, method: str, params: Params) -> None:
        match method:
            case "Target.targetCreated":
                self._close_if_popup(params["targetInfo"])
            case "Target.targetCrashed" | "Target.targetDestroyed":
                tab = self._tabs.get(str(params.get("targetId")))
                if tab:
                    tab.crash()

    def _close_if_popup(self, target: Params) -> None:
        is_ours = target.get("browserContextId") in self._contexts
        if is_ours and target["type"] == "page" and target["targetId"] not in self._tabs:
            running = self._running
            if running and running.is_running:
                running.devtools.send("Target.closeTarget", {"targetId": target["targetId"]})

    # Its resources.

    async def watch(self) -> None:
        """Ends it when nobody needs it, and its largest process when it has too much memory."""
        while True:
            await asyncio.sleep(_LOOK)
            running = self._running
            if running is None:
                continue
            if not self._users and self._clock.monotonic() - self._used > _IDLE:
                await self._end(running)
                continue
            self._limit_memory(running.pid)

    def _limit_memory(self, pid: int) -> None:
        sizes = dict(_memory(pid))
        if sum(sizes.values()) <= self._most_memory:
            return
        sizes.pop(pid, None)
        if sizes:
            largest = max(sizes, key=lambda one: sizes[one])
            self._log.warning("a page needs too much memory", bytes=sizes[largest])
            with suppress(ProcessLookupError):
                os.kill(largest, signal.SIGKILL)

    async def close(self) -> None:
        if self._running:
            await self._end(self._running)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


def _memory(session: int) -> list[tuple[int, int]]:
    """The processes of a session, with the bytes that each has in memory. Needs /proc."""
    page = os.sysconf("SC_PAGE_SIZE")
    sizes: list[tuple[int, int]] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            sizes.append((int(folder.name), int(fields[21]) * page))
    return sizes
