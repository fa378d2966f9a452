"""Evaluates expressions on the last full sample of a server."""

from typing import Annotated, Any

import msgspec
from litestar import Router, post
from litestar.params import JSONBody
from msgspec import Meta, Struct

from watchbell.errors import Refused
from watchbell.expressions import Expression, ExpressionError, Template
from watchbell.fleet import permissions, samples, servers
from watchbell.fleet.monitoring import judgement, latest
from watchbell.fleet.monitoring.state import MonitorState
from watchbell.fleet.monitoring.values import Measured
from watchbell.web.access import needs
from watchbell.web.services import Asked, actor_of, services_of

_LONGEST = 20_000
"""Characters of a value that are shown."""


class ExpressionTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    server: Annotated[str, Meta(max_length=100)]
    """Its last full sample has the values."""
    text: Annotated[str, Meta(max_length=10_000)]
    is_message: bool = False
    """Whether the text is a message with `{{expressions}}` in it."""


class ExpressionTested(Struct, frozen=True, kw_only=True):
    value: str | None = None
    """The value as JSON, or the message; null if there is an error."""
    is_cut: bool = False
    """Whether the value is longer than what is shown."""
    is_true: bool = False
    """Whether an alert with this expression would count the sample."""
    error: str = ""
    position: int | None = None
    """The character at which the error is, counted from 1."""


@post("/expressions/evaluate", status_code=200, opt=needs("read"))
async def evaluate(request: Asked, data: JSONBody[ExpressionTest]) -> ExpressionTested:
    """Evaluate an expression, as alerts do, on the last full sample of a server.

    An expression that can't be evaluated is no error of the request: the answer says what is wrong,
    and where.
    """
    store = services_of(request).store
    permissions.check_readable(actor_of(request), await servers.get(store, data.server))
    sample = await samples.machine(store, data.server)
    if sample is None:
        raise Refused("this server has sent no full sample yet", field="server", code="no_sample")
    known = (await latest.states(store, [data.server])).get(data.server, MonitorState())
    seen = samples.expression_values(sample)
    try:
        return _trial(data, judgement.context(seen, Measured(known.values, known.deltas)))
    except ExpressionError as error:
        return ExpressionTested(error=error.problem, position=error.position)


def _trial(given: ExpressionTest, seen: dict[str, Any]) -> ExpressionTested:
    """Raises ExpressionError."""
    if given.is_message:
        text = Template.parse(given.text).render_strictly(seen)
        return ExpressionTested(value=text[:_LONGEST], is_cut=len(text) > _LONGEST)
    value = Expression.parse(given.text).evaluate(seen)
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return ExpressionTested(value=text[:_LONGEST], is_cut=len(text) > _LONGEST, is_true=bool(value))


ROUTES = Router("/", tags=["Servers"], route_handlers=[evaluate])
