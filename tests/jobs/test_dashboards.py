"""Dashboards: what is accepted, and that they are kept like other definitions."""

from typing import Any

import pytest

from watchbell.actors import signed_in
from watchbell.errors import Changed, Refused
from watchbell.jobs import definition_removal, definitions, revisions, stock, validation
from watchbell.jobs.dashboards import Dashboard, Panel
from watchbell.store.client import Store

ALICE = signed_in("alice", "administrator")
NOW = 1_700_000_000
PLOT = {"type": "plot", "monitor": "cpu_usage"}


def read(*panels: Any) -> Dashboard:
    found = validation.read("dashboard", {"id": "d1", "title": "Night", "panels": list(panels)})
    assert isinstance(found, Dashboard)
    return found


def test_panels_come_back_in_their_order_and_with_defaults() -> None:
    found = read(PLOT, {"type": "text", "text": "Call Bob", "width": 6}, {"type": "checks"})
    assert found.panels == (
        Panel(type="plot", monitor="cpu_usage", width=3, height="medium", span="day", count=5),
        Panel(type="text", text="Call Bob", width=6),
        Panel(type="checks"),
    )


@pytest.mark.parametrize(
    ("panel", "field"),
    [
        ("text", "panels[0]"),
        ({}, "panels[0].type"),
        ({"type": "pie"}, "panels[0].type"),
        ({"type": "plot"}, "panels[0].monitor"),
        ({"type": "text", "text": " \n"}, "panels[0].text"),
        ({"type": "text", "text": "x" * 20_001}, "panels[0].text"),
        ({**PLOT, "width": 7}, "panels[0].width"),
        ({**PLOT, "width": 0}, "panels[0].width"),
        ({**PLOT, "height": "huge"}, "panels[0].height"),
        ({**PLOT, "span": "week"}, "panels[0].span"),
        ({**PLOT, "count": 11}, "panels[0].count"),
        ({**PLOT, "servers": [f"s{one}" for one in range(11)]}, "panels[0].servers"),
        ({**PLOT, "group": "a b"}, "panels[0].group"),
        ({"type": "checks", "count": 51}, "panels[0].count"),
        ({"type": "checks", "colour": "red"}, "panels[0].colour"),
    ],
)
def test_a_wrong_panel_is_refused_with_its_field(panel: Any, field: str) -> None:
    with pytest.raises(Refused) as refused:
        read(panel)
    assert refused.value.field == field


def test_there_are_not_more_panels_than_a_page_can_draw() -> None:
    with pytest.raises(Refused) as refused:
        read(*[PLOT] * 61)
    assert refused.value.field == "panels"


async def test_a_dashboard_is_kept_with_its_history(store: Store) -> None:
    await stock.ensure(store, NOW)
    given = {"title": "Night", "panels": [PLOT]}
    made = await definitions.create(store, "dashboard", given, ALICE, NOW)
    assert made.id.startswith("d")
    changed = {"panels": [PLOT, {"type": "jobs"}]}
    await definitions.update(store, "dashboard", made.id, changed, ALICE, NOW + 1, 1)
    with pytest.raises(Changed):
        await definitions.update(store, "dashboard", made.id, {"panels": []}, ALICE, NOW + 2, 1)
    restored = await revisions.restore(store, "dashboard", made.id, 1, ALICE, NOW + 3)
    assert isinstance(restored, Dashboard)
    assert [one.type for one in restored.panels] == ["plot"]


async def test_a_panel_keeps_a_monitor_that_was_deleted_and_gets_no_unknown_one(
    store: Store,
) -> None:
    await stock.ensure(store, NOW)
    given = {"id": "night", "title": "Night", "panels": [PLOT]}
    await definitions.create(store, "dashboard", given, ALICE, NOW)
    await definition_removal.remove(store, "monitor", "cpu_usage", ALICE, NOW)
    await definitions.update(store, "dashboard", "night", {"title": "Day"}, ALICE, NOW)
    changes = {"panels": [PLOT, {"type": "plot", "monitor": "moon"}]}
    with pytest.raises(Refused) as refused:
        await definitions.update(store, "dashboard", "night", changes, ALICE, NOW)
    assert refused.value.field == "panels[1].monitor"
