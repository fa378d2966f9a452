"""Regular expressions of people: what they find, and that none of them takes its time."""

import re
import subprocess
import sys
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import bare_environment
from watchbell.alerting import expressions
from watchbell.errors import Refused

SLOW = ["(a+)+$", "^(a|a)*$", "(a|aa)+$", "(.*a){20}$", "([a-z]+)*!", "^(([a-z])+.)+[A-Z]([a-z])+$"]


@pytest.mark.parametrize("expression", SLOW)
def test_no_expression_is_slow_on_any_text(expression: str) -> None:
    begun = process_time()  # of this process alone, however busy the machine is
    assert not expressions.compiled(expression)("a" * 1_000 + "\n")
    assert process_time() - begun < 5  # for ever, where it is tried by going back


@pytest.mark.parametrize(
    ("expression", "text", "found"),
    [
        ("^web-", "web-1", True),
        ("^web-", "my-web-1", False),
        ("web", "my-web-1", True),
        ("", "", True),
        ("WEB", "web", False),
        ("(?i)WEB", "web", True),
        ("(?i)äh", "ÄH", True),
        ("^.$", "ä", True),
        (r"^\p{Greek}+$", "αβγ", True),
        ("(?P<n>a)|(?<m>b)", "b", True),
        (r"\A10\.0\.0\.\d+\z", "10.0.0.17", True),
        (".", "\ud800", True),
        ("a.c", "a\nc", False),
        (r"a\0c", "a\0c", True),
    ],
)
def test_an_expression_is_looked_for_anywhere_in_a_text(
    expression: str, text: str, found: bool
) -> None:
    assert expressions.compiled(expression)(text) is found
    assert expressions.matches(expression, text) is found


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("(", r"missing \): \("),
        ("[a", r"missing \]: \[a"),
        ("(?=a)", r"\(\?="),
        ("(?!a)", r"\(\?!"),
        ("(?<=a)b", r"\(\?<="),
        (r"(a)\1", r"\\1"),
        ("(?>a)", r"\(\?>"),
        ("a{2000}", "size: .2000"),
        (r"\Z", r"\\Z"),
        (r"[\p{L}\p{N}]{900}", "too large"),
        ("\ud800", "it is no text"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(expression: str, says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        expressions.compiled(expression)
    assert "\n" not in str(refused.value)
    assert not expressions.matches(expression, "a")


@settings(deadline=None)
@given(st.text(), st.text())
@example("\\C", "ä")
@example("(?s).\\b", "\0")
def test_whatever_the_expression_and_the_text_it_is_found_or_not(
    expression: str, text: str
) -> None:
    assert expressions.matches(expression, text) in (True, False)


@settings(deadline=None)
@given(st.text("ab-.", max_size=5).map(re.escape), st.text("ab-.", max_size=8))
def test_letters_mean_themselves(expression: str, text: str) -> None:
    assert expressions.matches(expression, text) == (re.search(expression, text) is not None)


def test_nobody_waits_for_the_library_who_needs_no_expression() -> None:
    code = (
        "import sys, watchbell.alerting.rules, watchbell.alerting.patterns as p; p.compiled('*');"
    )
    code += "assert 're2' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=bare_environment(), check=True)
