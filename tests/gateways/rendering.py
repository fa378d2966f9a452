"""Alerts as the messages that a medium would send."""

import importlib
from collections.abc import Callable

import pytest

from watchbell.alerting.model import Alert
from watchbell.gateways.alert_messages import AlertRenderer
from watchbell.gateways.medium import Medium
from watchbell.gateways.message_texts import open_texts


def no_link(alert: Alert) -> str:  # noqa: ARG001
    return ""


def renderer(medium: Medium, link: Callable[[Alert], str] = no_link) -> AlertRenderer:
    """Renders by the built-in templates of the medium's kind."""
    style = importlib.import_module(type(medium).__module__).STYLE
    return AlertRenderer(open_texts("medium", style, "", link, pytest.fail), medium.form)
