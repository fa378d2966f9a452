/** Parts of a graph as text, for the clipboard. */

/** @typedef {import("./graph.js").Graph} Graph */

const MARK = "watchbell/workflow";
const TYPES = ["trigger", "event", "job", "controller", "limit", "action", "note"];
const MOST = 1_000;

/** @param {Graph} part */
export function write(part) {
  return JSON.stringify({ [MARK]: 1, ...part }, null, 2);
}

/** The part that a text holds; null if it holds none. @param {string} text @returns {Graph | null} */
export function read(text) {
  const found = parsed(text);
  if (!found || found[MARK] !== 1 || !Array.isArray(found.nodes) || !Array.isArray(found.connections)) return null;
  const nodes = found.nodes.filter(isNode).slice(0, MOST);
  const ids = new Set(nodes.map((/** @type {any} */ one) => one.id));
  const connections = found.connections.filter((/** @type {any} */ one) => ids.has(one?.source) && ids.has(one?.dest) && one.source !== one.dest);
  return nodes.length > 0 ? { nodes: nodes.map(cleanNode), connections: connections.map(cleanConnection) } : null;
}

/** @param {string} text @returns {any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {any} one */
function isNode(one) {
  return typeof one?.id === "string" && TYPES.includes(one.type) && Number.isFinite(one.x) && Number.isFinite(one.y);
}

/** @param {any} one @returns {import("./graph.js").GraphNode} */
function cleanNode({ id, type, data, x, y }) {
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
  return { id, type, data: isObject ? data : {}, x, y };
}

/** @param {any} one @returns {import("./graph.js").Connection} */
function cleanConnection({ source, dest, condition }) {
  const plain = { id: "", source, dest };
  return typeof condition === "string" && condition ? { ...plain, condition } : plain;
}
