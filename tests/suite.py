"""`./watchbell test`: installs real programs, checks format, lint, types and imports, runs tests.

`./watchbell test PATH…` runs a part: pytest with these arguments, in parallel for whole folders.
`--long` adds the tests that repeat a fault more than ten times; `--at WHEN` sets the clock.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent
LAUNCHER = "watchbell"  # has no suffix by which the tools would find it
CHECKS = {
    "format": ("ruff", "format", "--check", ".", LAUNCHER),
    "lint": ("ruff", "check", ".", LAUNCHER),
    "types": ("mypy",),
    "types of the launcher": ("mypy", LAUNCHER),
    "imports": ("lint-imports",),
}


class Program(NamedTuple):
    name: str
    used_in: tuple[str, ...]  # paths under tests/

    def is_used_in(self, paths: Sequence[Path]) -> bool:
        used = [ROOT / "tests" / one for one in self.used_in]
        return any(
            path.is_relative_to(one) or one.is_relative_to(path) for path in paths for one in used
        )


PROGRAMS = {  # by Debian package
    "redis-server": Program("redis-server", ("faults", "roles", "store", "test_servers.py")),
    "faketime": Program("faketime", ("cron", "faults", "whole")),
    "prosody": Program("prosody", ("gateways",)),
    "rsync": Program("rsync", ("archive",)),
    "ngircd": Program("ngircd", ("archive",)),
    "chromium": Program("chromium", ("browser",)),
    "prometheus-alertmanager": Program("amtool", ("web",)),
    "prometheus": Program("promtool", ("web",)),
    "curl": Program("curl", ("browser", "web")),
    "openssl": Program("openssl", ("archive", "gateways", "http", "web", "test_servers.py")),
}
WITHOUT_WORKERS = ("-n", "--numprocesses", "-s", "--pdb", "--trace", "--collect-only", "--co")
INSTALL = """
set -e
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then  # while it is there, no package starts its service
    trap 'rm -f $policy' EXIT
    trap 'exit 130' INT TERM
    printf '#!/bin/sh\\nexit 101\\n' >$policy
    chmod 755 $policy
fi
apt-get update -q
apt-get install -y -q --no-install-recommends "$@"
if [ -d /run/systemd/system ]; then  # nor at the next boot: tests start servers of their own
    for package in "$@"; do systemctl disable --quiet "$package" 2>/dev/null || true; done
fi
"""


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    # A shell that starts us in the background has it ignored, and so would all that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments, offset = without_clock(arguments)
    paths = paths_among(arguments)
    skipped = install_programs(needed_programs(paths) | ({"faketime"} if offset else set()))
    if offset:
        os.environ.update(clock(offset))  # for pytest and everything that tests start
    elif set(arguments) <= {"--long"}:
        return run_everything(arguments, skipped)
    for line in skipped:
        print(f"skipped: {line}", flush=True)
    return subprocess.call([TOOLS / "pytest", *workers(arguments), *arguments])


def run_everything(options: list[str], skipped: list[str]) -> int:
    failed = [name for name, command in CHECKS.items() if not passes(name, command)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        options = [*options, "--durations=30", f"--junitxml={report}"]
        if subprocess.call([TOOLS / "pytest", *workers([]), *options]) != 0:
            failed.append("tests")
        skipped += skipped_tests(report)
    for line in skipped:
        print(f"skipped: {line}")
    if skipped and os.environ.get("CI") == "true":
        failed.append(f"nothing may be skipped here, and {len(skipped)} were")
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


def workers(arguments: list[str]) -> list[str]:
    """Options that spread whole folders over the cores; for less, a worker's start costs more.

    Three a core, since tests wait for other processes, or for time to pass, more than half of their
    time; in runs of neighbours, since those share servers and a browser. See also `order.py`.
    """
    is_alone = any(one.startswith(WITHOUT_WORKERS) for one in arguments)
    paths = paths_among(arguments)
    if is_alone or (arguments and not any(path.is_dir() for path in paths)):
        return []
    return ["-n", str(min(8, 3 * (os.cpu_count() or 1))), "--dist", "worksteal"]


def paths_among(arguments: list[str]) -> list[Path]:
    """The files and folders among pytest's arguments; a single test counts as its file."""
    found = [Path(one.partition("::")[0]) for one in arguments if not one.startswith("-")]
    return [path for path in found if path.exists()]


def without_clock(arguments: list[str]) -> tuple[list[str], float]:
    """Takes `--at WHEN` out; how many seconds that local time is ahead of the machine's clock."""
    if "--at" not in arguments:
        return arguments, 0
    at = arguments.index("--at")
    when = "".join(arguments[at + 1 : at + 2])
    try:
        seconds = datetime.fromisoformat(when).timestamp() - time.time()
    except ValueError:
        sys.exit(f"watchbell: --at {when!r} is no time; write it like --at '2028-02-29 23:59:50'")
    return arguments[:at] + arguments[at + 2 :], seconds


def clock(offset: float) -> dict[str, str]:
    """The environment of processes that all have one clock, which runs; monotonic time is the
    machine's."""
    found = sorted(Path("/usr/lib").glob("**/faketime/libfaketime.so.1"))
    if not found:
        sys.exit("watchbell: --at needs libfaketime. Type: sudo apt-get install faketime")
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME": f"{offset:+.3f}",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(ROOT / "tests" / "libfaketime"),
    }


def needed_programs(paths: list[Path]) -> set[str]:
    """Debian packages that the tests under `paths` need; without paths, that any test needs."""
    return {
        package
        for package, program in PROGRAMS.items()
        if not paths or program.is_used_in([path.resolve() for path in paths])
    }


def install_programs(packages: set[str]) -> list[str]:
    """Installs what is missing where this user may; says what is still missing, and why."""
    wanted = missing_programs(packages)
    if not wanted:
        return []
    privilege = privilege_to_install()
    if privilege is None:
        return [
            f"{package} is not installed and this user may not install it" for package in wanted
        ]
    start = time.monotonic()
    print(f"installing {', '.join(wanted)}", flush=True)
    said = captured([*privilege, "sh", "-c", INSTALL, "sh", *wanted]).stdout
    missing = missing_programs(packages)
    tell("programs", passed=not missing, seconds=time.monotonic() - start)
    reason = (said.strip().splitlines() or ["apt-get said nothing"])[-1]
    return [f"{package} could not be installed: {reason}" for package in missing]


def missing_programs(packages: set[str]) -> list[str]:
    return sorted(one for one in packages if shutil.which(PROGRAMS[one].name) is None)


def privilege_to_install() -> list[str] | None:
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    return [sudo, "-n"] if sudo and captured([sudo, "-n", "true"]).returncode == 0 else None


def passes(name: str, command: Sequence[str]) -> bool:
    start = time.monotonic()
    done = captured([str(TOOLS / command[0]), *command[1:]])
    passed = done.returncode == 0
    tell(name, passed=passed, seconds=time.monotonic() - start)
    if not passed:
        print(done.stdout, flush=True)
    return passed


def captured(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def tell(name: str, *, passed: bool, seconds: float) -> None:
    print(f"{'passed' if passed else 'FAILED'}  {name:24}{seconds:6.1f} s", flush=True)


def skipped_tests(report: Path) -> list[str]:
    if not report.exists():
        return []
    return [
        f"{case.get('classname')}.{case.get('name')}".lstrip(".") + f": {skip.text}"
        for case in ET.parse(report).iter("testcase")
        for skip in case.findall("skipped")
        if skip.get("type") != "pytest.xfail"
    ]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
