"""The entry of `python -m watchbell` and of the installed command."""

import os
import sys
from pathlib import Path


def main() -> None:
    # Taken out at once: they are the launcher's, and settings refuse variables they don't know.
    launcher = os.environ.pop("WATCHBELL_LAUNCHER", None)  # noqa: TID251
    repaired = os.environ.pop("WATCHBELL_REPAIR", None)  # noqa: TID251
    try:
        from watchbell.cli.main import main as command  # noqa: PLC0415  (may be what fails)

        command()
    except ImportError as error:
        missing = (error.name or "watchbell").partition(".")[0]
        if launcher is None or repaired is not None or missing == "watchbell":
            raise
        print(f"watchbell: the environment is broken: {error}", file=sys.stderr)
        start_repaired(launcher)


def start_repaired(launcher: str) -> None:
    """Starts again by the launcher, which makes the environment anew unless another start has."""
    broken = Path(sys.prefix, "pyvenv.cfg").stat().st_mtime_ns
    os.environ["WATCHBELL_REPAIR"] = str(broken)  # noqa: TID251
    python = os.path.realpath(sys.executable)  # the one outside the environment
    os.execv(python, [python, launcher, *sys.argv[1:]])  # noqa: S606


if __name__ == "__main__":
    main()
