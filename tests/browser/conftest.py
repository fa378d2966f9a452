"""A real Chromium, one a worker, on sites and houses of each test.

All tests in this folder share one event loop: the browser's driver belongs to the loop that started
it, and takes longer to start than most tests take. So `store` and `site` are here once more, on
that loop.
"""

import os
import shutil
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from tests import servers
from tests.browser.house import House, housed
from tests.browser.visits import PATIENCE, Visits
from tests.conftest import watched
from tests.web.site import Site, served
from watchbell.store.client import Store

HERE = Path(__file__).parent
FEATURES_OFF = (
    # Two pages that each window loads for an address bar that nobody sees: half the work of a page.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    # What the driver turns off and tests rely on; this list replaces the driver's.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "AvoidCorsURLLoaderRestartOnRedirect"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades"),
    *("LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints"),
    *("PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning", "Translate"),
)
FAILED = pytest.StashKey[bool]()
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    options = [
        # Whatever is not on this machine does not exist, and nothing here asks for it.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--disable-features={','.join(FEATURES_OFF)}",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LD_PRELOAD", raising=False)  # under libfaketime Chromium does not start
        playwright = await async_playwright().start()
        running = await playwright.chromium.launch(executable_path=program, args=options)
    yield running
    await running.close()
    await playwright.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def store(server: servers.Single) -> AsyncIterator[Store]:
    async for one in watched(server.url):
        yield one


@pytest_asyncio.fixture(loop_scope="session")
async def site(store: Store) -> AsyncIterator[Site]:
    """Pages and API alone, on a store that the test fills."""
    async with served(store) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def house(folder: Path) -> AsyncIterator[House]:
    """All of Watchbell in a process of its own."""
    async with housed(folder) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def visit(
    browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Visits]:
    """`await visit(site, "operator", "/checks", look="phone")`: a page of theirs.

    Asked for after `site` or `house`, so that pages are closed before their server ends.
    """
    async with Visits(browser) as visits:
        yield visits
        complaints = visits.complaints()
        if complaints or FAILED in request.node.stash:
            await visits.keep(tmp_path / "browser")
            print(f"screenshots and console output are in {tmp_path / 'browser'}")
    assert not complaints, "\n".join(complaints)
