"""The graph of a workflow, as modules without a page: edits, undo, copies, layout and keys."""

import json
from itertools import combinations
from typing import Any

from playwright.async_api import Page

from tests.browser.visits import Visits
from tests.web.site import Site
from watchbell.web.assets import files

NAMES = ("graph", "history", "clipboard", "geometry", "navigation", "layout")
PRELUDE = """async ([modules, given]) => {
  const m = Object.assign({}, ...await Promise.all(modules.map((url) => import(url))));
"""


async def ran(page: Page, body: str, given: Any = None) -> Any:
    """What this JavaScript returns, in which `m` has all functions of the modules."""
    modules = [files().url(f"app/pages/workflow/{name}.js") for name in NAMES]
    return await page.evaluate(PRELUDE + body + "}", [modules, given])


def node(id_: str, kind: str = "job", x: int = 0, y: int = 0, **data: Any) -> dict[str, Any]:
    return {"id": id_, "type": kind, "data": data, "x": x, "y": y}


def wire(source: str, dest: str, **more: str) -> dict[str, Any]:
    return {"id": f"{source}-{dest}", "source": source, "dest": dest, **more}


GRAPH = {
    "nodes": [
        node("start", "trigger"),
        node("a", x=300),
        node("b", x=600),
        node("c", x=600, y=200),
        node("cap", "limit", 300, 100),
        node("note", "note", 300, -200),
    ],
    "connections": [
        wire("start", "a"),
        wire("a", "b", condition="success"),
        wire("a", "c", condition="error"),
        wire("a", "cap"),
    ],
}
REFUSED = [
    ("a", "a", "A node can't be connected to itself."),
    ("a", "nobody", "One of the nodes is missing."),
    ("a", "note", "Notes can't be connected."),
    ("b", "start", "Nothing leads to a trigger."),
    ("cap", "b", "Nothing follows a limit."),
    ("start", "cap", "A limit belongs to an event or a job."),
    ("a", "b", "They are connected already."),
    ("b", "a", "That would be a cycle."),
    ("b", "c", ""),
    ("b", "cap", ""),
    ("start", "b", ""),
]


async def test_a_graph_is_edited_and_edits_are_undone(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/account")
    found = await ran(
        page,
        """
        const steps = [given];
        const step = (graph) => steps.push(graph);
        step(m.addNode(steps.at(-1), {id: "d", type: "job", data: {}, x: 900, y: 0}));
        step(m.connect(steps.at(-1), {id: "b-d", source: "b", dest: "d"}));
        step(m.setCondition(steps.at(-1), "b-d", "complete"));
        step(m.moveNodes(steps.at(-1), new Set(["c", "d"]), 20, -40));
        step(m.setData(steps.at(-1), "d", {plugin: "shellplug"}));
        step(m.removeParts(steps.at(-1), new Set(["a", "b-d"])));
        let history = m.begin(steps[0]);
        for (const one of steps.slice(1)) history = m.record(history, one);
        const back = steps.map(() => { history = m.undo(history); return history.now; });
        const forth = steps.map(() => { history = m.redo(history); return history.now; });
        return {
          steps: steps.map((one) => JSON.stringify(one)),
          back: back.map((one) => steps.indexOf(one)),
          forth: forth.map((one) => steps.indexOf(one)),
        };
        """,
        GRAPH,
    )
    steps = [json.loads(one) for one in found["steps"]]
    assert steps[0] == GRAPH
    assert steps[3]["connections"][-1] == wire("b", "d", condition="complete")
    assert "condition" not in steps[2]["connections"][-1]
    places = {one["id"]: (one["x"], one["y"]) for one in steps[4]["nodes"]}
    assert (places["c"], places["d"], places["b"]) == ((620, 160), (920, -40), (600, 0))
    assert {one["id"] for one in steps[6]["nodes"]} == {"start", "b", "c", "cap", "note", "d"}
    assert steps[6]["connections"] == []
    last = len(steps) - 1
    assert found["back"] == [*range(last - 1, -1, -1), 0]
    assert found["forth"] == [*range(1, last + 1), last]


async def test_letters_typed_in_a_row_are_one_step_and_a_new_edit_ends_redo(
    site: Site, visit: Visits
) -> None:
    page = await visit(site, "viewer", "/account")
    found = await ran(
        page,
        """
        let history = m.begin("");
        for (const text of ["B", "Ba", "Bac"]) history = m.record(history, text, "title");
        history = m.record(history, "moved");
        const typed = m.undo(history);
        const again = m.record(typed, "other", "title");
        return [typed.now, m.undo(typed).now, again.future, m.undo(again).now];
        """,
    )
    assert found == ["Bac", "", [], "Bac"]


async def test_only_what_makes_sense_is_connected(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/account")
    pairs = [one[:2] for one in REFUSED]
    body = "return given[1].map(([from, to]) => m.refusal(given[0], from, to));"
    assert await ran(page, body, [GRAPH, pairs]) == [one[2] for one in REFUSED]


async def test_copies_have_new_ids_and_the_connections_between_them(
    site: Site, visit: Visits
) -> None:
    page = await visit(site, "viewer", "/account")
    graph, ids, text = await ran(
        page,
        """
        const text = m.write(m.partOf(given, new Set(["a", "b", "cap"])));
        const { graph, ids } = m.addPart(given, m.read(text), {x: 40, y: 40}, m.idsOf(given));
        return [graph, [...ids], text];
        """,
        GRAPH,
    )
    added = [one for one in graph["nodes"] if one["id"] in ids]
    assert [(one["type"], one["x"], one["y"]) for one in added] == [
        ("job", 340, 40),
        ("job", 640, 40),
        ("limit", 340, 140),
    ]
    assert ids == ["a_2", "b_2", "cap_2"]
    new = graph["connections"][4:]
    assert [one["id"] for one in new] == ["a_2_b_2", "a_2_cap_2"]
    assert len({one["id"] for one in graph["connections"]}) == 6
    assert [(ids.index(one["source"]), ids.index(one["dest"])) for one in new] == [(0, 1), (0, 2)]
    assert new[0]["condition"] == "success"
    others = ["", "null", "{}", "[1]", text.replace('"nodes"', '"no"'), '{"watchbell/workflow":1}']
    assert await ran(page, "return given.map(m.read);", others) == [None] * len(others)
    spoiled = json.loads(text)
    spoiled["nodes"] += [{"id": 7, "type": "job"}, {"id": "x", "type": "bomb", "x": 0, "y": 0}]
    spoiled["connections"] += [{"source": "x", "dest": "a"}, None]
    part = await ran(page, "return m.read(given);", json.dumps(spoiled))
    assert (len(part["nodes"]), len(part["connections"])) == (3, 2)


async def test_new_parts_have_ids_that_read_well_and_were_never_used(
    site: Site, visit: Visits
) -> None:
    page = await visit(site, "viewer", "/account")
    found = await ran(
        page,
        """
        const taken = m.idsOf(given);
        const bases = ["job", "job", "a", "a_2", "", "x".repeat(99)];
        const wired = () => m.newConnection(taken, "job", "b").id;
        return [...bases.map((base) => m.freeId(taken, base)), wired(), wired()];
        """,
        GRAPH,
    )
    assert found == [
        *("job", "job_2", "a_2", "a_3", "node_2", "x" * 59),
        *("job_b", "job_b_2"),
    ]


async def test_points_find_nodes_and_connections_in_any_view(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/account")
    found = await ran(
        page,
        """
        const view = m.zoomAt({x: 10, y: 20, scale: 1}, {x: 210, y: 120}, 0.5);
        const on = m.pointOn(m.curveOf(given.nodes[1], given.nodes[2]), 0.3);
        const fit = m.fitView(given.nodes, {width: 400, height: 300});
        const seen = m.boundsOf(given.nodes);
        return {
          kept: m.toGraph(view, {x: 210, y: 120}), scale: view.scale,
          least: m.zoomAt(view, {x: 0, y: 0}, 0.0001).scale,
          most: m.zoomAt(view, {x: 0, y: 0}, 99).scale,
          inside: m.nodeAt(given, {x: 310, y: 10})?.id,
          beside: m.nodeAt(given, {x: 290, y: 10})?.id ?? null,
          near: m.nodeAt(given, {x: 290, y: 10}, 12)?.id,
          line: m.connectionAt(given, {x: on.x, y: on.y + 4}, 6)?.id,
          none: m.connectionAt(given, {x: 0, y: 900}, 6) ?? null,
          marquee: m.nodesWithin(given, {x: 650, y: 250}, {x: 550, y: -10}).map((one) => one.id),
          fits: seen.width * fit.scale <= 400 && seen.height * fit.scale <= 300,
          snapped: [m.snap(29), m.snap(31), m.snap(-9)],
        };
        """,
        GRAPH,
    )
    assert found["kept"] == {"x": 200, "y": 100}
    assert (found["scale"], found["least"], found["most"]) == (0.5, 0.1, 2)
    assert (found["inside"], found["beside"], found["near"]) == ("a", None, "a")
    assert (found["line"], found["none"]) == ("a-b", None)
    assert found["marquee"] == ["b", "c"]
    assert found["fits"]
    assert found["snapped"] == [20, 40, 0]


async def test_arrow_keys_go_to_the_nearest_node_in_their_direction(
    site: Site, visit: Visits
) -> None:
    page = await visit(site, "viewer", "/account")
    found = await ran(
        page,
        """
        const go = (id, arrow, wanted) => m.neighbour(given, id, arrow, wanted);
        return [
          go("start", "ArrowRight"), go("a", "ArrowRight"), go("b", "ArrowDown"),
          go("c", "ArrowLeft"), go("start", "ArrowLeft"),
          go("start", "ArrowRight", (id) => id === "c"), go("gone", "ArrowUp"),
          m.readingOrder(given).map((one) => one.id),
        ];
        """,
        GRAPH,
    )
    assert found[:7] == ["a", "b", "c", "cap", None, "c", None]
    assert found[7] == ["start", "note", "a", "cap", "b", "c"]


async def test_a_layout_puts_steps_in_columns_without_overlaps(site: Site, visit: Visits) -> None:
    wide = [node(f"n{i}", y=i) for i in range(200)]
    tree = [wire(f"n{(i - 1) // 3}", f"n{i}") for i in range(1, 200)]
    joins = [wire(f"n{i}", "n199") for i in (100, 120, 198)]
    loop = [wire("n199", "n0")]
    graphs = [
        GRAPH,
        {"nodes": wide, "connections": tree + joins + loop},
        {"nodes": [], "connections": []},
        {"nodes": [node("only", "note", 5, 5)], "connections": []},
        {
            "nodes": [node("go", "trigger"), node("n", "note"), node("m", "note"), node("x")],
            "connections": [wire("go", "x")],
        },
    ]
    page = await visit(site, "viewer", "/account")
    body = """return given.map((graph) => {
      const placed = m.placeNodes(graph, m.arrange(graph));
      return placed.nodes.map((one) => ({id: one.id, type: one.type, ...m.boxOf(one)}));
    });"""
    first, large, none, single, written = await ran(page, body, graphs)
    assert not [(a["id"], b["id"]) for a, b in combinations(written, 2) if overlap(a, b)]
    assert none == []
    assert [(one["x"], one["y"]) for one in single] == [(5, 5)]
    for boxes in (first, large):
        places = {one["id"]: one for one in boxes}
        solid = [one for one in boxes if one["type"] != "note"]
        assert not [(a["id"], b["id"]) for a, b in combinations(solid, 2) if overlap(a, b)]
        assert all(one["y"] % 20 == 0 for one in solid)
    places = {one["id"]: one for one in first}
    assert places["start"]["x"] < places["a"]["x"] < places["b"]["x"] == places["c"]["x"]
    assert places["cap"]["y"] > places["a"]["y"]
    deep = {one["id"]: one["x"] for one in large}
    assert all(deep[one["source"]] < deep[one["dest"]] for one in tree + joins)


def overlap(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return bool(
        a["x"] < b["x"] + b["width"]
        and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"]
        and b["y"] < a["y"] + a["height"]
    )
