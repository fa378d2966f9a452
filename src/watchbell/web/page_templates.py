"""The templates of pages; all values are escaped."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from watchbell.web.assets import files

_FOLDER = Path(__file__).with_name("templates")


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["files"] = files
    return environment


def page(name: str, **content: Any) -> bytes:
    return _templates().get_template(name).render(content).encode()
