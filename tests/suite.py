"""All that `./watchbell test` does: real programs, format, lint, types, import contracts, tests.

With arguments it is pytest alone with those arguments, for the loop of writing and trying.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
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
PROGRAMS = {  # Debian package: its program
    "redis-server": "redis-server",
    "faketime": "faketime",
    "prosody": "prosody",
    "chromium": "chromium",
    "prometheus-alertmanager": "amtool",
    "curl": "curl",
    "openssl": "openssl",
}
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
    if arguments:
        return subprocess.call([TOOLS / "pytest", *arguments])
    skipped = install_programs()
    failed = [name for name, command in CHECKS.items() if not passes(name, command)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        # One more than there are cores, since tests wait for other processes a third of their time;
        # in runs of neighbours, since those share servers and a browser.
        workers = min(4, (os.cpu_count() or 1) + 1)
        spread = ["-n", str(workers), "--dist", "worksteal"]
        if subprocess.call([TOOLS / "pytest", *spread, f"--junitxml={report}"]) != 0:
            failed.append("tests")
        skipped += skipped_tests(report)
    for line in skipped:
        print(f"skipped: {line}")
    if skipped and os.environ.get("CI") == "true":
        failed.append(f"nothing may be skipped here, and {len(skipped)} were")
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


def install_programs() -> list[str]:
    """Installs what is missing where this user may; says what is still missing, and why."""
    wanted = missing_programs()
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
    tell("programs", passed=not missing_programs(), seconds=time.monotonic() - start)
    reason = (said.strip().splitlines() or ["apt-get said nothing"])[-1]
    return [f"{package} could not be installed: {reason}" for package in missing_programs()]


def missing_programs() -> list[str]:
    return [package for package, program in PROGRAMS.items() if shutil.which(program) is None]


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
