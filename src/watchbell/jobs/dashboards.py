"""Dashboards: panels that people arrange from plots and lists."""

from typing import Literal

from msgspec import Struct

PanelType = Literal["plot", "servers", "checks", "alerts", "jobs", "crawls", "text"]
Span = Literal["hour", "day", "month", "year"]
Height = Literal["small", "medium", "large"]

COLUMNS = 6
"""Of a dashboard on a wide screen."""


class Panel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A plot, a list or a text. Panels follow each other in rows."""

    type: PanelType
    title: str = ""
    """Empty for the one that its content has."""
    width: int = 3
    """In columns."""
    height: Height = "medium"
    monitor: str = ""
    """Of a plot."""
    servers: tuple[str, ...] = ()
    """Of a plot; empty for those with the highest values now."""
    group: str = ""
    """Of servers: others are left out."""
    span: Span = "day"
    """The time range of a plot."""
    count: int = 5
    """How many servers or rows it shows at most."""
    filter: str = ""
    """Words of the checks, or the id of the jobs' event."""
    text: str = ""


class Dashboard(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    icon: str = ""
    notes: str = ""
    panels: tuple[Panel, ...] = ()
    username: str = ""
    created: int = 0
    modified: int = 0
    revision: int = 1
