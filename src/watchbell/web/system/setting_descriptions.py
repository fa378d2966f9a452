"""Descriptions of settings: their docstrings in `watchbell.settings.sections`."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from watchbell.settings import sections


@cache
def descriptions() -> dict[str, str]:
    """By the setting's name, as `web.port`."""
    tree = ast.parse(inspect.getsource(sections))
    tables = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return dict(_of(tables["Settings"], tables, ""))


def _of(
    table: ast.ClassDef, tables: dict[str, ast.ClassDef], prefix: str
) -> Iterator[tuple[str, str]]:
    for field, after in pairwise([*table.body, ast.Pass()]):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        name = prefix + field.target.id
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            yield name, " ".join(str(after.value.value).split())
        kind = field.annotation
        if isinstance(kind, ast.Name) and kind.id in tables:
            yield from _of(tables[kind.id], tables, f"{name}.")
