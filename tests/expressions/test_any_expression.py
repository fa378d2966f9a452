"""Whatever the text and the values are: a value or an ExpressionError, and nothing else."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.expressions.trees import bare, trees, written
from watchbell.expressions import Expression, ExpressionError, Template, parser
from watchbell.expressions.functions import TABLE
from watchbell.expressions.nodes import Node
from watchbell.expressions.parser import PRECEDENCE

_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**300, 10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["1", "-2.5", "1e999", " 7 ", "[a", "a.b"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abc") | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=10,
)
_VALUES = st.fixed_dictionaries({"a": _JSON, "b": _JSON, "servers": _JSON})
_WORDS = [
    *PRECEDENCE,
    *(f"{name}(" for name in TABLE),
    *"()[]{}.,:?!-'\"",
    *("a", "b", ".a", "a[.", "1", "2.5", "'x'", "true", "null", "[a/b]", "{{", "}}", "\\", "é"),
]
_FAILING = {"+", "-", "*", "/", "//", "%", "^", "in"}
"""Comparisons never fail."""
_TEXTS = st.text(max_size=30) | st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)


@given(trees())
def test_a_tree_is_parsed_from_its_text(tree: Node) -> None:
    assert bare(parser.parsed(written(tree)).tree) == bare(tree)


def outcome(text: str, values: dict[str, Any]) -> tuple[Any, ExpressionError | None]:
    try:
        return Expression.parse(text).evaluate(values), None
    except ExpressionError as error:
        return None, error


@given(_TEXTS, _VALUES)
def test_any_text_is_evaluated_or_refused_at_a_place_in_it(text: str, values: Any) -> None:
    _, error = outcome(text, values)
    if error is not None:
        line, caret = error.pointer().split("\n")
        assert 1 <= error.position <= len(text) + 1
        assert caret.strip() == "^"
        assert len(caret) <= len(line) + 1


@given(trees(), _VALUES)
def test_an_evaluation_leaves_its_values_as_they_are(tree: Node, values: Any) -> None:
    before = json.dumps(values)
    outcome(written(tree), values)
    assert json.dumps(values) == before


@settings(max_examples=300)
@given(st.sampled_from(sorted(TABLE)), st.lists(_JSON, min_size=3, max_size=3), _JSON)
def test_any_values_are_given_to_any_function(name: str, given: list[Any], servers: Any) -> None:
    function = TABLE[name]
    for count in range(function.least, min(function.most, len(given)) + 1):
        text = f"{name}({', '.join(f'v[{place}]' for place in range(count))})"
        found, error = outcome(text, {"v": given, "servers": servers})
        assert error is None or error.position == 1
        assert isinstance(found, None | bool | int | float | str | list | dict)


@settings(max_examples=300)
@given(st.sampled_from(sorted(PRECEDENCE)), _JSON, _JSON)
def test_any_values_are_given_to_any_operator(operator: str, left: Any, right: Any) -> None:
    found, error = outcome(f"a {operator} b", {"a": left, "b": right})
    assert error is None or (error.position, operator in _FAILING) == (3, True)
    assert operator in {"&&", "||"} or isinstance(found, None | bool | int | float | str)


@given(_TEXTS, _VALUES)
def test_any_message_is_rendered(text: str, values: Any) -> None:
    shown = Template.tolerant(f"before {{{{{text}}}}} {{{{a}}}}").render(values)
    assert shown.startswith("before ")


@given(st.text(max_size=20), _JSON)
def test_text_without_an_expression_is_left_as_it_is(text: str, value: Any) -> None:
    text = text.replace("{{", "")
    assert Template.parse(text).render({"a": value}) == text
