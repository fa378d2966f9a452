"""The token with which an agent identifies itself, in a file that its user alone can read."""

import os
from pathlib import Path

from watchbell import logs

_PRIVATE = 0o600


class TokenFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> str:
        """Empty if there is none."""
        try:
            if self._path.stat().st_mode & 0o077:
                logs.get(role="agent").warning("others could read the token", file=str(self._path))
                self._path.chmod(_PRIVATE)
            token = self._path.read_text().strip()
        except FileNotFoundError:
            return ""
        logs.hide(token)
        return token

    def store(self, token: str) -> None:
        """When it returns, the token is on the disk, in place of the former one."""
        logs.hide(token)
        fresh = self._path.with_name(f"{self._path.name}.new")
        fresh.unlink(missing_ok=True)
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        try:
            os.write(file, token.encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
        fresh.replace(self._path)
