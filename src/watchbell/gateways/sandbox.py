"""The sandbox of people's templates: it bounds their steps, their output and what they may call."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from jinja2 import StrictUndefined, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import BlockReference, LoopContext, Macro, markup_join, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from watchbell.gateways import bounded_filters
from watchbell.gateways.bounded_filters import check_format, metered
from watchbell.gateways.meter import (
    BITS,
    CHARACTERS_A_STEP,
    LONGEST_LIST,
    Meter,
    TooMuch,
    check_size,
    size,
)

SOURCE = 100_000
_STEPS_A_CALL = 10
_METHODS = {
    str: """
        capitalize casefold count endswith find isdigit isnumeric lower lstrip partition
        removeprefix removesuffix rpartition rsplit rstrip split splitlines startswith strip
        swapcase title upper
    """,
    dict: "get items keys values",
    LoopContext: "changed cycle",
}


class Sandbox(ImmutableSandboxedEnvironment):
    """Templates whose renders end, whatever is in them: with a text or with an error."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, filters: Mapping[str, Callable[..., Any]], **options: Any) -> None:
        self.meter = Meter()
        super().__init__(undefined=StrictUndefined, finalize=_written(self.meter), **options)
        self.globals = {"range": self._range, "namespace": self._namespace}
        self.filters = bounded_filters.filters(self.meter, filters)
        self.filters.update(_at_run_time(self.meter))
        tests = cast("Mapping[str, Callable[..., Any]]", TESTS)
        self.tests = {name: metered(self.meter, one) for name, one in tests.items()}

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
        meter.step(_STEPS_A_CALL + size(getattr(obj, "__self__", "")) // CHARACTERS_A_STEP)
        for value in (*args, *kwargs.values()):
            meter.sized(value)
        if not self.is_safe_callable(obj):
            raise SecurityError(f"{getattr(obj, '__name__', 'that')!r} can't be called here")
        result = super().call(context, obj, *args, **kwargs)
        return result if isinstance(result, Namespace) else meter.sized(result)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            check_format(left, right)
        elif operator in {"*", "**"}:
            _check_product(operator, left, right)
        return self.meter.sized(super().call_binop(context, operator, left, right))

    def _range(self, *args: int) -> range:
        wanted = range(*args)
        if len(wanted) > LONGEST_LIST:
            raise TooMuch(f"a range has more than {LONGEST_LIST:,} items")
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


def _at_run_time(meter: Meter) -> dict[str, Callable[..., Any]]:
    @pass_context
    def step(_: Any, written: int) -> None:
        meter.step()
        meter.write(written)

    @pass_context
    def sized(_: Any, value: Any) -> Any:
        return meter.sized(value)

    @pass_context
    def concat(context: Any, parts: list[Any]) -> str:
        meter.sized(parts)
        joins = markup_join if context.eval_ctx.autoescape else str_join
        return joins(parts)

    return {_STEP: step, _SIZED: sized, _CONCAT: concat}


def _check_product(operator: str, left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        bits = (
            left.bit_length() * right
            if operator == "**"
            else left.bit_length() + right.bit_length()
        )
        if bits > BITS:
            raise TooMuch(f"a number has more than {BITS} bits")
    elif not (isinstance(left, int | float) and isinstance(right, int | float)):
        count = right if isinstance(right, int) else left
        text = left if isinstance(right, int) else right
        if isinstance(count, int):
            check_size("a repeated text", count * max(size(text), 1))


_STEP, _SIZED, _CONCAT = "step on the meter", "size on the meter", "join on the meter"


class _Metering(NodeTransformer):
    """Each loop's turn, each test of a loop and each output is a step; each value that is put
    together, cut out or compared is sized."""

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

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:  # noqa: N802
        """The parts are sized before they are joined: there can be thousands of them."""
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return _filtered(parts, _CONCAT)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filtered(node.expr, _SIZED)
        for operand in node.ops:
            operand.expr = _filtered(operand.expr, _SIZED)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        return _filtered(node, _SIZED) if isinstance(node.arg, nodes.Slice) else node

    def _sized(self, node: nodes.Expr) -> nodes.Expr:
        self.generic_visit(node)
        if getattr(node, "ctx", "load") != "load":
            return node
        return _filtered(node, _SIZED)

    visit_List = visit_Tuple = visit_Dict = _sized  # noqa: N815


def _filtered(node: nodes.Expr, name: str) -> nodes.Expr:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _step(at: nodes.Node, written: int = 0) -> nodes.Expr:
    count = nodes.Const(written, lineno=at.lineno)
    return _filtered(count, _STEP)
