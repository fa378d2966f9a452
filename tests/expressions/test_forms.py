"""What is not obvious about forms of the language, and what is refused, with its place."""

from typing import Any

import pytest

from watchbell.errors import Refused
from watchbell.expressions import Expression, ExpressionError

VALUES: dict[str, Any] = {
    "a": 1,
    "in_use": 3,
    "text": "abc",
    "empty": [],
    "list": [{"k": 1, "l": [1, 2]}, {"k": 2, "l": []}, "odd", None],
    "nested": [[1], [2]],
    "größe": 5,
    "7": "seven",
    "big": 10**30,
}


def value_of(text: str) -> Any:
    return Expression.parse(text).evaluate(VALUES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("  a\n+\t1 ", 2),
        (".5 + 1.5e1", 15.5),
        ("größe", 5),
        ("$missing", None),
        ("in_use", 3),
        ("1in[1]", True),
        (r"'it\'s \u00e9\t\d\\'", "it's é\t\\d\\"),
        (r"'\ud83d\ude00'", "😀"),
        (r"'\ud83d'", "�"),
        ("'}}' + \"'\"", "}}'"),
        ("[]", []),
        ("[1, 2,]", [1, 2]),
        ("{}", {}),
        ("{'a b': 1, c: [a]}", {"a b": 1, "c": [1]}),
        ("[a/b]", None),
        ("[a /b]", [None]),
        ("[1/2]", [0.5]),
        ("[a//2]", [0]),
        ("text[a/1]", "b"),
        ("list[0]", VALUES["list"][0]),
        ("list['0'].k", 1),
        ("list[-1]", None),
        ("list[0.5]", None),
        ("list[true] == list", True),
        ("list[.k].k", 1),
        ("list[.k > 1].k", 2),
        ("list[.l[. > 1]].k", 1),
        ("list[.k in [2, 3]][0].k", 2),
        ("list[.['k'] == 2][0].k", 2),
        ("list[!.k]", ["odd", None]),
        ("list[.k == a][.l].l[1]", 2),
        ("nested[.[0] == 2]", [[2]]),
        ("text[.k]", []),
        ("text.length", None),
        ("nested.k", None),
        ("a ? empty ? 1 : 2 : 3", 2),
        ("empty ?: a ? 2 : 3", 2),
        ("a ? : 2", 1),
        ("1 || 0 && 0", 1),
        ("0 && text * 2", 0),
        ("1 || text * 2", 1),
        ("!!a", True),
        ("--a", 1),
        ("!-a", False),
        ("2 ^ 3 ^ 2", 64),
        ("-2 ^ 2", 4),
        ("2 * 3 % 2", 2),
        ("1 - 2 - 3", -4),
        ("7.5 % 2", 1.5),
        ("(-8) ^ 0.5", None),
        ("0 ^ -1", None),
        ("1 % 0", None),
        ("big * big", 10**60),
        ("2 ^ -1", 0.5),
        ("'a' + null + true + 1.0 + [1]", "atrue1[1]"),
        ("null + null", None),
        ("1 < 2 == true", True),
        ("'b' > 'a'", True),
        ("null <= null", False),
        ("[1] < [2]", False),
        ("true == '1'", True),
        ("'true' == true", False),
        ("'' == 0", False),
        ("' 12 ' == 12", True),
        ("[1] == ['1']", True),
        ("{a: 1} == {a: 1, b: 2}", False),
        ("{a: 1} == [1]", False),
        ("null in [null]", True),
        ("null in 'null'", False),
        ("1 in 'a1'", True),
        ("1 in 5", False),
        ("min(null, 3, '2')", 2),
        ("min([])", None),
        ("sum(null)", 0),
        ("avg(1, 2)", 1.5),
        ("round(-2.5)", -2),
        ("clamp(5, null, 3)", 3),
        ("clamp(null, 0, 1)", None),
        ("count(null)", 0),
        ("find(null, 'a', 'b')", []),
        ("find(list, 'k', 2)[0].k", 2),
        ("sort([true, 'b', null, 'a', 2])", [None, True, 2, "a", "b"]),
        ("unique([1, 1.0, '1', [1], [1], null, null])", [1, "1", [1], None]),
        ("split('abc', '')", ["a", "b", "c"]),
        ("match(a, '1')", ["1"]),
        ("match('ab', '(x)?b')", ["b", None]),
        ("match('ab', 'x')", None),
        ("match('ab', 'a' + 'b')", ["ab"]),
        (r"match('über 5', '\p{L}+')", ["über"]),
        ("integer('x')", None),
        ("integer(-2.9)", -2),
        ("float('-0.5x')", -0.5),
        ("bytes(-2048)", "-2 KB"),
        ("bytes(null)", None),
        ("number(1234.5678)", "1,234.568"),
        ("pct(1, 0)", None),
        ("encode('ü/€')", "%C3%BC%2F%E2%82%AC"),
        ("stringify(null)", "null"),
        ("stringify({a: 'é'})", '{"a":"é"}'),
        ("server(5)", 5),
    ],
)
def test_a_form_has_its_value(text: str, value: Any) -> None:
    found = value_of(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 1, "expected a value, found the end"),
        ("1 +", 4, "expected a value, found the end"),
        ("(a", 3, "expected an operator or ')', found the end"),
        ("a b", 3, "expected an operator or the end, found 'b'"),
        ("a]", 2, "expected an operator or the end, found ']'"),
        ("[1 2]", 4, "expected an operator, ']' or ',', found '2'"),
        ("{1: 2}", 2, "expected a name or '}', found '1'"),
        ("{a 2}", 4, "expected ':', found '2'"),
        ("a ? 1", 6, "expected an operator or ':', found the end"),
        ("a.", 3, "expected a name after '.', found the end"),
        ("a = 1", 3, "expected '==', found '='"),
        ("a & b", 3, "expected '&&', found '&'"),
        ("text | upper", 6, "expected '||', found '|'"),
        ("'abc", 1, "expected a closing '"),
        ("a # b", 3, "expected a value or an operator, found '#'"),
        ("in a", 1, "expected a value, found 'in'"),
        (".a", 1, "'.' is only possible inside [ ], where it means the item"),
        ("[.a]", 2, "'.' is only possible inside [ ], where it means the item"),
        ("maxx(1)", 1, "there is no function maxx() (did you mean max()?)"),
        ("__import__('os')", 1, "there is no function __import__()"),
        ("text.upper()", 11, "a value has no functions: write upper(value)"),
        ("clamp(1)", 1, "clamp() takes 3 values, not 1"),
        ("min()", 1, "min() takes at least 1 value, not 0"),
        ("round(1, 2, 3)", 1, "round() takes 1 to 2 values, not 3"),
        ("1e999", 1, "the number is too large"),
        ("9" * 400, 1, "the number has too many digits"),
        ("match(a, '(')", 1, "the pattern is not valid: missing ): (; expected the syntax of RE2"),
        (
            r"match(a, '(a)\1')",
            1,
            "the pattern is not valid: invalid escape sequence: \\1; expected the syntax of RE2",
        ),
    ],
)
def test_an_invalid_expression_is_refused_at_its_place(
    text: str, position: int, problem: str
) -> None:
    with pytest.raises(ExpressionError) as refused:
        Expression.parse(text)
    assert (refused.value.position, refused.value.problem) == (position, problem)


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("a + 1 - text", 7, "expected a number, found the text 'abc'"),
        ("a * list", 3, "expected a number, found an array"),
        ("a * {}", 3, "expected a number, found an object"),
        ("-text", 1, "expected a number, found the text 'abc'"),
        ("10 ^ 400", 4, "the number is too large"),
        ("1e308 * 10", 7, "the number is too large"),
        ("max(1, text)", 1, "expected a number, found the text 'abc'"),
        ("1 + sum(a, text)", 5, "expected a number, found the text 'abc'"),
        ("keys(text)", 1, "expected an object, found a text"),
        ("sort(text)", 1, "expected an array, found a text"),
        ("sort([[1]])", 1, "expected numbers or texts to sort, found an array"),
        ("sort(list, 5)", 1, "expected the name of a key, found a number"),
        ("count(a)", 1, "expected an array, an object or a text, found a number"),
    ],
)
def test_an_evaluation_fails_at_its_place(text: str, position: int, problem: str) -> None:
    with pytest.raises(ExpressionError) as failed:
        value_of(text)
    assert (failed.value.position, failed.value.problem) == (position, problem)


def test_an_error_is_one_that_every_command_and_page_shows() -> None:
    with pytest.raises(Refused, match=r"^expected a value, found '\)', at column 10$") as refused:
        Expression.parse("cpu.x >= )")
    assert refused.value.reason == str(refused.value)


def test_an_error_points_at_its_line() -> None:
    with pytest.raises(ExpressionError, match=r"found '\*', at line 2, column 4$") as refused:
        Expression.parse("a +\nb +* c\n- d")
    assert refused.value.pointer() == "b +* c\n   ^"


def test_an_error_in_a_long_line_points_into_an_extract() -> None:
    text = "a + " * 200 + "* " + "b + " * 200
    with pytest.raises(ExpressionError) as refused:
        Expression.parse(text)
    line, caret = refused.value.pointer().split("\n")
    assert (len(line), line[len(caret) - 1]) == (100, "*")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cpu.avgLoad >= 50 && mounts.root.use > load[0]", {"cpu", "mounts", "load"}),
        ("list[.k == limit].l", {"list", "limit"}),
        ("[memory/total] + [1, b]", {"memory", "b"}),
        ("{a: 1}.a + 'x' + true", set()),
        ("server(id) + event('e')", {"servers", "id", "events"}),
    ],
)
def test_the_names_that_an_expression_reads_are_known(text: str, names: set[str]) -> None:
    assert Expression.parse(text).names == names


def test_nothing_but_the_values_is_within_reach() -> None:
    reached = [
        value_of(f"{start}{rest}")
        for start in ("a", "text", "list", "empty", "{}", "list[0]")
        for rest in (".__class__", "['__class__']", ".__class__.__mro__[1]", ".get", ".real")
    ]
    assert set(reached) == {None}
