"""`watchbell expression`: values for people and programs, and mistakes at their place."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import printed, ran

_FOUND_B = "watchbell: expected an operator or '}}', found 'b', at column 5\n"
VALUES = json.dumps({"memory": {"total": 1000, "available": 400}, "name": "a\x1b[1m\nb"})


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["memory.available / memory.total * 100"], "40\n"),
        (["missing"], "null\n"),
        (["name"], "a\\x1b[1m\nb\n"),
        (["[name]"], '["a\\u001b[1m\\nb"]\n'),
        (["--message", "{{memory.total}} bytes"], "1000 bytes\n"),
    ],
)
def test_the_value_of_an_expression_is_printed(arguments: list[str], shown: str) -> None:
    done = ran("expression", *arguments, "--data", "-", given=VALUES)
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


def test_values_are_read_from_a_file_and_printed_as_json(tmp_path: Path) -> None:
    file = tmp_path / "values.json"
    file.write_text("\ufeff" + VALUES)
    assert printed("expression", "memory", "--data", str(file)) == {"total": 1000, "available": 400}
    assert printed("expression", "1 + 1") == 2


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["a >= )"], "a >= )\n     ^\nwatchbell: expected a value, found ')', at column 6\n"),
        (["-'x'"], "-'x'\n^\nwatchbell: expected a number, found the text 'x', at column 1\n"),
        (["--message", "{{a b}}"], "{{a b}}\n    ^\n" + _FOUND_B),
    ],
)
def test_a_mistake_is_shown_at_its_place(arguments: list[str], shown: str) -> None:
    done = ran("expression", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", shown)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("[1]", "- does not contain a JSON object with the values"),
        ("{", "- is not JSON: Input data was truncated"),
        ("[" * 100_000, "- is not JSON:"),
    ],
)
def test_values_that_are_not_an_object_are_refused(given: str, says: str) -> None:
    done = ran("expression", "a", "--data", "-", given=given)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"watchbell: {says}")


def test_a_file_that_is_not_there_is_refused() -> None:
    done = ran("expression", "a", "--data", "/nowhere.json")
    assert done.returncode == 1
    assert done.stderr == "watchbell: /nowhere.json can't be read: No such file or directory\n"
