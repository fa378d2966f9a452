"""Every expression ends soon, whatever it is given: what is bounded is counted, not timed."""

from collections.abc import Callable
from typing import Any

import pytest

from watchbell.expressions import Expression, ExpressionError, compiler, parser
from watchbell.expressions.evaluation import LONGEST_TEXT, STEPS, Evaluation
from watchbell.expressions.parser import DEEPEST
from watchbell.expressions.tokens import LONGEST

_SERVER = [{"pid": pid, "command": f"worker {pid}", "cpu": pid % 7} for pid in range(1_000)]
_VALUES: dict[str, Any] = {
    "numbers": list(range(200_000)),
    "objects": [{"a": n, "s": f"process {n}"} for n in range(20_000)],
    "texts": [f"text {n}" for n in range(20_000)],
    "some": list(range(2_000)),
    "long": "ab" * 400_000,
    "longer": "a" * (LONGEST_TEXT + 1),
    "huge": 10**5_000,
    "keys": {f"key {n}": n for n in range(200_000)},
}


def steps_of(text: str, values: dict[str, Any] = _VALUES) -> tuple[int, str]:
    """What an evaluation was charged, and why it failed."""
    run = Evaluation(values)
    try:
        compiler.compiled(text, parser.parsed(text).tree)(run)
    except ExpressionError as error:
        return run.steps, error.problem
    return run.steps, ""


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "(" * 100_000 + "1" + ")" * 100_000,
        "{a:" * 100_000,
        "a[" * 100_000,
        "a[.b" * 100_000,
        "min(" * 100_000,
        "1?" * 100_000,
        "1?:" * 100_000,
        "1||1&&1==1+1*1^(" * 10_000,
    ],
    ids=lambda text: text[:12],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match=f"nested deeper than {DEEPEST} levels, at column"):
        Expression.parse(text)


def deeper(frames: int, run: Callable[[], Any]) -> Any:
    """What `run` returns if so many more calls are active."""
    return deeper(frames - 1, run) if frames else run()


@pytest.mark.parametrize(
    "text",
    [
        "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1),
        "{a:" * (DEEPEST - 1) + "1" + "}" * (DEEPEST - 1),
        "min(" * (DEEPEST - 1) + "1" + ")" * (DEEPEST - 1),
        "1||1&&1==1+1*1^(" * (DEEPEST // 7) + "1" + ")" * (DEEPEST // 7),
        "[1][. && " * (DEEPEST // 2 - 1) + "." + "]" * (DEEPEST // 2 - 1),
    ],
    ids=lambda text: text[:12],
)
def test_the_deepest_nesting_leaves_room_for_its_callers(text: str) -> None:
    deeper(300, lambda: Expression.parse(text).evaluate({}))


@pytest.mark.parametrize(
    "text",
    [
        "1" + "+1" * 100_000,
        "!" * 100_000 + "1",
        "a" + ".b" * 100_000,
        "a" + "[0]" * 100_000,
        "'" + "x" * 100_000 + "'",
        "a" * 100_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_long_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match=f"longer than {LONGEST:,} characters, at column 1$"):
        Expression.parse(text)


@pytest.mark.parametrize(
    ("part", "times"), [("+1", 4_999), ("^1", 4_999), ("||0", 3_300), ("[0]", 3_300), (".b", 4_990)]
)
def test_the_longest_chains_are_evaluated(part: str, times: int) -> None:
    Expression.parse("1" + part * times).evaluate({})


def test_the_deepest_nesting_is_evaluated() -> None:
    levels = DEEPEST - 1
    assert Expression.parse("(" * levels + "7" + ")" * levels).evaluate({}) == 7
    nested = Expression.parse("[1][. && " * (levels // 2) + "2" + "]" * (levels // 2))
    assert nested.evaluate({}) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "numbers[. > 3]",
        "objects[.a > 3 && .s != 'x']",
        "some[. in numbers]",
        "some[. > count(some[. > 5])]",
        "some[. in some[. in some[. > 1]]]",
        "objects[match(.s, '(x+x+)+y')]",
        "texts[match(., . + '$')]",
        "match(long, '[ab]*a([ab]{200})b')",
        "match(long, '(a?){300}a{300}')",
        "sum(numbers)",
        "min(numbers)",
        "sort(numbers)",
        "unique(numbers)",
        "join(numbers)",
        "stringify(numbers)",
        "'' + numbers",
        "find(numbers, 'a', 'b')",
        "keys(keys)",
        "values(keys)",
        "numbers == numbers",
        "1 in numbers",
        "split(long, '')",
        "encode(long)",
        "some[. > 1 && 'x' in long]",
        "texts[. > 1 && lower(long) == 'x']",
        "texts[stringify(some) == .]",
    ],
)
def test_work_that_grows_with_the_values_ends(text: str) -> None:
    steps, problem = steps_of(text)
    assert problem.startswith("too much work: more than 100,000 steps")
    assert steps > STEPS


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("longer + 'a'", "the text is too long: more than 1,000,000 characters"),
        ("lower(longer)", "the text is too long: more than 1,000,000 characters"),
        ("join([long, long])", "the text is too long: more than 1,000,000 characters"),
        ("stringify([long, long])", "the text is too long: more than 1,000,000 characters"),
        ("'x'" + " + long" * 9, "the text is too long: more than 1,000,000 characters"),
        ("9 ^ 9 ^ 9 ^ 9", "the number is too large"),
        ("2 ^ 99999999999999999999", "the number is too large"),
        ("huge + 1", "the number is too large"),
        ("'' + huge", "the number is too large"),
        ("stringify([huge])", "the number is too large"),
        ("number(huge)", "the number is too large"),
        ("sum(huge, 0.5)", "the number is too large"),
        ("-huge ^ 2", "the number is too large"),
        (f"match(long, '{'a' * 1_001}')", "the pattern is longer than 1,000 characters"),
        (r"match(long, '(\pL{50}){10}')", "the pattern is not valid: pattern too large"),
        (" + ".join([r"match(long, '\pL{9}')"] * 20), "the patterns of the expression are too"),
    ],
)
def test_what_would_be_too_large_is_refused(text: str, problem: str) -> None:
    assert steps_of(text)[1].startswith(problem)


def test_values_nested_deeply_are_compared_and_written_without_recursion() -> None:
    left: list[Any] = []
    right: list[Any] = []
    for _ in range(20_000):
        left, right = [left], [right]
    values = {"left": left, "right": right}
    assert Expression.parse("left == right").evaluate(values) is True
    with pytest.raises(ExpressionError, match="nested deeper than 100 levels"):
        Expression.parse("stringify(left)").evaluate(values)


def test_a_number_that_is_too_large_is_no_key() -> None:
    assert steps_of("keys[huge] == null && server(huge) == huge && !(huge in keys)") == (0, "")
    assert Expression.parse("keys[huge]").evaluate(_VALUES) is None


def test_steps_say_what_was_done() -> None:
    """A filter costs its items times its size; one inside of it costs that for every item."""
    values = {"list": [1, 2, 3]}
    assert steps_of("list[. > 1]", values) == (3 * 4, "")
    assert steps_of("list[. && list[. > 1]]", values) == (3 * 8 + 3 * 3 * 4, "")


def test_what_people_write_for_a_large_server_is_far_below_the_limit() -> None:
    values = {"processes": {"list": _SERVER}}
    for text in (
        "count(processes.list[.cpu > 3 && .command != 'x'])",
        "find(processes.list, 'command', 'worker 99')[0].pid",
        "sort(processes.list, '-cpu')[0].command",
        "processes.list[match(.command, '^worker [0-9]+$')].pid",
    ):
        steps, problem = steps_of(text, values)
        assert (problem, steps < STEPS / 3) == ("", True), text
