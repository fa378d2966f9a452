/** How the keyboard moves from node to node. */

import { boxOf } from "./geometry.js";

/** @typedef {import("./graph.js").Graph} Graph */
/** @typedef {"ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown"} Arrow */

const COLUMN = 100;
/** How much worse it is to be aside than to be far. */
const ASIDE = 2;

/** @type {Record<Arrow, [dx: number, dy: number]>} */
export const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @param {string} key @returns {key is Arrow} */
export const isArrow = (key) => key in DIRECTIONS;

/** The nodes as they are read: column by column, from the top. @param {Graph} graph */
export function readingOrder(graph) {
  const column = (/** @type {{x: number}} */ one) => Math.round(one.x / COLUMN);
  return [...graph.nodes].sort((one, other) => column(one) - column(other) || one.y - other.y || one.x - other.x);
}

/**
 * The nearest node in a direction, among those that are wanted.
 * @param {Graph} graph @param {string} id @param {Arrow} arrow
 * @param {(id: string) => boolean} [isWanted] @returns {string | null}
 */
export function neighbour(graph, id, arrow, isWanted = () => true) {
  const from = graph.nodes.find((one) => one.id === id);
  if (!from) return null;
  const start = middle(from);
  const [dx, dy] = DIRECTIONS[arrow];
  let [nearest, least] = [/** @type {string | null} */ (null), Infinity];
  for (const one of graph.nodes) {
    const to = middle(one);
    const along = (to.x - start.x) * dx + (to.y - start.y) * dy;
    const aside = Math.abs((to.x - start.x) * dy) + Math.abs((to.y - start.y) * dx);
    const distance = along + ASIDE * aside;
    if (one.id !== id && along > 0 && distance < least && isWanted(one.id)) [nearest, least] = [one.id, distance];
  }
  return nearest;
}

/** @param {import("./graph.js").GraphNode} node */
function middle(node) {
  const { x, y, width, height } = boxOf(node);
  return { x: x + width / 2, y: y + height / 2 };
}
