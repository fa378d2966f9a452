"""What of a job's output is log, and what are messages."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.fleet.agent.job_messages import LONGEST_LINE, LONGEST_MESSAGE, JobOutput
from watchbell.fleet.agent.masking import Masker


def parsed(*chunks: bytes, secrets: tuple[str, ...] = (), **how: bool) -> tuple[bytes, list[Any]]:
    output = JobOutput(Masker(secrets), **how)
    parts = [*(output.feed(chunk) for chunk in chunks), output.finish()]
    assert output.position == sum(map(len, chunks))
    return b"".join(part.text for part in parts), [one for part in parts for one in part.messages]


@pytest.mark.parametrize(
    ("printed", "text", "messages"),
    [
        (b"plain\n", b"plain\n", []),
        (b'{"progress":0.5}\n', b"", [{"progress": 0.5}]),
        (b'{"progress":0.5}', b"", [{"progress": 0.5}]),
        (b'a\n  {"code": 7} \r\nb\n', b"a\nb\n", [{"code": 7}]),
        (b'{"code":0,"mine":1}\n', b'{"code":0,"mine":1}\n', []),
        (b'{"mine":1,"code":0,"xy":1}\n', b"", [{"mine": 1, "code": 0, "xy": 1}]),
        (b'{"mine":1,"xy":2}\n', b'{"mine":1,"xy":2}\n', []),
        (b"{}\n", b"{}\n", []),
        (b'["code"]\n', b'["code"]\n', []),
        (b'x {"code":0}\n', b'x {"code":0}\n', []),
        (b'{"code":0} x\n', b'{"code":0} x\n', []),
        (b'{\n "code": 0\n}\n', b'{\n "code": 0\n}\n', []),
        (b'{"code":0}\n{"code":1}\n', b"", [{"code": 0}, {"code": 1}]),
        (b'{ "update_event": { "enabled": false }\n', None, []),
        (b"\xff\xfe\n", b"\xff\xfe\n", []),
        (b'{"code":"\xff"}\n', b'{"code":"\xff"}\n', []),
        (b'{"data":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001 + b"\n", None, []),
        (b"10%\n", b"10%\n", []),
    ],
)
def test_a_line_is_a_message_or_log(
    printed: bytes, text: bytes | None, messages: list[Any]
) -> None:
    assert parsed(printed) == (printed if text is None else text, messages)


def test_a_script_may_print_percentages() -> None:
    found = parsed(b"at 5%\n 50% \nx\n100%", reads_percentages=True)
    assert found == (b"at 5%\nx\n", [{"progress": 0.5}, {"progress": 1.0}])


def test_messages_can_be_switched_off() -> None:
    assert parsed(b'{"code":0}\n', reads_messages=False) == (b'{"code":0}\n', [])


def test_a_broken_message_is_log_and_is_reported() -> None:
    found = JobOutput(Masker()).feed(b'{"code": 0\n{"code":0]}\nx\n')
    assert found.text == b'{"code": 0\n{"code":0]}\nx\n'
    assert found.broken == [b'{"code": 0', b'{"code":0]}']


def test_a_long_line_is_not_waited_for() -> None:
    output = JobOutput(Masker())
    assert output.feed(b"x" * (LONGEST_LINE + 1)).text
    assert output.is_within_line
    assert output.feed(b'{"code":0}\n').messages == []


def test_a_long_message_is_waited_for_and_one_that_is_too_long_is_log() -> None:
    output = JobOutput(Masker())
    assert output.feed(b'{"text":"' + b"x" * 1_000_000).text == b""
    assert len(output.feed(b'"}\n').messages) == 1
    assert len(output.feed(b'{"text":"' + b"x" * LONGEST_MESSAGE).text) > LONGEST_MESSAGE
    assert output.feed(b'"}\n').messages == []


def test_a_progress_bar_shows_its_steps() -> None:
    output = JobOutput(Masker())
    assert output.feed(b"1 %\r2 %\r3").text == b"1 %\r2 %\r"
    assert output.feed(b" %\r").text == b""
    assert output.feed(b"\nend\n").text == b"3 %\r\nend\n"


def test_a_long_line_is_cut_between_characters() -> None:
    output = JobOutput(Masker())
    content = "é".encode() * LONGEST_LINE
    text = output.feed(content[:-1]).text
    assert text.decode() == "é" * (LONGEST_LINE - 1)


PIECES = st.lists(
    st.sampled_from(
        [
            *(b"\n", b"\r", b"{", b"}", b'"', b" ", b"text", b'{"code":0}', b'{"xy":1,"q":2}\n'),
            *(b"hunter2", b"hun", b"ter2", b"50%\n", b"\xc3\xa9", b"\xff", b"x" * 70_000),
        ]
    ),
    max_size=12,
)


@given(PIECES, st.lists(st.integers(0, 400_000), max_size=4))
def test_it_does_not_matter_how_output_is_cut(pieces: list[bytes], cuts: list[int]) -> None:
    content = b"".join(pieces)
    places = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    chunks = [content[a:b] for a, b in pairwise(places)]
    text, messages = parsed(*chunks, secrets=("hunter2",), reads_percentages=True)
    whole, all_messages = parsed(content, secrets=("hunter2",), reads_percentages=True)
    assert b"hunter2" not in text
    if max(map(len, content.split(b"\n"))) < LONGEST_LINE and b"\r" not in content:
        assert (text, messages) == (whole, all_messages)


@given(st.integers(0, 40))
def test_a_secret_is_found_across_the_cut_of_a_long_line(before: int) -> None:
    content = b"x" * (LONGEST_LINE - before) + b"hunter2" * 6 + b"x" * 100
    for cut in range(LONGEST_LINE - before, LONGEST_LINE - before + 42, 5):
        text, _ = parsed(content[:cut], content[cut:], secrets=("hunter2",))
        assert text == content.replace(b"hunter2", b"***")
