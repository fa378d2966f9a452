/** The state of a graph that is being edited, and everything that can be done to it. */

import { useMemo, useRef, useState } from "preact/hooks";
import { counted } from "../../words.js";
import { read, write } from "./clipboard.js";
import { boundsOf, boxOf, INDENT } from "./geometry.js";
import { addNode, addPart, connect, duplicate, freeId, GRID, idsOf, moveNodes, newConnection, nodeOf, partOf, placeNodes, refusal, removeParts, setCondition, setData, snap } from "./graph.js";
import { begin, record, redo, undo } from "./history.js";
import { arrange } from "./layout.js";
import { neighbour, readingOrder } from "./navigation.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").GraphNode} GraphNode
 * @typedef {import("./graph.js").NodeType} NodeType
 * @typedef {{source: string, target: string | null}} Aim
 * @typedef {ReturnType<typeof useEditor>} Editing
 */

const BESIDE = 300;
const BELOW = 100;
/** What was copied last, for browsers that keep pages from the clipboard. */
let copied = "";

/** @param {Graph} first */
export function useEditor(first) {
  const [history, setHistory] = useState(() => begin(first));
  const [wanted, setWanted] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
  const [pointed, setPointed] = useState(/** @type {string | null} */ (null));
  const [aim, setAim] = useState(/** @type {Aim | null} */ (null));
  const [said, setSaid] = useState("");
  const [isSnapping, setSnapping] = useState(true);
  const [version, setVersion] = useState(0);
  /** An id is never used for another node: what runs know of the old one would become its own. */
  const used = useRef(/** @type {Set<string> | null} */ (null));
  const taken = (used.current ??= idsOf(first));
  const graph = history.now;
  const selected = useMemo(() => existing(graph, wanted), [graph, wanted]);
  const current = pointed !== null && nodeOf(graph, pointed) ? pointed : null;
  // Without a selection, commands are about the node that has the focus.
  const chosen = selected.size > 0 || current === null ? selected : new Set([current]);
  const nodes = graph.nodes.filter((one) => chosen.has(one.id));

  const change = (/** @type {Graph} */ next, key = "") => setHistory((old) => record(old, next, key));
  const select = (/** @type {Iterable<string>} */ ids, /** @type {string | null} */ at = null) => {
    setWanted(new Set(ids));
    setPointed(at);
    setAim(null);
  };
  const selectNew = (/** @type {{graph: Graph, ids: Set<string>}} */ { graph: next, ids }, /** @type {string} */ verb) => {
    change(next);
    select(ids, [...ids][0] ?? null);
    setSaid(`${counted(ids.size, "node")} ${verb}.`);
  };

  return {
    graph, selected, chosen, current, nodes, aim, said, isSnapping,
    /** Changes whenever fields have to be drawn anew. */
    version,
    canUndo: history.past.length > 0, canRedo: history.future.length > 0,
    select, setSaid, setSnapping,
    undo() {
      setHistory(undo);
      setVersion(version + 1);
      setSaid("Undone.");
    },
    redo() {
      setHistory(redo);
      setVersion(version + 1);
      setSaid("Redone.");
    },
    /** Letters typed in a row are one step. @param {string} id @param {Record<string, any>} data @param {string} [field] */
    setData: (id, data, field = "") => change(setData(graph, id, data), `${id} ${field || Object.keys(data).filter((name) => data[name] !== nodeOf(graph, id)?.data[name]).join(" ")}`),
    /** @param {string} id @param {string} condition */
    setCondition: (id, condition) => change(setCondition(graph, id, condition)),
    /** @param {number} dx @param {number} dy @param {ReadonlySet<string>} [ids] @param {string} [key] */
    move: (dx, dy, ids = chosen, key = "") => change(moveNodes(graph, ids, dx, dy), key),
    /**
     * @param {NodeType} type @param {Record<string, any>} data @param {{x: number, y: number}} middle of what is shown
     * @param {string | null} [after] the node that leads to it
     */
    add(type, data, middle, after = null) {
      const source = after === null ? undefined : nodeOf(graph, after);
      const node = { id: freeId(taken, `${data.controller ?? data.timing?.type ?? type}_1`), type, data, ...freePlace(graph, type, source ?? nodes.at(-1), middle, source !== undefined) };
      const added = addNode(graph, node);
      const isConnected = source !== undefined && refusal(added, source.id, node.id) === "";
      change(isConnected ? connect(added, newConnection(taken, source.id, node.id)) : added);
      select([node.id], node.id);
      setSaid("Node added.");
      return node;
    },
    /** @param {ReadonlySet<string>} [ids] */
    remove(ids = chosen) {
      const next = removeParts(graph, ids);
      const gone = graph.nodes.length - next.nodes.length;
      const at = current && ids.has(current) ? (neighbour(graph, current, "ArrowLeft", (id) => !ids.has(id)) ?? next.nodes[0]?.id ?? null) : current;
      change(next);
      select([], at);
      setSaid(gone > 0 ? `${counted(gone, "node")} deleted.` : "Wire deleted.");
      return at;
    },
    duplicate: () => selectNew(duplicate(graph, chosen, taken), "duplicated"),
    /** @returns {string} the selected part as text; empty if nothing is selected */
    copy() {
      if (nodes.length === 0) return "";
      copied = write(partOf(graph, chosen));
      setSaid(`${counted(nodes.length, "node")} copied.`);
      return copied;
    },
    /** @param {string} [text] from the clipboard; by default what was copied here last @param {{x: number, y: number}} [middle] */
    paste(text = copied, middle = { x: 0, y: 0 }) {
      const part = read(text);
      const bounds = boundsOf(part?.nodes ?? []);
      if (!part || !bounds) {
        setSaid("The clipboard holds no part of a workflow.");
        return;
      }
      const corner = nodes[0] ? { x: nodes[0].x + 2 * GRID, y: nodes[0].y + 2 * GRID } : { x: middle.x - bounds.width / 2, y: middle.y - bounds.height / 2 };
      selectNew(addPart(graph, part, { x: snap(corner.x - bounds.x), y: snap(corner.y - bounds.y) }, taken), "pasted");
    },
    arrange() {
      change(placeNodes(graph, arrange(graph)));
      setSaid("Arranged.");
    },
    selectAll: () => select(graph.nodes.map((one) => one.id), current),
    /** @param {string} source @param {string | null} dest @param {boolean} [isByKey] then the node stays selected, and not the wire is */
    connect(source, dest, isByKey = false) {
      setAim(null);
      const reason = dest === null ? "" : refusal(graph, source, dest);
      if (dest === null || reason) {
        setSaid(reason);
        return;
      }
      const wire = newConnection(taken, source, dest);
      change(connect(graph, wire));
      select([isByKey ? source : wire.id], source);
      setSaid("Connected.");
    },
    /** Begins a wire that the keyboard draws. @param {string} source */
    startWire(source) {
      const targets = targetsOf(graph, source);
      const target = neighbour(graph, source, "ArrowRight", (id) => targets.includes(id)) ?? targets[0] ?? null;
      if (target === null) setSaid("There is no node that could follow this one.");
      else setAim({ source, target });
    },
    /** @param {string | null} target */
    aimAt: (target) => target !== null && setAim(aim && { ...aim, target }),
    endWire: () => setAim(null),
  };
}

/** The nodes to which a wire may lead, in reading order. @param {Graph} graph @param {string} source */
export function targetsOf(graph, source) {
  return readingOrder(graph).map((one) => one.id).filter((id) => refusal(graph, source, id) === "");
}

/** @param {Graph} graph @param {ReadonlySet<string>} ids @returns {ReadonlySet<string>} */
function existing(graph, ids) {
  const known = new Set([...graph.nodes, ...graph.connections].map((one) => one.id));
  return [...ids].every((id) => known.has(id)) ? ids : new Set([...ids].filter((id) => known.has(id)));
}

/**
 * Where a new node covers no other: beside the one it follows, or else below it.
 * @param {Graph} graph @param {NodeType} type @param {GraphNode | undefined} near @param {{x: number, y: number}} middle @param {boolean} isAfter
 */
function freePlace(graph, type, near, middle, isAfter) {
  const node = { id: "", type, data: {}, x: 0, y: 0 };
  const { width, height } = boxOf(node);
  const isBelow = type === "limit" || type === "action";
  const start = near
    ? { x: near.x + (isBelow ? INDENT : BESIDE), y: near.y + (isBelow ? BELOW - GRID : 0) }
    : { x: snap(middle.x - width / 2), y: snap(middle.y - height / 2) };
  let { y } = start;
  const isTaken = () => graph.nodes.some((one) => {
    const box = boxOf(one);
    return start.x < box.x + box.width && box.x < start.x + width && y < box.y + box.height + GRID / 2 && box.y < y + height + GRID / 2;
  });
  while (isTaken()) y += isAfter || isBelow ? 3 * GRID : 4 * GRID;
  return { x: start.x, y };
}

