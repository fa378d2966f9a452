"""docs/expressions.md tells the truth: every example has the value that it says."""

import json
import re
from pathlib import Path

import pytest

from watchbell.expressions import Expression, Template
from watchbell.expressions.functions import TABLE
from watchbell.expressions.parser import PRECEDENCE

PAGE = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text()
VALUES = json.loads(PAGE.split("```json\n")[1].split("```")[0])


def tables(heading: str) -> list[tuple[list[str], list[str]]]:
    """The codes in the first two columns of tables with this heading."""
    rows = []
    for table in re.findall(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE):
        for line in table.splitlines():
            cells = re.split(r"(?<!\\)\|", line)
            codes = [re.findall(r"`((?:[^`])+)`", cell.replace(r"\|", "|")) for cell in cells[1:3]]
            rows.append((codes[0], codes[1]))
    return rows


EXAMPLES = [
    (expression, value)
    for expressions, values in tables("expression")
    if len(expressions) == len(values)
    for expression, value in zip(expressions, values, strict=True)
]


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) > 90


@pytest.mark.parametrize(("expression", "value"), EXAMPLES, ids=[each for each, _ in EXAMPLES])
def test_an_example_has_the_value_on_the_page(expression: str, value: str) -> None:
    found = Expression.parse(expression).evaluate(VALUES)
    assert json.dumps(found) == json.dumps(json.loads(value))


@pytest.mark.parametrize(("messages", "texts"), tables("message"), ids=lambda codes: codes[0])
def test_a_message_has_the_text_on_the_page(messages: list[str], texts: list[str]) -> None:
    assert [Template.parse(message).render(VALUES) for message in messages] == texts


def test_every_function_and_operator_is_on_the_page() -> None:
    shown = " ".join(expression for expression, _ in EXAMPLES)
    assert [name for name in TABLE if f"{name}(" not in shown] == []
    assert [symbol for symbol in PRECEDENCE if f" {symbol} " not in PAGE.replace("`", " ")] == []
