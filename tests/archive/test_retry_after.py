"""What servers ask for with Retry-After."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.fetching.retry_after import retry_after

NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("1.5", 1.5),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
        ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
        ("Sun Nov  6 08:50:37 1994", 60),
        ("Sun, 06 Nov 1994 09:50:37 +0100", 60),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("99999999999", None),
        ("٣", None),
        ("Sun, 99 Foo 1994 99:99:99 GMT", None),
    ],
)
def test_seconds_and_dates_are_understood(text: str, seconds: float | None) -> None:
    assert retry_after(text, NOW) == seconds


@given(st.text(max_size=60) | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [-+\w]+"))
def test_any_text_gives_a_time_or_none(text: str) -> None:
    seconds = retry_after(text, NOW)
    assert seconds is None or seconds >= 0
