"""A command that no system could run is refused, with the field that is wrong."""

from typing import Any

import pytest

from watchbell.errors import Refused
from watchbell.process.command import Command, check


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"argv": []}, "command: it is empty"),
        ({"argv": [""]}, "command: it is empty"),
        ({"argv": [" "]}, "command: it is empty"),
        ({"argv": ["a", "b\0c"]}, "argument 1 is 'b\\x00c'"),
        ({"argv": ["\ud800"]}, "argument 0"),
        ({"environment": {"A=B": "c"}}, "'A=B'"),
        ({"environment": {"": "c"}}, "''"),
        ({"environment": {"A": "\0"}}, "environment: A is"),
        ({"environment": {"A": "x" * 7_000_000}}, "longer than"),
        ({"folder": "/\0"}, "folder: it is"),
        ({"user": "\0"}, "user: it is"),
        ({"nice": 20}, "nice: 20"),
        ({"umask": 0o1000}, "umask: 1000"),
        ({"limits": {"nproc": -1}}, "nproc is -1"),
        ({"limits": {"memory": 1}}, "no limit 'memory'"),
    ],
)
def test_a_wrong_command_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused) as refused:
        check(Command(**{"argv": ["true"], **wrong}))
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_arguments_that_are_no_unicode_pass() -> None:
    check(Command(argv=["echo", "\udcff", "", "line\nline"], environment={"A": "\udcff"}))
