/**
 * Automatic layout in columns: each step is right of all that lead to it, and as level with its
 * neighbours as there is room.
 */

import { INDENT, sizeOf } from "./geometry.js";
import { GRID, isAttached, placeNodes, snap } from "./graph.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").GraphNode} GraphNode
 * @typedef {{node: GraphNode, attached: GraphNode[], height: number, before: Step[], after: Step[], column: number, y: number}} Step
 */

const COLUMN = 300;
const GAP = 2 * GRID;
const SWEEPS = 6;

/** Places for all nodes. @param {Graph} graph @returns {Map<string, {x: number, y: number}>} */
export function arrange(graph) {
  const steps = stepsOf(graph);
  const columns = columnsOf(steps);
  for (const column of columns) stack(column);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const column of columns.slice(1)) level(column, "before");
    for (const column of columns.slice(0, -1).reverse()) level(column, "after");
  }
  for (const column of columns.slice(1)) level(column, "before");
  return placesOf(graph, steps);
}

/** A graph that was written by hand has no places: all its nodes are at the same. @param {Graph} graph @returns {Graph} */
export function laidOut(graph) {
  const [first, ...others] = graph.nodes;
  return others.length > 0 && others.every((one) => one.x === first.x && one.y === first.y) ? placeNodes(graph, arrange(graph)) : graph;
}

/** @param {Graph} graph */
function stepsOf(graph) {
  const owner = new Map(graph.connections.map((one) => [one.dest, one.source]));
  const nodes = new Map(graph.nodes.map((one) => [one.id, one]));
  const isOwned = (/** @type {GraphNode} */ one) => isAttached(one.type) && nodes.has(owner.get(one.id) ?? "");
  /** @type {Map<string, Step>} */
  const steps = new Map();
  for (const node of graph.nodes) {
    if (node.type === "note" || isOwned(node)) continue;
    const attached = graph.nodes.filter((one) => isOwned(one) && owner.get(one.id) === node.id).sort((one, other) => one.y - other.y);
    const height = sizeOf(node).height + attached.reduce((sum, one) => sum + sizeOf(one).height + GRID, 0);
    steps.set(node.id, { node, attached, height, before: [], after: [], column: 0, y: node.y });
  }
  for (const { source, dest } of graph.connections) {
    const [from, to] = [steps.get(source), steps.get(dest)];
    if (from && to && from !== to) {
      from.after.push(to);
      to.before.push(from);
    }
  }
  return [...steps.values()];
}

/** The longest way to each step is its column; connections that lead back are ignored. @param {Step[]} steps */
function columnsOf(steps) {
  const [open, done] = [new Set(), new Set()];
  /** @type {Step[]} */
  const order = [];
  /** @type {Map<Step, Step[]>} */
  const onward = new Map();
  const visit = (/** @type {Step} */ step) => {
    if (done.has(step)) return;
    open.add(step);
    const next = step.after.filter((one) => !open.has(one));
    onward.set(step, next);
    next.forEach(visit);
    open.delete(step);
    done.add(step);
    order.unshift(step);
  };
  steps.filter((one) => one.before.length === 0).forEach(visit);
  steps.forEach(visit);
  for (const step of order) for (const next of onward.get(step) ?? []) next.column = Math.max(next.column, step.column + 1);
  const columns = Array.from({ length: Math.max(0, ...steps.map((one) => one.column + 1)) }, () => /** @type {Step[]} */ ([]));
  for (const step of [...steps].sort((one, other) => one.y - other.y || one.node.x - other.node.x)) columns[step.column]?.push(step);
  return columns;
}

/** @param {Step[]} column */
function stack(column) {
  let y = 0;
  for (const step of column) {
    step.y = y;
    y += step.height + GAP;
  }
}

/**
 * Orders a column by its neighbours, and puts each step as near to their middle as the others allow.
 * @param {Step[]} column @param {"before" | "after"} side
 */
function level(column, side) {
  const wanted = new Map(column.map((step) => [step, step[side].length ? step[side].reduce((sum, one) => sum + one.y, 0) / step[side].length : step.y]));
  const wish = (/** @type {Step} */ step) => wanted.get(step) ?? step.y;
  column.sort((one, other) => wish(one) - wish(other));
  let floor = -Infinity;
  for (const step of column) {
    step.y = Math.max(wish(step), floor);
    floor = step.y + step.height + GAP;
  }
  // Pushed down by those above: the whole column moves back by half of it.
  const pushed = column.reduce((sum, step) => sum + step.y - wish(step), 0) / Math.max(1, column.length);
  for (const step of column) step.y -= pushed;
}

/** @param {Graph} graph @param {Step[]} steps */
function placesOf(graph, steps) {
  const top = Math.min(...steps.map((one) => one.y));
  const places = new Map();
  for (const step of steps) {
    const x = step.column * COLUMN;
    let y = snap(step.y - top);
    places.set(step.node.id, { x, y });
    y += sizeOf(step.node).height + GRID;
    for (const one of step.attached) {
      places.set(one.id, { x: x + INDENT, y });
      y += sizeOf(one).height + GRID;
    }
  }
  for (const note of graph.nodes.filter((one) => one.type === "note")) places.set(note.id, uncovered(note, beside(note, steps, places), graph, places));
  return places;
}

/** Where a note would cover others, it moves up. @param {GraphNode} note @param {{x: number, y: number}} place @param {Graph} graph @param {Map<string, {x: number, y: number}>} places */
function uncovered(note, { x, y }, graph, places) {
  const { width, height } = sizeOf(note);
  const boxes = graph.nodes.flatMap((one) => {
    const at = places.get(one.id);
    return at ? [{ ...at, ...sizeOf(one) }] : [];
  });
  const covered = () => boxes.filter((one) => x < one.x + one.width && one.x < x + width && y < one.y + one.height && one.y < y + height);
  for (let found = covered(); found.length > 0; found = covered()) y = snap(Math.min(...found.map((one) => one.y)) - height - GRID);
  return { x, y };
}

/** A note keeps its distance to the nearest step. @param {GraphNode} note @param {Step[]} steps @param {Map<string, {x: number, y: number}>} places */
function beside(note, steps, places) {
  const away = (/** @type {Step} */ one) => Math.hypot(one.node.x - note.x, one.node.y - note.y);
  const nearest = steps.reduce((best, one) => (best && away(best) <= away(one) ? best : one), /** @type {Step | null} */ (null));
  const place = nearest && places.get(nearest.node.id);
  if (!nearest || !place) return { x: note.x, y: note.y };
  return { x: place.x + note.x - nearest.node.x, y: place.y + note.y - nearest.node.y };
}
