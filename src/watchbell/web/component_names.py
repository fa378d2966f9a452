"""Short names for the components of the API's description."""

import re
from collections.abc import Mapping
from typing import Any

_PREFIX = "#/components/schemas/"
_PAGE = re.compile(r"Page_(?:[\w.]*\.)?(\w+?)(?:View|Shown|Row)?_")


def short_name(name: str) -> str:
    """The framework writes a page of items as `Page_` with the path of the item's class."""
    page = _PAGE.fullmatch(name)
    if page is None:
        return name
    return "StringPage" if page[1] == "str" else f"{page[1]}Page"


def with_short_names(description: dict[str, Any]) -> dict[str, Any]:
    schemas: Mapping[str, Any] = description["components"]["schemas"]
    names = {name: short_name(name) for name in schemas}
    if len(set(names.values())) < len(names):
        raise ValueError(f"two components have the same short name: {sorted(names.values())}")
    renamed: dict[str, Any] = _rewritten(description, names)
    renamed["components"]["schemas"] = {
        names[name]: schema for name, schema in renamed["components"]["schemas"].items()
    }
    return renamed


def _rewritten(part: Any, names: Mapping[str, str]) -> Any:
    if isinstance(part, list):
        return [_rewritten(one, names) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _PREFIX + names[value.removeprefix(_PREFIX)]
        if key == "$ref"
        else _rewritten(value, names)
        for key, value in part.items()
    }
