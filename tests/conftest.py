"""Stores of every kind, and the watch over what tests leave in them."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

import hypothesis
import pytest

from tests import families, servers
from tests.order import dealt
from tests.waiting import wait_until
from watchbell import logs
from watchbell.store import url as store_url
from watchbell.store.client import Store

# Tests start thousands of processes, which are not to compile the same modules again and again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("busy", deadline=None)
hypothesis.settings.load_profile("busy")

FEW = 10

Topology = servers.Single | servers.SentinelSet | servers.Cluster


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="repeat faults more than ten times; run `long` tests"
    )
    parser.addoption("--seed", type=int, help="repeat a test that chooses by chance")


@pytest.hookimpl(trylast=True)  # pytest has put together what shares a server
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves tests marked `long` out, which is no skip: the default run is whole without them."""
    long = [item for item in items if item.get_closest_marker("long")]
    if long and not config.getoption("--long"):
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = dealt(items, workers)


@pytest.fixture
def repetitions(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """How often to repeat a fault: `repetitions(100)` is 100 with `--long`, and ten without."""
    is_long = request.config.getoption("--long")
    return lambda most: most if is_long else min(most, FEW)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Decides what is done by chance; `--seed` gives the one of a run to repeat."""
    given: int | None = request.config.getoption("--seed")
    chosen = secrets.randbits(32) if given is None else given
    print(f"--seed {chosen}")
    return chosen


@pytest.fixture(autouse=True, scope="session")
def shown_logs() -> None:
    """Beside the failure of a test, what was logged."""
    logs.configure("info", "json")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, as a Unix socket needs it."""
    path = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def watchbell(*arguments: str) -> list[str]:
    """The command line that runs Watchbell from the source, with nothing else in its way."""
    return [sys.executable, "-P", "-m", "watchbell", *arguments]


def bare_environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("WATCHBELL_", "XDG_"))}
    # Tests of the web choose a port; others need none, and would compete for the usual one.
    return {**kept, "HOME": "/nonexistent", "WATCHBELL_WEB_PORT": "0", **more}


class Up:
    """`watchbell up` as a user runs it, on a data folder."""

    def __init__(self, data: Path, *options: str, **environment: str) -> None:
        self.data = data
        self.url = f"unix://{data}/store.sock"
        self.log = data.with_name(data.name + ".log")
        self._options = options
        self._environment = environment
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=bare_environment(**self._environment),
            )

    def _command(self) -> list[str]:
        return watchbell("up", "--data", str(self.data), *self._options)

    def ready(self) -> Self:
        wait_until(self._is_up, 120, f"up on {self.data}")
        return self

    def _is_up(self) -> bool:
        said = self.log.read_text()
        assert self.process.poll() is None, f"up ended: {said}"
        return '"event": "up"' in said

    def records(self) -> list[dict[str, Any]]:
        """What it has logged; its last line may still be on its way."""
        whole, _, _ = self.log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    def again(self) -> Self:
        self.log.write_text("")
        self.process = self._started()
        return self.ready()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)

    def __enter__(self) -> Self:
        try:
            return self.ready()
        except BaseException:
            self.end()
            raise

    def __exit__(self, *_: object) -> None:
        self.end()


class BareStore(Up):
    """The embedded store alone, without roles that write into it."""

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "tests.bare_store", str(self.data)]


@contextmanager
def embedded(folder: Path) -> Iterator[Up]:
    with BareStore(folder / "data") as running:
        yield running


TOPOLOGIES: dict[str, Callable[[Path], AbstractContextManager[Any]]] = {
    "embedded": embedded,
    "debian": servers.debian,
    "sentinel": servers.sentinel,
    "cluster": servers.cluster,
}


@pytest.fixture(params=TOPOLOGIES, scope="session")
def topology(request: pytest.FixtureRequest) -> Iterator[Any]:
    path = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
    with TOPOLOGIES[request.param](path) as running:
        yield running
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def server() -> Iterator[servers.Single]:
    """One server of the wheel, for what does not depend on the kind of store."""
    path = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
    with servers.single(path) as running:
        yield running
    shutil.rmtree(path)


@pytest.fixture
async def store(server: servers.Single) -> AsyncIterator[Store]:
    async for one in watched(server.url):
        yield one


@pytest.fixture
async def any_store(topology: Any) -> AsyncIterator[Store]:
    """The same test on every kind of store."""
    async for one in watched(topology.url):
        yield one


async def watched(url: str) -> AsyncIterator[Store]:
    """An empty store; fails the test that leaves a key against its family."""
    async with Store(store_url.parse(url)) as store:
        await emptied(store)
        yield store
        wrong = await families.strays(store)
        await emptied(store)
    assert not wrong, "\n".join(wrong)


async def emptied(store: Store) -> None:
    for primary in await store.primaries():
        await primary.call("FLUSHALL")
        await primary.call("SCRIPT", "FLUSH")
