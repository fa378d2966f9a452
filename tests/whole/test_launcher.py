"""The launcher on a copy of it in an empty folder, with a package index of one wheel."""

import ast
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import held_port
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "watchbell"
BASE_PYTHON = os.path.realpath(sys.executable)
DEBIAN_PYTHON = Path("/usr/bin/python3")
COMMAND = """
import os, sys
import clapper.bronze
def main():
    print("ding", *sys.argv[1:], *[name for name in os.environ if name.startswith("WATCHBELL")])
    sys.exit(7 if "--seven" in sys.argv else 0)
"""
SUITE = """
import os, sys
import clapper.bronze
print("suite", *sys.argv[1:], *[name for name in os.environ if name.startswith("WATCHBELL")])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "clapper-1.0-py3-none-any.whl"
    told = "clapper-1.0.dist-info"
    files = {
        "clapper/__init__.py": "",
        "clapper/bronze.py": "",
        f"{told}/METADATA": "Metadata-Version: 2.1\nName: clapper\nVersion: 1.0\n",
        f"{told}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{told}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{told}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


class Checkout:
    """A folder with the launcher, a lock file of one package and a command that imports it."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        self.index = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheel.parent),
            "UV_NO_INDEX": "1",
            "UV_FIND_LINKS": str(wheel.parent),
        }
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        package = folder / "src/watchbell"
        (package / "cli").mkdir(parents=True)
        shutil.copy(LAUNCHER, folder)
        shutil.copy(ROOT / "src/watchbell/__main__.py", package)
        (package / "__init__.py").touch()
        (package / "cli/__init__.py").touch()
        (package / "cli/main.py").write_text(COMMAND)
        (folder / "requirements.lock").write_text(f"clapper==1.0 --hash=sha256:{digest}\n")

    def popen(
        self, *arguments: str, python: str | Path = sys.executable, **variables: str
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [python, self.folder / "watchbell", *arguments],
            env={"PATH": os.devnull, "HOME": str(self.folder), **self.index, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(
        self, *arguments: str, python: str | Path = sys.executable, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        with self.popen(*arguments, python=python, **variables) as process:
            return finished(process)

    @property
    def stamp(self) -> Path:
        return self.folder / ".venv/watchbell.stamp"

    @property
    def packages(self) -> Path:
        (folder,) = self.folder.glob(".venv/lib/python*/site-packages")
        return folder


def finished(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def told_in_one_line(done: subprocess.CompletedProcess[str], code: int, *words: str) -> bool:
    making, line = done.stderr.splitlines()
    return (
        done.returncode == code
        and making == "watchbell: making the environment .venv, once"
        and all(word in line for word in words)
    )


@pytest.fixture
def checkout(tmp_path: Path, wheel: Path) -> Checkout:
    return Checkout(tmp_path, wheel)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Checkout:
    checkout = Checkout(tmp_path_factory.mktemp("made"), wheel)
    done = checkout.start("version")
    assert done.returncode == 0, done.stderr
    return checkout


@pytest.fixture
def whole(made: Checkout) -> Iterator[Checkout]:
    """The shared checkout, whole again before each test whatever the one before left."""
    assert made.start("version").returncode == 0
    yield made
    (made.folder / "src/watchbell/cli/main.py").write_text(COMMAND)


@pytest.fixture
def uv() -> Path:
    found = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip("uv is not installed")
    return Path(found)


def test_the_real_environment_is_made_by_pip_and_runs_the_real_command(checkout: Checkout) -> None:
    done = real(checkout).start("version", **{**os.environ, "PATH": os.devnull})
    assert done.returncode == 0, done.stderr
    assert "watchbell" in done.stdout


def test_the_real_environment_is_made_by_uv_and_runs_the_real_command(
    checkout: Checkout, uv: Path
) -> None:
    done = real(checkout).start("version", **{**os.environ, "PATH": str(uv.parent)})
    assert done.returncode == 0, done.stderr
    assert "watchbell" in done.stdout
    assert "uv = " in (checkout.folder / ".venv/pyvenv.cfg").read_text()


def real(checkout: Checkout) -> Checkout:
    shutil.copy(ROOT / "requirements.lock", checkout.folder)
    shutil.rmtree(checkout.folder / "src")
    (checkout.folder / "src").symlink_to(ROOT / "src")
    checkout.index = {}
    return checkout


def test_the_first_start_tells_what_it_does_and_runs_the_command(checkout: Checkout) -> None:
    done = checkout.start("a", "b c")
    assert (done.returncode, done.stdout) == (0, "ding a b c\n")
    making, ready = done.stderr.splitlines()
    assert making == "watchbell: making the environment .venv, once"
    assert ready.startswith("watchbell: .venv is ready, after ")


def test_the_second_start_is_quiet_and_makes_nothing(whole: Checkout) -> None:
    before = whole.stamp.stat()
    done = whole.start("version")
    assert (done.stdout, done.stderr) == ("ding version\n", "")
    assert whole.stamp.stat() == before


def test_it_is_executable_and_ends_with_the_exit_code_of_the_command(whole: Checkout) -> None:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run([whole.folder / "watchbell", "--seven"], env={"PATH": path}, check=False)
    assert done.returncode == 7


def test_it_runs_by_a_link_to_it_from_any_folder(whole: Checkout, tmp_path: Path) -> None:
    (tmp_path / "bell").symlink_to(whole.folder / "watchbell")
    (tmp_path / "clapper.py").write_text("raise SystemExit('taken for the package')")
    done = subprocess.run(
        [sys.executable, tmp_path / "bell"], cwd=tmp_path, check=True, capture_output=True
    )
    assert (done.stdout, done.stderr) == (b"ding\n", b"")


def test_variables_that_mislead_python_are_dropped(whole: Checkout, tmp_path: Path) -> None:
    (tmp_path / "clapper.py").write_text("raise SystemExit('taken for the package')")
    assert whole.start(PYTHONPATH=str(tmp_path)).stdout == "ding\n"


def remove(path: str) -> Callable[[Checkout], None]:
    def damage(checkout: Checkout) -> None:
        (found,) = checkout.folder.glob(path)
        if found.is_dir():
            shutil.rmtree(found)
        else:
            found.unlink()

    return damage


def tear_the_stamp(checkout: Checkout) -> None:
    checkout.stamp.write_bytes(checkout.stamp.read_bytes()[:-9])


def point_python_nowhere(checkout: Checkout) -> None:
    (checkout.folder / ".venv/bin/python").unlink()
    (checkout.folder / ".venv/bin/python").symlink_to("/nonexistent")


def lock_anew(checkout: Checkout) -> None:
    with (checkout.folder / "requirements.lock").open("a") as lock:
        lock.write("# another\n")


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(remove(".venv/lib/*/site-packages/clapper"), id="a package is gone"),
        pytest.param(remove(".venv/lib/*/site-packages/clapper/bronze.py"), id="a file is gone"),
        pytest.param(remove(".venv/lib/*/site-packages/watchbell.pth"), id="our path is gone"),
        pytest.param(remove(".venv/lib"), id="all packages are gone"),
        pytest.param(remove(".venv/bin/python"), id="python is gone"),
        pytest.param(point_python_nowhere, id="python was uninstalled"),
        pytest.param(remove(".venv/watchbell.stamp"), id="half-made"),
        pytest.param(tear_the_stamp, id="the stamp is torn"),
        pytest.param(lock_anew, id="the lock file is another"),
    ],
)
def test_a_damaged_environment_repairs_itself(
    whole: Checkout, damage: Callable[[Checkout], None]
) -> None:
    damage(whole)
    done = whole.start("version")
    assert (done.returncode, done.stdout) == (0, "ding version\n"), done.stderr
    assert done.stderr.count("making") == 1
    assert whole.start("version").stderr == ""


def test_an_activated_environment_that_is_damaged_repairs_itself(whole: Checkout) -> None:
    shutil.rmtree(whole.packages / "clapper")
    done = whole.start("version", python=whole.folder / ".venv/bin/python")
    assert (done.returncode, done.stdout) == (0, "ding version\n"), done.stderr


def test_a_moved_checkout_makes_its_environment_anew(checkout: Checkout, tmp_path: Path) -> None:
    assert checkout.start().returncode == 0
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in [path for path in tmp_path.iterdir() if path != moved]:
        path.rename(moved / path.name)
    checkout.folder = moved
    done = checkout.start()
    assert done.stdout == "ding\n"
    assert "making" in done.stderr


def test_a_module_that_no_lock_file_brings_is_told_after_one_repair(whole: Checkout) -> None:
    with (whole.folder / "src/watchbell/cli/main.py").open("a") as command:
        command.write("import rope\n")
    done = whole.start("version")
    assert done.returncode == 1
    assert done.stderr.count("making") == 1
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'rope'\n")


def test_an_error_of_our_own_import_is_not_a_broken_environment(whole: Checkout) -> None:
    with (whole.folder / "src/watchbell/cli/main.py").open("a") as command:
        command.write("import watchbell.rope\n")
    done = whole.start("version")
    assert done.returncode == 1
    assert "making" not in done.stderr


def test_two_starts_at_once_make_one_environment(checkout: Checkout) -> None:
    with checkout.popen("one") as first:
        wait_until((checkout.folder / ".venv-install.log").exists)
        first.send_signal(signal.SIGSTOP)  # for as long as the second takes to come
        with checkout.popen("two") as second:
            assert second.stderr is not None
            waiting = second.stderr.readline()
            first.send_signal(signal.SIGCONT)
            done = [finished(first), finished(second)]
    assert waiting == "watchbell: waiting for another start, which is making .venv\n"
    assert [(one.stdout, one.returncode) for one in done] == [("ding one\n", 0), ("ding two\n", 0)]
    assert "making the environment" in done[0].stderr
    assert done[1].stderr == ""


@contextmanager
def waiting_for_packages(checkout: Checkout) -> Iterator[subprocess.Popen[str]]:
    """A start that has asked for a package, and is not answered."""
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(120)
        address = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        away = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": address}
        with checkout.popen(**away) as process:
            connection, _ = index.accept()
            with connection:
                yield process


def test_an_interrupted_start_ends_clean_and_the_next_begins_anew(checkout: Checkout) -> None:
    with waiting_for_packages(checkout) as process:
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert told_in_one_line(done, 130, "watchbell: stopped")
    assert not checkout.stamp.exists()
    assert checkout.start().stdout == "ding\n"


def test_a_killed_start_is_made_good_by_the_next(checkout: Checkout) -> None:
    with waiting_for_packages(checkout) as process:
        process.kill()
    assert not checkout.stamp.exists()
    assert checkout.start().stdout == "ding\n"


def test_no_network_is_told_in_one_line_and_mended_by_the_next_start(checkout: Checkout) -> None:
    with held_port() as port:
        address = f"http://127.0.0.1:{port.getsockname()[1]}/simple"
        away = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_RETRIES": "1"}
        done = checkout.start(**away, PIP_INDEX_URL=address)
    assert told_in_one_line(
        done, 1, "Could not reach the package index", "online?", ".venv-install.log"
    )
    assert checkout.start().stdout == "ding\n"


def test_no_network_is_told_in_one_line_with_uv_too(checkout: Checkout, uv: Path) -> None:
    with held_port() as port:
        address = f"http://127.0.0.1:{port.getsockname()[1]}/simple"
        away = {"UV_NO_INDEX": "0", "UV_FIND_LINKS": "", "UV_NO_CACHE": "1", "UV_HTTP_RETRIES": "0"}
        done = checkout.start(**away, UV_DEFAULT_INDEX=address, PATH=str(uv.parent))
    assert told_in_one_line(
        done, 1, "Could not reach the package index", "online?", ".venv-install.log"
    )


def test_a_package_with_another_hash_is_refused(checkout: Checkout) -> None:
    (checkout.folder / "requirements.lock").write_text(f"clapper==1.0 --hash=sha256:{'0' * 64}\n")
    assert told_in_one_line(checkout.start(), 1, "not the one that the lock file names")


def test_a_folder_that_cannot_be_written_is_told_in_one_line(checkout: Checkout) -> None:
    (checkout.folder / ".venv.lock").mkdir()
    done = checkout.start()
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert ".venv.lock" in done.stderr


@pytest.mark.skipif(
    not list(Path("/usr/lib").glob("python3.*/EXTERNALLY-MANAGED")),
    reason="there is no Python here that refuses installations, as Debian's does",
)
def test_a_stock_debian_python_makes_the_environment(checkout: Checkout) -> None:
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    done = checkout.start(python=DEBIAN_PYTHON, PATH=path)
    assert (done.returncode, done.stdout) == (0, "ding\n"), done.stderr


@pytest.fixture
def python_without_pip(tmp_path: Path) -> Path:
    folder = tmp_path / "python"
    making = [sys.executable, "-m", "venv", "--copies", "--without-pip", str(folder)]
    subprocess.run(making, check=True)
    return folder / f"bin/python3.{sys.version_info.minor}"


def test_a_python_without_pip_uses_ensurepip(checkout: Checkout, python_without_pip: Path) -> None:
    done = checkout.start(python=python_without_pip)
    assert (done.returncode, done.stdout) == (0, "ding\n"), done.stderr
    assert (checkout.folder / ".venv/bin/pip").exists()


def test_a_python_without_pip_and_ensurepip_tells_what_to_type(
    checkout: Checkout, python_without_pip: Path
) -> None:
    (packages,) = python_without_pip.parent.parent.glob("lib/*/site-packages")
    (packages / "bare.pth").write_text("import sys; sys.modules['ensurepip'] = None\n")
    wanted = f"sudo apt-get install {python_without_pip.name}-venv"
    assert told_in_one_line(checkout.start(python=python_without_pip), 1, wanted)


def test_any_python_from_3_6_on_can_read_it() -> None:
    ast.parse(LAUNCHER.read_text(), feature_version=(3, 6))


@pytest.fixture
def older_python(tmp_path: Path) -> Path:
    """Runs programs as this Python does, but says that it is 3.8."""
    python = tmp_path / "python3.8"
    program = (
        "import runpy, sys; sys.version_info = (3, 8, 0, 'final', 0);"
        "del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    python.write_text(f'#!/bin/sh\nexec "{BASE_PYTHON}" -c "{program}" "$@"\n')
    python.chmod(0o755)
    return python


def test_an_older_python_finds_a_newer_one(checkout: Checkout, older_python: Path) -> None:
    folder = checkout.folder / "bin"
    folder.mkdir()
    (folder / "python3.12").write_text("#!/bin/sh\nexit 127\n")
    (folder / "python3.12").chmod(0o755)
    (folder / "python3.11").symlink_to(BASE_PYTHON)
    done = checkout.start(python=older_python, PATH=str(folder))
    assert (done.returncode, done.stdout) == (0, "ding\n"), done.stderr


def test_an_older_python_alone_is_told_in_one_line(checkout: Checkout, older_python: Path) -> None:
    assert told_in_one_line(
        checkout.start(python=older_python), 1, "Python 3.11 or later is needed"
    )


def test_the_tests_of_a_source_checkout_run_in_an_environment_of_their_own(
    whole: Checkout,
) -> None:
    assert whole.start("test").stdout == "ding test\n"
    (whole.folder / "tests").mkdir()
    (whole.folder / "tests/suite.py").write_text(SUITE)
    shutil.copy(whole.folder / "requirements.lock", whole.folder / "requirements-test.lock")
    done = whole.start("test", "-k", "bell")
    assert (done.returncode, done.stdout) == (0, "suite -k bell\n"), done.stderr
    assert (whole.folder / ".venv-test/watchbell.stamp").exists()


NPM = """#!/bin/sh
echo "npm $*" >>"$HOME/npm.log"
mkdir -p node_modules/bell/dist
echo ding >node_modules/bell/dist/bell.js
"""


@pytest.fixture
def with_pages(checkout: Checkout) -> Checkout:
    """Whose pages need one library, and whose npm has it."""
    ui = checkout.folder / "src/watchbell/web/ui"
    ui.mkdir(parents=True)
    program = (ROOT / "src/watchbell/web/ui/libraries.py").read_text()
    files = re.sub(
        r"FILES = {.*?}", 'FILES = {"bell.js": "bell/dist/bell.js"}', program, flags=re.DOTALL
    )
    (ui / "libraries.py").write_text(files)
    (ui / "package.json").write_text("{}")
    (ui / "package-lock.json").write_text("{}")
    npm = checkout.folder / "bin/npm"
    npm.parent.mkdir()
    npm.write_text(NPM)
    npm.chmod(0o755)
    return checkout


def test_the_libraries_of_the_pages_are_fetched_once_and_anew_when_their_lock_changes(
    with_pages: Checkout,
) -> None:
    ui, log = with_pages.folder / "src/watchbell/web/ui", with_pages.folder / "npm.log"
    path = f"{with_pages.folder / 'bin'}:/usr/bin:/bin"
    first = with_pages.start(PATH=path)
    assert first.stdout == "ding\n", first.stderr
    assert "fetching the libraries of the pages" in first.stderr
    assert (ui / "lib/bell.js").read_text() == "ding\n"
    assert with_pages.start(PATH=path).stderr == ""
    assert log.read_text().count("npm ci --ignore-scripts") == 1
    (ui / "package-lock.json").write_text("{ }")
    assert with_pages.start(PATH=path).stdout == "ding\n"
    assert log.read_text().count("npm ci --ignore-scripts") == 2


def test_libraries_that_cannot_be_fetched_are_told_in_one_line(with_pages: Checkout) -> None:
    (with_pages.folder / "bin/npm").write_text("#!/bin/sh\necho npm error code E404\nexit 1\n")
    done = with_pages.start(PATH=f"{with_pages.folder / 'bin'}:/usr/bin:/bin")
    assert (done.returncode, done.stdout) == (1, "")
    assert "The libraries of the pages could not be fetched." in done.stderr.splitlines()[-1]
    assert ".venv-pages.log" in done.stderr
