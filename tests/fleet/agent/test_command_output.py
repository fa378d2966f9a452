"""Whatever a command prints is read by its format, or refused with a reason."""

from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fleet.test_machine_validation import packed, sample
from watchbell.errors import Refused
from watchbell.fleet import command_values, validation
from watchbell.fleet.agent import command_output
from watchbell.fleet.model import OutputFormat


def xml(encoding: str, content: str = "<a>1</a>") -> bytes:
    return f'<?xml version="1.0" encoding="{encoding}"?>{content}'.encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (xml("nonsense"), "unknown encoding"),
        (xml("hex"), "no XML"),
        (xml("utf-7"), "no XML"),
        (xml("shift_jis"), "no XML"),
        (xml("idna"), "no XML"),
        (xml("utf-16"), "encoding specified"),
        (b"<a>\xff</a>", "invalid token"),
        (b"<a>&x;</a>", "undefined entity"),
        (b'<!DOCTYPE a [<!ENTITY x "xx">]><a>&x;</a>', "document type"),
        (b"<a>" * 21 + b"</a>" * 21, "levels deep"),
    ],
)
def test_what_is_no_usable_xml_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        command_output.parsed("xml", content)


@given(st.sampled_from(get_args(OutputFormat)), st.binary(max_size=200))
def test_any_output_is_read_or_refused(kind: OutputFormat, content: bytes) -> None:
    with suppress(Refused):
        command_output.parsed(kind, content)


@pytest.mark.parametrize("kind", ["xml", "json"])
def test_what_is_read_is_accepted_in_a_sample(kind: OutputFormat) -> None:
    """The largest and the deepest outputs too, and several of them."""
    many: dict[str, Any] = {
        "json": b"[" + b"0," * 19_000 + b"0]",
        "xml": b"<a>" + b"<b/>" * 16_000 + b"</a>",
    }
    deep = {"json": b"[" * 19 + b"0" + b"]" * 19, "xml": b"<a>" * 20 + b"0" + b"</a>" * 20}
    outputs = [command_output.parsed(kind, text) for text in (many[kind], deep[kind])]
    commands = {"many": outputs[0], "more": outputs[0], "deep": outputs[1]}
    found = validation.machine(packed(sample(commands=commands)), "db-1", 1)
    assert found.commands == commands
    assert len(many[kind]) <= command_values.MOST_BYTES
