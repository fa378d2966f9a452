/**
 * A workflow while it is edited. Each trigger node holds its timing, so that undo covers both; the
 * timings without a node, such as periods in which it does not run, are kept apart.
 */

import { keyed, plain } from "../events/draft.js";
import { freeId, idsOf } from "./graph.js";
import { laidOut } from "./layout.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").GraphNode} GraphNode
 * @typedef {import("../events/draft.js").Item} Item
 */

export const LAUNCHING = ["manual", "schedule", "interval", "single", "continuous", "startup"];
const FIRST = { x: 0, y: 0 };
const BELOW = 100;

/** @param {any} event as stored; null for a new one @returns {{graph: Graph, modifiers: Item[]}} */
export function begin(event) {
  const timings = /** @type {any[]} */ (event?.timings ?? []);
  const launching = timings.filter((one) => LAUNCHING.includes(one.type));
  const nodes = /** @type {GraphNode[]} */ ((event?.workflow?.nodes ?? []).map((/** @type {any} */ one) => withTiming(one, timings)));
  const wires = /** @type {import("./graph.js").Connection[]} */ (event?.workflow?.connections ?? []);
  const taken = idsOf({ nodes, connections: wires });
  const named = new Set(nodes.map((one) => one.id));
  const connections = wires.map((one) => (named.has(one.id) ? { ...one, id: freeId(taken, one.id) } : one));
  const apart = launching.filter((one) => !nodes.some((node) => node.type === "trigger" && node.id === one.id));
  const triggers = event ? apart : [{ type: "manual" }];
  const lowest = Math.max(FIRST.y - BELOW, ...nodes.filter((one) => one.type === "trigger").map((one) => one.y));
  const added = triggers.map(({ id, ...timing }, place) => ({
    id: id && !taken.has(id) ? id : freeId(taken, `${timing.type}_1`), type: /** @type {const} */ ("trigger"), data: { timing }, x: FIRST.x, y: lowest + BELOW * (place + 1),
  }));
  return { graph: laidOut({ nodes: [...nodes, ...added], connections }), modifiers: timings.filter((one) => !LAUNCHING.includes(one.type)).map(keyed) };
}

/** @param {any} node @param {any[]} timings @returns {GraphNode} */
function withTiming(node, timings) {
  const whole = { ...node, data: node.data ?? {}, x: node.x ?? 0, y: node.y ?? 0 };
  if (node.type !== "trigger") return whole;
  const { id: _, ...timing } = timings.find((one) => one.id === node.id) ?? { id: "", type: "manual" };
  return { ...whole, data: { ...whole.data, timing } };
}

/** The part of the event that the API takes. @param {Graph} graph @param {Item[]} modifiers */
export function define(graph, modifiers) {
  const triggers = graph.nodes.filter((one) => one.type === "trigger");
  const timing = (/** @type {GraphNode} */ one) => ({ ...plain({ key: 0, ...one.data.timing }), id: one.id });
  return {
    timings: [...modifiers.map(plain), ...triggers.map(timing)],
    workflow: { nodes: graph.nodes.map(stored), connections: graph.connections },
  };
}

/** @param {GraphNode} node */
function stored({ id, type, data, x, y }) {
  const { timing: _, ...rest } = data;
  return { id, type, data: plain({ key: 0, type: "", ...rest }), x: Math.round(x), y: Math.round(y) };
}

/**
 * The node that a field of the API belongs to.
 * @param {string} field such as `workflow.nodes[3].data.event` or `timings[0].hours`
 * @param {Graph} graph @param {number} modifiers how many timings have no node
 */
export function nodeOfField(field, graph, modifiers) {
  const [, kind, place] = /^(workflow\.nodes|timings)\[(\d+)\]/.exec(field) ?? [];
  if (kind === "timings") return graph.nodes.filter((one) => one.type === "trigger")[Number(place) - modifiers];
  return kind ? graph.nodes[Number(place)] : undefined;
}

/** How the API names the data of a node, and the timing of a trigger. @param {Graph} graph @param {string} id @param {number} modifiers */
export function pathsOf(graph, id, modifiers) {
  const trigger = graph.nodes.filter((one) => one.type === "trigger").findIndex((one) => one.id === id);
  return { data: `workflow.nodes[${graph.nodes.findIndex((one) => one.id === id)}].data`, timing: `timings[${modifiers + trigger}]` };
}
