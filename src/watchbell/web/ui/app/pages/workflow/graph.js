/** The graph of a workflow and its edits. A graph is never changed: every edit makes a new one. */

/**
 * @typedef {"trigger" | "event" | "job" | "controller" | "limit" | "action" | "note"} NodeType
 * @typedef {{id: string, type: NodeType, data: Record<string, any>, x: number, y: number}} GraphNode
 * @typedef {{id: string, source: string, dest: string, condition?: string}} Connection
 * @typedef {{nodes: GraphNode[], connections: Connection[]}} Graph
 */

export const GRID = 20;
/** How far a copy is from its original. */
const ASIDE = 2 * GRID;
const LONGEST_ID = 64;
/** For a number at the end of an id. */
const ROOM = 5;

/** @type {Graph} */
export const EMPTY = { nodes: [], connections: [] };

/** What launches jobs. @type {NodeType[]} */
const RUNNING = ["event", "job"];
/** What belongs to a step, and is drawn below it. @type {NodeType[]} */
const ATTACHED = ["limit", "action"];

/** @param {NodeType} type */
export const isAttached = (type) => ATTACHED.includes(type);

/** @param {NodeType | undefined} type */
export const isRunning = (type) => type !== undefined && RUNNING.includes(type);

/** @param {number} value */
export const snap = (value) => Math.round(value / GRID) * GRID;

/** @param {Graph} graph @param {string} id */
export const nodeOf = (graph, id) => graph.nodes.find((one) => one.id === id);

/** @param {Graph} graph @param {GraphNode} node @returns {Graph} */
export function addNode(graph, node) {
  return { ...graph, nodes: [...graph.nodes, node] };
}

/** @param {Graph} graph @param {string} id @param {Record<string, any>} data @returns {Graph} */
export function setData(graph, id, data) {
  return { ...graph, nodes: graph.nodes.map((one) => (one.id === id ? { ...one, data } : one)) };
}

/** @param {Graph} graph @param {ReadonlySet<string>} ids @param {number} dx @param {number} dy @returns {Graph} */
export function moveNodes(graph, ids, dx, dy) {
  if (dx === 0 && dy === 0) return graph;
  return { ...graph, nodes: graph.nodes.map((one) => (ids.has(one.id) ? { ...one, x: one.x + dx, y: one.y + dy } : one)) };
}

/** @param {Graph} graph @param {ReadonlyMap<string, {x: number, y: number}>} places @returns {Graph} */
export function placeNodes(graph, places) {
  return { ...graph, nodes: graph.nodes.map((one) => ({ ...one, ...places.get(one.id) })) };
}

/**
 * Removes nodes, with their connections, and connections.
 * @param {Graph} graph @param {ReadonlySet<string>} ids of both @returns {Graph}
 */
export function removeParts(graph, ids) {
  return {
    nodes: graph.nodes.filter((one) => !ids.has(one.id)),
    connections: graph.connections.filter((one) => !ids.has(one.id) && !ids.has(one.source) && !ids.has(one.dest)),
  };
}

/**
 * Why these two can't be connected; empty if they can.
 * @param {Graph} graph @param {string} source @param {string} dest @returns {string}
 */
export function refusal(graph, source, dest) {
  const [from, to] = [nodeOf(graph, source), nodeOf(graph, dest)];
  if (!from || !to) return "One of the nodes is missing.";
  if (source === dest) return "A node can't be connected to itself.";
  if (from.type === "note" || to.type === "note") return "Notes can't be connected.";
  if (to.type === "trigger") return "Nothing leads to a trigger.";
  if (isAttached(from.type)) return `Nothing follows ${from.type === "limit" ? "a limit" : "an action"}.`;
  if (to.type === "limit" && !isRunning(from.type)) return "A limit belongs to an event or a job.";
  if (graph.connections.some((one) => one.source === source && one.dest === dest)) return "They are connected already.";
  if (isReached(graph, dest, source)) return "That would be a cycle.";
  return "";
}

/** Whether one node leads to the other. @param {Graph} graph @param {string} from @param {string} to */
function isReached(graph, from, to) {
  const seen = new Set([from]);
  for (const id of seen) for (const one of graph.connections) if (one.source === id) seen.add(one.dest);
  return seen.has(to);
}

/**
 * When a connection fires; empty where it has no condition.
 * @param {Graph} graph @param {Connection} connection
 */
export function conditionOf(graph, { source, dest, condition }) {
  const to = nodeOf(graph, dest)?.type;
  if (!isRunning(nodeOf(graph, source)?.type) || to === "limit") return "";
  return condition || (to === "action" ? "complete" : "success");
}

/** @param {Graph} graph @param {Connection} connection @returns {Graph} */
export function connect(graph, connection) {
  return { ...graph, connections: [...graph.connections, connection] };
}

/** @param {Graph} graph @param {string} id @param {string} condition empty for none @returns {Graph} */
export function setCondition(graph, id, condition) {
  const change = (/** @type {Connection} */ { condition: _, ...plain }) => (condition ? { ...plain, condition } : plain);
  return { ...graph, connections: graph.connections.map((one) => (one.id === id ? change(one) : one)) };
}

/** These nodes and the connections between them. @param {Graph} graph @param {ReadonlySet<string>} ids @returns {Graph} */
export function partOf(graph, ids) {
  return {
    nodes: graph.nodes.filter((one) => ids.has(one.id)),
    connections: graph.connections.filter((one) => ids.has(one.source) && ids.has(one.dest)),
  };
}

/** All ids, of nodes and connections alike: a selection has both. @param {Graph} graph @returns {Set<string>} */
export const idsOf = (graph) => new Set([...graph.nodes, ...graph.connections].map((one) => one.id));

/**
 * An id that people can read, such as `split_2`.
 * @param {Set<string>} taken ids that were in use; the new one is added @param {string} base @returns {string}
 */
export function freeId(taken, base) {
  const stem = base.slice(0, LONGEST_ID - ROOM).replace(/_\d+$/, "") || "node";
  let id = base.slice(0, LONGEST_ID - ROOM);
  for (let number = 2; !id || taken.has(id); number += 1) id = `${stem}_${number}`;
  taken.add(id);
  return id;
}

/** @param {Set<string>} taken @param {string} source @param {string} dest @param {string} [condition] @returns {Connection} */
export function newConnection(taken, source, dest, condition = "") {
  const plain = { id: freeId(taken, `${source}_${dest}`), source, dest };
  return condition ? { ...plain, condition } : plain;
}

/**
 * Adds a part with new ids.
 * @param {Graph} graph @param {Graph} part @param {{x: number, y: number}} by how far it is moved @param {Set<string>} taken ids that were in use
 * @returns {{graph: Graph, ids: Set<string>}} `ids`: of the new nodes
 */
export function addPart(graph, part, by, taken) {
  const named = new Map(part.nodes.map((one) => [one.id, freeId(taken, one.id)]));
  const to = (/** @type {string} */ id) => named.get(id) ?? id;
  const nodes = part.nodes.map((one) => ({ ...one, id: to(one.id), x: one.x + by.x, y: one.y + by.y }));
  const connections = part.connections.map((one) => newConnection(taken, to(one.source), to(one.dest), one.condition));
  return {
    graph: { nodes: [...graph.nodes, ...nodes], connections: [...graph.connections, ...connections] },
    ids: new Set(named.values()),
  };
}

/** @param {Graph} graph @param {ReadonlySet<string>} ids @param {Set<string>} taken */
export function duplicate(graph, ids, taken) {
  return addPart(graph, partOf(graph, ids), { x: ASIDE, y: ASIDE }, taken);
}
