/** Where nodes and connections are drawn, and what is at a point. Sizes are in units of the graph. */

import { isAttached } from "./graph.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").GraphNode} GraphNode
 * @typedef {{x: number, y: number}} Point
 * @typedef {{x: number, y: number, width: number, height: number}} Box
 * @typedef {{x: number, y: number, scale: number}} View where the origin of the graph is shown, in pixels
 * @typedef {[Point, Point, Point, Point]} Curve
 */

const STEP = { width: 200, height: 60 };
const SMALL = { width: 160, height: 40 };
const NOTE = { width: 240, height: 120 };
/** How far what is attached stands in from its node. */
export const INDENT = 40;
const MARGIN = 40;
const READABLE = 0.7;
export const LEAST_SCALE = 0.1;
export const MOST_SCALE = 2;

/** @param {GraphNode} node */
export function sizeOf(node) {
  if (node.type === "note") return NOTE;
  return isAttached(node.type) ? SMALL : STEP;
}

/** @param {GraphNode} node @returns {Box} */
export function boxOf(node) {
  return { x: node.x, y: node.y, ...sizeOf(node) };
}

/** A connection: to the right between steps, and round a corner to what is attached. @param {GraphNode} from @param {GraphNode} to @returns {Curve} */
export function curveOf(from, to) {
  const end = { x: to.x, y: to.y + sizeOf(to).height / 2 };
  if (!isAttached(to.type)) return curveTo(from, end);
  const corner = { x: from.x + INDENT / 2, y: end.y };
  return [{ x: corner.x, y: from.y + sizeOf(from).height }, corner, corner, end];
}

/** To any point. @param {GraphNode} from @param {Point} end @returns {Curve} */
export function curveTo(from, end) {
  const { width, height } = sizeOf(from);
  const start = { x: from.x + width, y: from.y + height / 2 };
  const along = end.x - start.x;
  const bend = along > 0 ? Math.max(along / 2, Math.min(40, Math.abs(end.y - start.y))) : Math.max(60, -along / 2);
  return [start, { x: start.x + bend, y: start.y }, { x: end.x - bend, y: end.y }, end];
}

/** As the `d` of an SVG path. @param {Curve} curve */
export function pathOf([a, b, c, d]) {
  return `M${a.x} ${a.y}C${b.x} ${b.y} ${c.x} ${c.y} ${d.x} ${d.y}`;
}

/** @param {Curve} curve @param {number} at from 0 to 1 @returns {Point} */
export function pointOn([a, b, c, d], at) {
  const rest = 1 - at;
  const [i, j, k, l] = [rest ** 3, 3 * rest ** 2 * at, 3 * rest * at ** 2, at ** 3];
  return { x: i * a.x + j * b.x + k * c.x + l * d.x, y: i * a.y + j * b.y + k * c.y + l * d.y };
}

/**
 * The uppermost node at a point.
 * @param {Graph} graph @param {Point} point @param {number} [around] how far outside still counts
 */
export function nodeAt(graph, point, around = 0) {
  return graph.nodes.findLast((one) => {
    const { x, y, width, height } = boxOf(one);
    return point.x >= x - around && point.x <= x + width + around && point.y >= y - around && point.y <= y + height + around;
  });
}

/** The connection nearest to a point, not farther than `around`. @param {Graph} graph @param {Point} point @param {number} around */
export function connectionAt(graph, point, around) {
  const nodes = new Map(graph.nodes.map((one) => [one.id, one]));
  let [nearest, least] = [/** @type {import("./graph.js").Connection | undefined} */ (undefined), around];
  for (const one of graph.connections) {
    const [from, to] = [nodes.get(one.source), nodes.get(one.dest)];
    const distance = from && to ? distanceTo(curveOf(from, to), point) : Infinity;
    if (distance <= least) [nearest, least] = [one, distance];
  }
  return nearest;
}

/** @param {Curve} curve @param {Point} point */
function distanceTo(curve, point) {
  const steps = 24;
  let least = Infinity;
  let last = curve[0];
  for (let i = 1; i <= steps; i += 1) {
    const next = pointOn(curve, i / steps);
    least = Math.min(least, distanceToLine(last, next, point));
    last = next;
  }
  return least;
}

/** @param {Point} a @param {Point} b @param {Point} point */
function distanceToLine(a, b, point) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const square = dx * dx + dy * dy;
  const at = square === 0 ? 0 : Math.min(1, Math.max(0, ((point.x - a.x) * dx + (point.y - a.y) * dy) / square));
  return Math.hypot(point.x - a.x - at * dx, point.y - a.y - at * dy);
}

/** @param {GraphNode[]} nodes @returns {Box | null} */
export function boundsOf(nodes) {
  if (nodes.length === 0) return null;
  const boxes = nodes.map(boxOf);
  const x = Math.min(...boxes.map((one) => one.x));
  const y = Math.min(...boxes.map((one) => one.y));
  const right = Math.max(...boxes.map((one) => one.x + one.width));
  const bottom = Math.max(...boxes.map((one) => one.y + one.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** Nodes inside a box or on its edge. @param {Graph} graph @param {Point} a @param {Point} b opposite corners */
export function nodesWithin(graph, a, b) {
  const [left, right] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
  const [top, bottom] = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
  return graph.nodes.filter((one) => {
    const { x, y, width, height } = boxOf(one);
    return x <= right && x + width >= left && y <= bottom && y + height >= top;
  });
}

/** A view that shows all nodes, not enlarged. @param {GraphNode[]} nodes @param {{width: number, height: number}} frame @returns {View} */
export function fitView(nodes, frame) {
  const bounds = boundsOf(nodes);
  if (!bounds || frame.width <= 0 || frame.height <= 0) return { x: MARGIN, y: MARGIN, scale: 1 };
  const fits = Math.min((frame.width - MARGIN) / bounds.width, (frame.height - MARGIN) / bounds.height);
  const scale = Math.min(1, Math.max(LEAST_SCALE, fits));
  return {
    x: (frame.width - bounds.width * scale) / 2 - bounds.x * scale,
    y: (frame.height - bounds.height * scale) / 2 - bounds.y * scale,
    scale,
  };
}

/** The view to begin with: all nodes, unless they would be too small to read. @param {GraphNode[]} nodes @param {{width: number, height: number}} frame @returns {View} */
export function firstView(nodes, frame) {
  const bounds = boundsOf(nodes);
  const all = fitView(nodes, frame);
  if (!bounds || all.scale >= READABLE) return all;
  const place = (/** @type {number} */ start, /** @type {number} */ size, /** @type {number} */ room) => Math.max(MARGIN / 2, (room - size * READABLE) / 2) - start * READABLE;
  return { x: place(bounds.x, bounds.width, frame.width), y: place(bounds.y, bounds.height, frame.height), scale: READABLE };
}

/** Zooms so that a point of the screen keeps its place. @param {View} view @param {Point} at @param {number} factor @returns {View} */
export function zoomAt(view, at, factor) {
  const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, view.scale * factor));
  const by = scale / view.scale;
  return { x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by, scale };
}

/** @param {View} view @param {Point} point of the screen @returns {Point} of the graph */
export function toGraph(view, point) {
  return { x: (point.x - view.x) / view.scale, y: (point.y - view.y) / view.scale };
}

/** The view, moved so far that a node is seen. @param {View} view @param {GraphNode} node @param {{width: number, height: number}} frame @returns {View} */
export function reveal(view, node, frame) {
  const { x, y, width, height } = boxOf(node);
  const shift = (/** @type {number} */ start, /** @type {number} */ size, /** @type {number} */ room) => {
    if (start < MARGIN / 2) return MARGIN / 2 - start;
    return Math.min(0, Math.max(MARGIN / 2 - start, room - MARGIN / 2 - start - size));
  };
  const dx = shift(x * view.scale + view.x, width * view.scale, frame.width);
  const dy = shift(y * view.scale + view.y, height * view.scale, frame.height);
  return dx === 0 && dy === 0 ? view : { ...view, x: view.x + dx, y: view.y + dy };
}
