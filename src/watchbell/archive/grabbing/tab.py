"""One page in the browser: it is loaded, given time, scrolled, and then looked at."""

import asyncio
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.archive.grabbing.devtools import BrowserFailed, DevTools, PageLost, Params

WIDTH, HEIGHT = 1280, 1024
_TALLEST = 10_000
"""Pixels of a page that are on its screenshot."""
_LOAD = 30.0
"""Seconds after which a page that never stops loading is taken as it is."""
_QUIET = 10.0
"""Seconds at most that are waited for requests under way, after a step."""
_LOOK_EVERY = 0.05
_MOST_HTML = 10 << 20
_MOST_NAVIGATIONS = 100
_STEP = 20.0
"""Seconds in which the browser has to answer."""
LONGEST = 600.0
"""Seconds at most for all waiting and scrolling on a page."""
LIMIT = _LOAD + LONGEST + 5 * _STEP
"""Seconds after which a page is left, however it behaves."""

# In a world of its own, where the page's scripts can't have replaced anything.
# Scripts hear of a scroll before the next frame is drawn; a page may draw none.
_SCROLL = """new Promise(done => {
  window.scrollBy(0, window.innerHeight);
  requestAnimationFrame(() => done());
  setTimeout(done, 2000);
})"""
_PLACE = "[window.scrollY, document.documentElement.scrollHeight]"
_LOOK = """({
  url: location.href,
  html: ((document.doctype ? '<!DOCTYPE ' + document.doctype.name + '>' : '')
    + document.documentElement.outerHTML).slice(0, LIMIT),
  height: Math.max(document.documentElement.scrollHeight, window.innerHeight),
})""".replace("LIMIT", str(_MOST_HTML))


class Plan(Struct, frozen=True, kw_only=True):
    """What is done with each page of a crawl."""

    wait: float
    scrolls: int
    is_smart: bool
    """Whether scrolling ends where the page does."""
    user_agent: str


class Snapshot(Struct, frozen=True, kw_only=True):
    """What a page was like at last."""

    url: str
    html: str
    screenshot: bytes = b""
    """PNG; empty if there is none."""
    navigations: tuple[str, ...] = ()
    """Where its scripts wanted to go."""


class _Look(Struct, frozen=True):
    url: str
    html: str
    height: float


class Tab:
    def __init__(self, devtools: DevTools, target: str, session: str) -> None:
        self._devtools, self._session, self.target = devtools, session, target
        self._loaded, self._crashed = asyncio.Event(), asyncio.Event()
        self._frame = ""
        self._has_document = False
        self._navigations: dict[str, None] = {}
        self._world = 0
        devtools.listen(session, self._heard)

    async def grab(
        self, url: str, plan: Plan, is_quiet: Callable[[], bool], is_wanted: Callable[[], bool]
    ) -> Snapshot:
        """`is_quiet` says whether no requests are under way, `is_wanted` whether the crawl goes on.
        Raises BrowserFailed."""
        await self._prepare(plan)
        answer = await self._call("Page.navigate", {"url": url})
        if answer.get("errorText"):
            raise BrowserFailed(str(answer["errorText"]))
        try:
            async with asyncio.timeout(_LOAD):
                await self._loaded.wait()
        except TimeoutError:
            pass
        end = asyncio.get_running_loop().time() + LONGEST
        await self._settle(plan.wait, end, is_quiet)
        await self._scroll(plan, end, is_quiet, is_wanted)
        return await self._snapshot()

    def crash(self) -> None:
        """What waits for the page waits no longer."""
        self._crashed.set()
        self._devtools.forget(self._session)

    async def _prepare(self, plan: Plan) -> None:
        tree = await self._call("Page.getFrameTree")
        self._frame = tree["frameTree"]["frame"]["id"]
        documents = {"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}
        screen = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        calls: list[tuple[str, Params]] = [
            ("Page.enable", {}),
            ("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
            ("Network.setBypassServiceWorker", {"bypass": True}),
            ("Emulation.setUserAgentOverride", {"userAgent": plan.user_agent}),
            ("Emulation.setDeviceMetricsOverride", screen),
            ("Fetch.enable", {"patterns": [documents]}),
        ]
        for method, params in calls:
            await self._call(method, params)

    async def _settle(self, seconds: float, end: float, is_quiet: Callable[[], bool]) -> None:
        """Waits, and then until nothing is loading any more."""
        loop = asyncio.get_running_loop()
        least = min(loop.time() + seconds, end)
        most = min(least + _QUIET, end)
        while not self._crashed.is_set():
            now = loop.time()
            if now >= least and (is_quiet() or now >= most):
                return
            try:
                async with asyncio.timeout(max(least - now, _LOOK_EVERY)):
                    await self._crashed.wait()
            except TimeoutError:
                pass
        raise PageLost("the page crashed")

    async def _scroll(
        self, plan: Plan, end: float, is_quiet: Callable[[], bool], is_wanted: Callable[[], bool]
    ) -> None:
        before: Any = None
        for _ in range(plan.scrolls):
            if not is_wanted() or asyncio.get_running_loop().time() >= end:
                return
            await self._evaluated(_SCROLL)
            await self._settle(plan.wait, end, is_quiet)
            now = await self._evaluated(_PLACE)
            if plan.is_smart and now == before:
                return
            before = now

    async def _snapshot(self) -> Snapshot:
        found = msgspec.convert(await self._evaluated(_LOOK), _Look)
        height = max(1, min(int(found.height), _TALLEST))
        area = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
        options = {"format": "png", "captureBeyondViewport": True, "clip": area}
        try:
            screenshot = b64decode((await self._call("Page.captureScreenshot", options))["data"])
        except (BrowserFailed, KeyError, ValueError):
            screenshot = b""
        return Snapshot(
            url=found.url,
            html=found.html,
            screenshot=screenshot,
            navigations=tuple(self._navigations),
        )

    async def _evaluated(self, expression: str) -> object:
        if not self._world:
            world = {"frameId": self._frame, "worldName": "watchbell"}
            made = await self._call("Page.createIsolatedWorld", world)
            self._world = int(made["executionContextId"])
        asked = {
            "expression": expression,
            "contextId": self._world,
            "returnByValue": True,
            "awaitPromise": True,
        }
        answer = await self._call("Runtime.evaluate", asked)
        if "exceptionDetails" in answer:
            raise BrowserFailed("the page can't be looked at")
        return answer.get("result", {}).get("value")

    async def _call(self, method: str, params: Params | None = None) -> Params:
        try:
            async with asyncio.timeout(_STEP):
                return await self._devtools.call(method, params, self._session)
        except TimeoutError:
            raise BrowserFailed(f"the page hangs ({method})") from None

    # Events.

    def _heard(self, method: str, params: Params) -> None:
        match method:
            case "Page.loadEventFired":
                self._loaded.set()
            case "Page.frameStoppedLoading" if self._navigations:
                # A page that was kept from going elsewhere while it was loading has no load event.
                if params.get("frameId") == self._frame:
                    self._loaded.set()
            case "Page.javascriptDialogOpening":
                self._send("Page.handleJavaScriptDialog", {"accept": False})
            case "Fetch.requestPaused":
                self._decide(params)
            case "Inspector.targetCrashed":
                self.crash()

    def _decide(self, params: Params) -> None:
        """The page stays: where its scripts lead to is visited like any link."""
        request = {"requestId": params["requestId"]}
        if params.get("frameId") != self._frame or not self._has_document:
            self._has_document |= params.get("frameId") == self._frame
            self._send("Fetch.continueRequest", request)
            return
        if len(self._navigations) < _MOST_NAVIGATIONS:
            self._navigations[str(params["request"]["url"])] = None
        self._send("Fetch.failRequest", {**request, "errorReason": "Aborted"})

    def _send(self, method: str, params: Params) -> None:
        if not self._devtools.is_lost:
            self._devtools.send(method, params, self._session)
