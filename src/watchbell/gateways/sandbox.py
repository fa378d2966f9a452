"""The sandbox of people's templates: it bounds their steps, their output and what they may call."""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateRuntimeError, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.runtime import BlockReference, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

STEPS = 100_000
OUTPUT = 256 * 1024
"""Characters that a template may write, or hold in one value."""
SOURCE = 100_000
_LONGEST_LIST = 10_000
_BITS = 1_024
_CHARACTERS_A_STEP, _STEPS_A_CALL = 256, 10
_CONTAINERS = (dict, list, tuple, set)

# Those whose result is bounded by what they are given. Not among them: what pads or repeats by a
# number (`center`, `indent`, `batch`, `slice`, `round`, `wordwrap`), and what nobody needs here.
_FILTERS = """
    abs capitalize count d default dictsort e escape filesizeformat first float forceescape format
    groupby int items join last length list lower map max min reject rejectattr replace reverse
    safe select selectattr sort string striptags title tojson trim truncate unique upper urlencode
    urlize wordcount
"""
_METHODS = {
    str: """
        capitalize casefold count endswith find isdigit isnumeric lower lstrip partition
        removeprefix removesuffix rpartition rsplit rstrip split splitlines startswith strip
        swapcase title upper
    """,
    dict: "get items keys values",
    LoopContext: "changed cycle",
}
_WIDE = re.compile(r"%(?:\([^)]*\))?[^a-zA-Z%]*(?:\*|\d{3})")


class TooMuch(TemplateRuntimeError):
    """A template used up what one message may cost."""


class Meter:
    """What the present render may still use. A render never awaits, so there is one at a time."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.steps, self.output = STEPS, OUTPUT

    def step(self, count: int = 1) -> None:
        self.steps -= count
        if self.steps < 0:
            raise TooMuch(f"it takes more than {STEPS:,} steps; does it loop without end?")

    def write(self, characters: int) -> None:
        self.output -= characters
        if self.output < 0:
            raise TooMuch(f"it writes more than {OUTPUT // 1024} KiB")

    def counted(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            self.step()
            yield item

    def sized(self, value: Any) -> Any:
        """The value, if it is of a bearable size."""
        if hasattr(value, "__next__"):
            return self.counted(value)
        size = _size(value)
        items = len(value) if isinstance(value, _CONTAINERS) else 0
        self.step(items + size // _CHARACTERS_A_STEP)
        if size > OUTPUT:
            raise TooMuch(f"a value has more than {OUTPUT // 1024} KiB")
        return value


def _size(value: Any) -> int:
    """About how many characters the value has when it is written. Lists within lists count as
    often as they would be written, so they can't grow without end by holding each other."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(8 + _size(one) for one in value.values())
    if isinstance(value, _CONTAINERS):
        if len(value) > _LONGEST_LIST:
            raise TooMuch(f"a list has more than {_LONGEST_LIST:,} items")
        return sum(8 + _size(one) for one in value)
    if isinstance(value, Namespace):
        raise TooMuch("a namespace can't be a value; use what is in it")
    return 8


class Sandbox(ImmutableSandboxedEnvironment):
    """Templates whose renders end, whatever is in them: with a text or with an error."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, filters: Mapping[str, Callable[..., Any]], **options: Any) -> None:
        self.meter = Meter()
        super().__init__(undefined=StrictUndefined, finalize=_written(self.meter), **options)
        self.globals = {"range": self._range, "namespace": self._namespace}
        allowed = {**{name: FILTERS[name] for name in _FILTERS.split()}, **filters}
        self.filters = {name: self._metered(one) for name, one in allowed.items()}
        self.filters[_STEP], self.filters[_SIZED] = _at_run_time(self.meter)

    def compile(self, source: Any, *names: Any, **options: Any) -> Any:
        """With all that can be done over and over put on the meter."""
        if isinstance(source, str):
            if len(source) > SOURCE:
                raise TooMuch(f"the file has more than {SOURCE:,} characters")
            source = _Metering().visit(self.parse(source, *names[:2]))
            source.set_environment(self)
        return super().compile(source, *names, **options)

    def is_safe_callable(self, obj: Any) -> bool:
        if isinstance(obj, Macro | LoopContext | BlockReference | Undefined):
            return True
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        return owner is self or any(
            isinstance(owner, type_) and name in names.split() for type_, names in _METHODS.items()
        )

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        meter = self.meter
        meter.step(_STEPS_A_CALL + _size(getattr(obj, "__self__", "")) // _CHARACTERS_A_STEP)
        for value in (*args, *kwargs.values()):
            meter.sized(value)
        if not self.is_safe_callable(obj):
            raise SecurityError(f"{getattr(obj, '__name__', 'that')!r} can't be called here")
        result = super().call(context, obj, *args, **kwargs)
        return result if isinstance(result, Namespace) else meter.sized(result)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            left = _narrow(left)
        elif operator in {"*", "**"}:
            _check_product(operator, left, right)
        return self.meter.sized(super().call_binop(context, operator, left, right))

    def _metered(self, one: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(one)  # with the mark by which a filter asks for the environment
        def metered(*args: Any, **kwargs: Any) -> Any:
            for value in (*args, *kwargs.values()):
                if isinstance(value, (str, Namespace, *_CONTAINERS)):
                    self.meter.sized(value)
            self.meter.step()
            return self.meter.sized(bounded(*args, **kwargs))

        bounded = _BOUNDED.get(one, one)
        return metered

    def _range(self, *args: int) -> range:
        wanted = range(*args)
        if len(wanted) > _LONGEST_LIST:
            raise TooMuch(f"a range has more than {_LONGEST_LIST:,} items")
        return wanted

    def _namespace(self, **values: Any) -> Namespace:
        return Namespace(values)


# What asks for the context is not worked out while compiling.
def _written(meter: Meter) -> Callable[..., Any]:
    @pass_context
    def written(_: Any, value: Any) -> Any:
        if not isinstance(value, Undefined):
            meter.write(len(value if isinstance(value, str) else str(meter.sized(value))))
        return value

    return written


def _at_run_time(meter: Meter) -> tuple[Callable[..., Any], Callable[..., Any]]:
    @pass_context
    def step(_: Any, written: int) -> None:
        meter.step()
        meter.write(written)

    @pass_context
    def sized(_: Any, value: Any) -> Any:
        return meter.sized(value)

    return step, sized


def _join(eval_ctx: Any, value: Any, d: str = "", attribute: Any = None) -> Any:
    items = list(value)
    if sum(_size(item) + len(d) for item in items) > OUTPUT:
        raise TooMuch(f"a joined text has more than {OUTPUT // 1024} KiB")
    return FILTERS["join"](eval_ctx, items, d, attribute)


def _replace(eval_ctx: Any, s: str, old: str, new: str, count: int | None = None) -> Any:
    if len(s) + (str(s).count(old) * len(new)) > OUTPUT:
        raise TooMuch(f"a text after replacing has more than {OUTPUT // 1024} KiB")
    return FILTERS["replace"](eval_ctx, s, old, new, count)


def _format(value: str, *args: Any, **kwargs: Any) -> Any:
    return FILTERS["format"](_narrow(value), *args, **kwargs)


_BOUNDED: dict[Callable[..., Any], Callable[..., Any]] = {
    FILTERS["join"]: _join,
    FILTERS["replace"]: _replace,
    FILTERS["format"]: _format,
}


def _narrow(pattern: str) -> str:
    if _WIDE.search(pattern):
        raise TooMuch("a width of more than 99 characters in a format")
    return pattern


def _check_product(operator: str, left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        size = (
            left.bit_length() * right
            if operator == "**"
            else left.bit_length() + right.bit_length()
        )
        if size > _BITS:
            raise TooMuch(f"a number has more than {_BITS} bits")
    elif not (isinstance(left, int | float) and isinstance(right, int | float)):
        count = right if isinstance(right, int) else left
        text = left if isinstance(right, int) else right
        if isinstance(count, int) and count * max(_size(text), 1) > OUTPUT:
            raise TooMuch(f"a repeated text has more than {OUTPUT // 1024} KiB")


_STEP, _SIZED = "step on the meter", "size on the meter"


class _Metering(NodeTransformer):
    """Each loop's turn, each test of a loop and each output is a step; each value that is put
    together is sized."""

    def visit_Template(self, node: nodes.Template) -> nodes.Template:  # noqa: N802
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_step(node), lineno=node.lineno))
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802
        self.generic_visit(node)
        fixed = sum(len(one.data) for one in node.nodes if isinstance(one, nodes.TemplateData))
        empty = nodes.Const("", lineno=node.lineno)
        node.nodes.insert(0, nodes.Or(_step(node, fixed), empty, lineno=node.lineno))
        return node

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_step(node), lineno=node.lineno))
        if node.test is not None:
            stepped = nodes.Not(_step(node), lineno=node.lineno)
            node.test = nodes.And(stepped, node.test, lineno=node.lineno)
        return node

    def _sized(self, node: nodes.Expr) -> nodes.Expr:
        self.generic_visit(node)
        if getattr(node, "ctx", "load") != "load":
            return node
        return nodes.Filter(node, _SIZED, [], [], None, None, lineno=node.lineno)

    visit_Concat = visit_List = visit_Tuple = visit_Dict = _sized  # noqa: N815


def _step(at: nodes.Node, written: int = 0) -> nodes.Expr:
    count = nodes.Const(written, lineno=at.lineno)
    return nodes.Filter(count, _STEP, [], [], None, None, lineno=at.lineno)
