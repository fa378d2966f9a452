"""What `./watchbell test` makes of its arguments."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests import order, suite

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("arguments", "is_parallel"),
    [
        ([], True),
        (["tests/store"], True),
        (["--long", "tests/store", "-q"], True),
        (["tests/store", "-n", "0"], False),
        (["tests/store", "-n0"], False),
        (["tests/store", "-s"], False),
        (["tests/store/test_lock.py"], False),
        (["tests/store/test_lock.py::test_fifty_contenders_never_hold_together"], False),
        (["-k", "lock"], False),
        (["--version"], False),
    ],
)
def test_whole_folders_run_in_parallel(arguments: list[str], is_parallel: bool) -> None:
    assert bool(suite.workers(arguments)) == is_parallel


def test_every_worker_begins_with_slow_files_and_ends_with_quick_tests(
    request: pytest.FixtureRequest,
) -> None:
    function = request.node
    assert isinstance(function, pytest.Function)

    def made(folder: str, file: int, number: int) -> pytest.Function:
        one = pytest.Function.from_parent(
            function.parent, name=f"{folder}{file}.{number}", callobj=function.obj
        )
        one.path = order.TESTS / folder / f"test_{file}.py"
        return one

    slow = [made("faults", file, number) for file in range(4) for number in range(3)]
    quick = [made("units", 0, number) for number in range(28)]
    ordered = order.dealt([*quick[:14], *slow, *quick[14:]], 2)
    assert sorted(ordered, key=id) == sorted([*slow, *quick], key=id)
    for share, first in ((ordered[:20], (0, 2)), (ordered[20:], (3, 1))):
        files = [f"faults{file}.{number}" for file in first for number in range(3)]
        assert [one.name for one in share[:6]] == files
        assert not any(one.name.startswith("faults") for one in share[6:])


@pytest.mark.parametrize(
    ("paths", "packages"),
    [
        ([], set(suite.PROGRAMS)),
        (["tests"], set(suite.PROGRAMS)),
        (["tests/schedule"], set()),
        (["tests/browser/test_shell.py"], {"chromium", "curl"}),
        (["tests/schedule", "tests/roles"], {"redis-server"}),
    ],
)
def test_a_part_needs_the_programs_of_its_folders(paths: list[str], packages: set[str]) -> None:
    assert suite.needed_programs([Path(path) for path in paths]) == packages


def test_the_clock_is_set_by_an_offset_from_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Rome")
    time.tzset()
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    try:
        found = suite.without_clock(["-q", "--at", "2023-11-14 23:13:30", "tests/cron"])
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found == (["-q", "tests/cron"], 10)


@pytest.mark.parametrize("words", [["--at"], ["--at", "noon"]])
def test_a_time_that_is_none_is_refused_with_an_example(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="is no time; write it like --at '2028-02-29 23:59:50'"):
        suite.without_clock(words)


@pytest.mark.parametrize(
    ("options", "printed"),
    [([], ["few 3 10"]), (["--long"], ["few 3 100", "many 100"])],
)
def test_a_long_test_runs_only_when_asked_for(
    tmp_path: Path, options: list[str], printed: list[str]
) -> None:
    file = tmp_path / "test_faults.py"
    file.write_text(
        "import pytest\n"
        "def test_few(repetitions): print('few', repetitions(3), repetitions(100))\n"
        "@pytest.mark.long\n"
        "def test_many(repetitions): print('many', repetitions(100))\n"
    )
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "--rootdir=.", "-s", "-q"]
    command += ["-p", "tests.conftest", *options, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.lstrip(".") for line in done.stdout.splitlines()]
    assert [one for one in lines if one.startswith(("few", "many"))] == printed, done.stderr


def test_no_two_files_of_tests_share_a_name() -> None:
    """A worker that collects both would refuse the second one."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_each_benchmark_is_in_the_table() -> None:
    measuring = {
        path.stem for path in (ROOT / "bench").glob("*.py") if "\ndef figures()" in path.read_text()
    }
    listed = subprocess.run(
        [sys.executable, "bench/table.py", "--help"], check=True, capture_output=True, text=True
    ).stdout
    assert {name for name in measuring if f"\n  {name} " not in listed} == set()
