"""Definitions as YAML: what is written is read back as it was."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.jobs import definition_files

_ODD = "0123456789_-+.:eExo \n\t#'\"|>&*!%@`,[]{}?=yesnoNU~\x85\u2028\r"
_TEXTS = st.one_of(st.text(), st.text(alphabet=_ODD))
_VALUES = st.recursive(
    st.one_of(_TEXTS, st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_TEXTS, inner, max_size=3)
    ),
)


def read(text: str) -> Any:
    (item,) = definition_files.load(text).items
    return item.values["params"]


@given(value=_VALUES)
def test_any_value_is_read_back_as_it_was_written(value: Any) -> None:
    text = definition_files.dump({"event": [{"id": "x", "params": {"value": value}}]})
    assert read(text) == {"value": value}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12:30", "12:30"),
        ("2026-01-02", "2026-01-02"),
        ("08", "08"),
        ("010", "010"),
        ("1_000", 1_000),
        ("0x10", 16),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("{5: a, on: b, ~: c, 2026-01-02: d}", {"5": "a", "on": "b", "~": "c", "2026-01-02": "d"}),
        ("-3", -3),
        ("1.5", 1.5),
        ("1.2.3", "1.2.3"),
        ("yes", True),
        ("~", None),
    ],
)
def test_what_people_write_is_what_they_mean(text: str, expected: Any) -> None:
    assert read(f"events: [{{id: x, params: {{value: {text}}}}}]") == {"value": expected}
