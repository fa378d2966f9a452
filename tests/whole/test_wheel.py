"""A built wheel, installed with pip into an empty environment, runs the product."""

import re
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
from pathlib import Path
from urllib.error import URLError

import pytest

from tests.conftest import Up
from tests.servers import held_port
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `watchbell` command of an environment that has the wheel and what it needs.

    The wheel is built from what the container's build stage copies, by the same command.
    """
    folder = tmp_path_factory.mktemp("wheel")
    for source in copied():
        target = folder / "source" / source
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("lib"))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / source, target)
    ran(UV, "venv", "--seed", "--python", base_python(), folder / "environment")
    pip = folder / "environment" / "bin" / "pip"
    ran(pip, "wheel", "--no-deps", "--wheel-dir", folder / "wheels", folder / "source")
    (wheel,) = (folder / "wheels").glob("*.whl")
    pinned = folder / "versions.txt"
    pinned.write_text(versions((ROOT / "requirements.lock").read_text()))
    ran(pip, "install", "--quiet", "--no-input", "--constraint", pinned, wheel)
    return folder / "environment" / "bin" / "watchbell"


def copied() -> list[str]:
    """What the build stage of the container copies from the source."""
    text = (ROOT / "deploy" / "Containerfile").read_text().split("\nFROM ")[1]
    lines = re.findall(r"^COPY (.+)$", text, re.MULTILINE)
    return [source for line in lines for source in line.split()[:-1]]


def base_python() -> Path:
    return Path(sysconfig.get_config_var("BINDIR"), f"python3.{sys.version_info.minor}")


def ran(*command: Path | str) -> None:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.returncode == 0, done.stdout + done.stderr


def versions(lock: str) -> str:
    """The lock file without its digests, which pip would demand of the wheel as well."""
    return "\n".join(re.findall(r"^(\S+==\S+(?: ; [^\\\n]+)?)", lock, re.MULTILINE)) + "\n"


class Installed(Up):
    """`watchbell up` of an installed package."""

    def __init__(self, program: Path, data: Path, **environment: str) -> None:
        self._program = program
        super().__init__(data, "--port", "0", **environment)

    def _command(self) -> list[str]:
        return [str(self._program), "up", "--data", str(self.data), *self._options]


def fetched(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url) as answer:
        return answer.status, answer.read().decode()


def is_served(url: str) -> bool:
    try:
        return fetched(url)[0] == 200
    except URLError:
        return False


def test_a_wheel_runs_without_the_source(installed: Path, folder: Path) -> None:
    with held_port() as hold:
        port = hold.getsockname()[1]
        site = f"http://127.0.0.1:{port}"
        with Installed(installed, folder / "data", WATCHBELL_WEB_PORT=str(port)):
            wait_until(lambda: is_served(f"{site}/healthz"), why="the web server answers")
            _, page = fetched(f"{site}/sign-in")
            (style,) = re.findall(r'href="(/static/\w+/style/base\.css)"', page)
            library = style.replace("style/base.css", "lib/preact.js")
            assert fetched(site + library)[0] == 200
    said = subprocess.run(
        [installed, "version"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert said.stdout.startswith("watchbell ")
