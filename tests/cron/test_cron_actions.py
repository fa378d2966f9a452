"""What is a command, and what is none whatever its bytes."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchbell.cron.commands import Command, encoded, parse
from watchbell.errors import Refused


@pytest.mark.parametrize(
    ("action", "args", "meant"),
    [
        ("pause", "backup", "backup"),
        ("resume", "all", "all"),
        ("terminate_run", "0af1", "0af1"),
        ("kill_run", "0af1", "0af1"),
        ("remove", "backup", "backup"),
        ("trigger", "backup", ("backup", "")),
        ("reload", {}, None),
        ("reload", None, None),
        ("validate", [], ()),
        ("validate", ["a", "b"], ("a", "b")),
        ("drain_nodes", ["web-1"], ("web-1",)),
        ("drain_nodes", "web-1", ("web-1",)),
        ("add", {"job_name": "a", "job_def": {"x": 1}}, ("a", b'{"x":1}')),
    ],
)
def test_each_action_of_the_document_is_understood(action: str, args: Any, meant: Any) -> None:
    assert parse(json.dumps({"action": action, "args": args}).encode()) == Command(action, meant)
    assert parse(encoded(action, args)) == Command(action, meant)


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"reload", "not JSON"),
        (b"5", "command: expected an object with action and args"),
        (b'{"args":"x"}', "command: expected an object"),
        (b'{"action":"explode","args":"x"}', "action: expected one of pause, resume"),
        (b'{"action":["pause"],"args":"x"}', "action: expected one of"),
        (b'{"action":"pause"}', "args: expected a name, not None"),
        (b'{"action":"pause","args":""}', "args: expected a name"),
        (b'{"action":"pause","args":["a"]}', "args: expected a name"),
        (b'{"action":"validate","args":[1]}', "args: expected an array of names"),
        (b'{"action":"add","args":"x"}', "args: expected an object with job_name and job_def"),
        (b'{"action":"add","args":{"job_name":"x"}}', "args.job_def: expected an object"),
        (b'{"action":"add","args":{"job_name":5,"job_def":{}}}', "args: expected a name, not 5"),
        (b"[" * 100_000, "not JSON"),
        (b" " * ((8 << 20) + 1), "a command has at most"),
    ],
)
def test_what_is_no_command_is_refused_in_words(raw: bytes, complaint: str) -> None:
    with pytest.raises(Refused, match=complaint.replace("(", r"\(")):
        parse(raw)


@given(st.binary() | st.text().map(str.encode))
@example(b'{"action":"pause","args":"\\ud800"}')
def test_no_bytes_do_more_than_be_refused(raw: bytes) -> None:
    with suppress(Refused):
        parse(raw)
