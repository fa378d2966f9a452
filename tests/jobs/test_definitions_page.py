"""The page on definitions tells the truth."""

import re
from pathlib import Path
from typing import get_args

import msgspec

from watchbell.jobs import limit_rules, timing_rules, validation
from watchbell.jobs.action_rules import PROPERTIES, TRIGGERS
from watchbell.jobs.model import Action, Limit, Timing

PAGE = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text()
EVERYWHERE = {"type", "enabled", "id", "params", "tags"}
ABORTING = {"abort", "tags", "users", "email", "url", "text", "snapshot"}


def table(heading: str) -> dict[str, set[str]]:
    """The types of a table, with their properties."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) ?\| .* \|$", section, re.MULTILINE)
    return {kind: set(re.findall(r"`(\w+)`", properties)) for kind, properties in rows}


def test_its_example_is_valid() -> None:
    examples = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert examples
    for text in examples:
        validation.read("event", msgspec.json.decode(text))


def test_it_lists_all_timings_with_their_properties() -> None:
    listed = table("Timings")
    assert set(listed) == set(get_args(Timing.__annotations__["type"]))
    for kind, properties in listed.items():
        assert properties == set(timing_rules.properties(kind)) - EVERYWHERE


def test_it_lists_all_limits_with_their_properties() -> None:
    listed = table("Limits")
    assert set(listed) == set(get_args(Limit.__annotations__["type"]))
    for kind, properties in listed.items():
        assert properties == set(limit_rules.properties(kind)) - EVERYWHERE - ABORTING


def test_it_lists_all_actions() -> None:
    listed = table("Actions")
    assert set(listed) == set(get_args(Action.__annotations__["type"]))
    assert set().union(*listed.values()) <= set(PROPERTIES)
    assert all(f"`{trigger}`" in PAGE for trigger in TRIGGERS)
