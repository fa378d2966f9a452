"""docs/media.md tells the truth: its tables work, and name every setting with its default."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import FieldInfo, fields

from watchbell.clock import SYSTEM
from watchbell.gateways import catalogue
from watchbell.gateways.medium import SendLimits
from watchbell.gateways.over_http import WideReach
from watchbell.gateways.webhook import signature
from watchbell.settings import Secret, Settings, Tables

PAGE = (Path(__file__).parents[2] / "docs" / "media.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", PAGE, re.MULTILINE))
OVER_HTTP = ["webhook", "slack", "pagerduty", "sms", "twilio", "vonage", "sns", "apprise"]
KINDS = ["email", "jabber", *OVER_HTTP]
each_kind = pytest.mark.parametrize("kind", KINDS)


def default(field: FieldInfo) -> str:
    if field.required:
        return "required"
    value: Any = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if isinstance(value, bool):
        return str(value).lower()
    return "empty" if isinstance(value, Secret | tuple) or value == "" else str(value)


@each_kind
def test_every_setting_of_a_kind_is_on_the_page_with_its_default(kind: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| `?([^`|]+?)`? \|", SECTIONS[kind], re.MULTILINE)
    common = {one.name for one in fields(WideReach if kind in OVER_HTTP else SendLimits)}
    own = [one for one in fields(catalogue.module(kind).Settings) if one.name not in common]
    assert dict(rows) == {field.name: default(field) for field in own}


@each_kind
def test_the_example_of_a_kind_can_be_opened(kind: str) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", SECTIONS[kind], re.DOTALL)
    tables = tomllib.loads(re.sub('"(file|env):[^"]*"', '"hush"', example))["gateways"]
    (medium,) = catalogue.configured(Settings(data=Path("/"), gateways=Tables(tables)))
    assert medium.kind == kind
    assert medium.open().limits.timeout


def test_the_check_of_a_signature_that_is_shown_works() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", SECTIONS["webhook"], re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    header = signature("hush", int(SYSTEM.now()), b"{}")
    assert names["is_genuine"]("hush", header, b"{}")
    assert not names["is_genuine"]("hush", header, b"{ }")
    assert not names["is_genuine"]("hush", signature("hush", 1, b"{}"), b"{}")
