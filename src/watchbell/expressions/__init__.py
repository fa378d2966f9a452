"""The expression language of monitors, alerts, workflows and message templates."""

from watchbell.expressions.errors import ExpressionError
from watchbell.expressions.expression import Expression
from watchbell.expressions.template import Template

__all__ = ["Expression", "ExpressionError", "Template"]
