"""Messages with expressions: no failure may lose the message."""

import pytest

from watchbell.expressions import ExpressionError, Template
from watchbell.expressions.evaluation import LONGEST_TEXT

VALUES = {"load": [1.5], "name": "{{secret}}", "secret": "no", "text": "x" * 600_000}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("no expression } }} { [a/b]", "no expression } }} { [a/b]"),
        ("{{load[0]}}{{ load }}", "1.5[1.5]"),
        ("{{ {a: {b: 1}}.a }}}", '{"b":1}}'),
        ("{{'}}'}}", "}}"),
        ("{{\n name \n}}", "{{secret}}"),
        ("{{missing}}|{{true}}|{{2 / 1}}", "|true|2"),
    ],
)
def test_a_template_is_rendered(text: str, shown: str) -> None:
    assert Template.parse(text).render(VALUES) == shown
    assert Template.parse(text).render_strictly(VALUES) == shown


@pytest.mark.parametrize(
    ("text", "position", "shown"),
    [
        (
            "Load {{load[0}} !",
            14,
            "Load [error: expected an operator or ']', found '}', at column 14] !",
        ),
        ("a {{", 5, "a [error: expected a value, found the end, at column 5]"),
        ("{{}} b", 3, "[error: expected a value, found '}', at column 3] b"),
        ("{{1} } {{2}}", 4, "[error: expected an operator or '}}', found '}', at column 4]"),
    ],
)
def test_an_invalid_expression_is_refused_on_entry_and_shown_later(
    text: str, position: int, shown: str
) -> None:
    with pytest.raises(ExpressionError) as refused:
        Template.parse(text)
    assert refused.value.position == position
    assert Template.tolerant(text).render(VALUES) == shown


def test_an_expression_that_fails_leaves_the_rest_of_the_message() -> None:
    template = Template.parse("a {{-name}} b {{text + text}} c {{load[0]}}")
    assert template.render(VALUES) == (
        "a [error: expected a number, found the text '{{secret}}', at column 5] b "
        f"[error: the text is too long: more than {LONGEST_TEXT:,} characters, at column 22]"
        " c 1.5"
    )
    with pytest.raises(ExpressionError, match="at column 5"):
        template.render_strictly(VALUES)


def test_a_message_is_no_longer_than_a_text_may_be() -> None:
    shown = Template.parse("{{text}}" * 3).render(VALUES)
    assert len(shown) < LONGEST_TEXT
    assert shown.endswith("[error: the text is too long, at column 17]")


def test_only_so_many_expressions_are_accepted() -> None:
    text = "{{1}}" * 1_001
    with pytest.raises(ExpressionError, match="more than 1,000 expressions, at column 5001"):
        Template.parse(text)
    assert Template.tolerant(text).render({}) == "1" * 1_000 + "{{1}}"


def test_the_names_that_a_template_reads_are_known() -> None:
    assert Template.parse("{{a.b}} {{c}} {{server(d)}}").names == {"a", "c", "d", "servers"}
