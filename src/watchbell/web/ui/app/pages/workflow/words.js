/** How the parts of a workflow are called and drawn. */

import { isRunning, conditionOf } from "./graph.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").GraphNode} GraphNode
 * @typedef {import("./graph.js").NodeType} NodeType
 * @typedef {{events: ReadonlyMap<string, string>, plugins: {id: string, title: string}[]}} Titles
 * @typedef {{title: string, about: string, name: string, icon: string, look: string}} Fact
 *   `name`: for screen readers, with what it runs after
 */

/** @type {Record<string, [title: string, hint: string]>} */
export const CONTROLLERS = {
  multiplex: ["On all servers", "Runs the next node on each of its servers at once."],
  repeat: ["Repeat", "Runs the next node several times at once."],
  split: ["Split", "Runs the next node once for each item of a list."],
  join: ["Join", "Waits for all wires that lead here, and passes their data on together."],
  decision: ["Decision", "Passes on only if a condition is true."],
  wait: ["Wait", "Waits before it passes on."],
};

/** The controllers that launch several jobs of the next node. */
export const FANNING = ["multiplex", "repeat", "split"];

/** @type {Record<string, string>} */
export const TIMINGS = {
  manual: "On demand",
  schedule: "Schedule",
  interval: "Interval",
  single: "Once",
  continuous: "Continuously",
  startup: "At start",
};

/** @type {Record<string, string>} */
export const LIMITS = {
  time: "Time",
  job: "Jobs at once",
  queue: "Queue",
  retry: "Retries",
  mem: "Memory",
  cpu: "CPU",
  log: "Log size",
  day: "Jobs a day",
  file: "Input files",
  tag: "Tags",
};

/** @type {Record<string, string>} */
export const ACTIONS = {
  email: "Send a mail",
  channel: "Notify a channel",
  web_hook: "Call a web hook",
  run_event: "Run another event",
  tag: "Add tags",
  suspend: "Wait for a person",
  disable: "Disable the workflow",
  delete: "Delete the workflow",
  snapshot: "Record the server",
};

/** @type {Record<NodeType, string>} */
const KINDS = { trigger: "Trigger", event: "Event", job: "Job", controller: "Controller", limit: "Limit", action: "Action", note: "Note" };

/** @type {[id: string, words: string][]} */
const CONDITIONS = [
  ["success", "On success"],
  ["error", "On any failure"],
  ["warning", "On a warning"],
  ["critical", "If critical"],
  ["abort", "If aborted"],
  ["complete", "However it ends"],
];
/** @type {[id: string, words: string]} */
const CONTINUE = ["continue", "When all jobs have ended"];
/** @type {[id: string, words: string]} */
const START = ["start", "At its start"];

/** The outlines of the icons, in a square of 16. @type {Record<string, string>} */
export const ICONS = {
  trigger: "M8 1.5L3.5 9H8l-1 5.5L12.5 7H8z",
  manual: "M4 2l10 6l-10 6z",
  event: "M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 1.5v3M10.5 1.5v3",
  job: "M2 3h12v10H2zM4.5 6l2 2l-2 2M8.5 10h3",
  multiplex: "M2 8h4M6 8l4-5h4M6 8h8M6 8l4 5h4",
  repeat: "M3 8a5 5 0 0 1 9-3M13 8a5 5 0 0 1-9 3M12 2v3H9M4 14v-3h3",
  split: "M2 8h5M7 8c3 0 2-5 7-5M7 8c3 0 2 5 7 5",
  join: "M14 8H9M9 8c-3 0-2-5-7-5M9 8c-3 0-2 5-7 5",
  decision: "M8 1.5L14.5 8L8 14.5L1.5 8zM6.5 6.5a1.6 1.6 0 1 1 1.5 2v.8M8 11.2v.1",
  wait: "M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13zM8 4.5V8l2.5 1.5",
  controller: "M8 1.5L14.5 8L8 14.5L1.5 8z",
  limit: "M2 12a6 6 0 1 1 12 0M8 12l3-5",
  action: "M3 11V7.5a5 5 0 0 1 10 0V11l1 1.5H2zM6.5 14.5h3",
  note: "M3 2h10v8l-4 4H3zM9 14v-4h4",
};

/** @param {string} condition @param {boolean} [isShort] */
export function conditionWords(condition, isShort = false) {
  const known = [...CONDITIONS, CONTINUE, START].find(([id]) => id === condition)?.[1];
  if (known) return isShort ? known.replace(/^(On|If|At its) /, "") : known;
  return condition.startsWith("tag:") ? `With the tag ${condition.slice(4)}` : condition;
}

/**
 * The conditions that a connection can have.
 * @param {Graph} graph @param {import("./graph.js").Connection} connection @param {{id: string, title: string}[]} tags
 * @returns {[id: string, words: string][]} none where it has no condition
 */
export function conditionsFor(graph, connection, tags) {
  const now = conditionOf(graph, connection);
  if (!now) return [];
  const isAction = graph.nodes.find((one) => one.id === connection.dest)?.type === "action";
  const controllers = graph.nodes.filter((one) => FANNING.includes(one.data.controller)).map((one) => one.id);
  const isControlled = graph.connections.some((one) => one.dest === connection.source && controllers.includes(one.source));
  const tagged = tags.map((one) => /** @type {[string, string]} */ ([`tag:${one.id}`, `With the tag ${one.title}`]));
  const all = [...CONDITIONS, ...(isAction ? [START] : []), ...(isControlled ? [CONTINUE] : []), ...tagged];
  return all.some(([id]) => id === now) ? all : [...all, [now, conditionWords(now)]];
}

/** @param {GraphNode} node @param {Titles} titles */
export function titleOf({ type, data }, titles) {
  if (data.label) return String(data.label);
  switch (type) {
    case "trigger":
      return TIMINGS[data.timing?.type] ?? "Start";
    case "event":
      return data.event ? eventTitle(data.event, titles) : "No event selected";
    case "job":
      return titles.plugins.find((one) => one.id === data.plugin)?.title ?? String(data.plugin ?? "No plugin selected");
    case "controller":
      return CONTROLLERS[data.controller]?.[0] ?? String(data.controller);
    case "limit":
      return LIMITS[data.type] ?? String(data.type);
    case "action":
      return ACTIONS[data.type] ?? String(data.type);
    default:
      return String(data.title ?? "") || "Note";
  }
}

/** Until the titles are loaded: nothing, rather than an id. @param {string} id @param {Titles} titles */
const eventTitle = (id, { events }) => events.get(id) ?? (events.size === 0 ? "…" : id);

/** What is below the title. @param {GraphNode} node @param {Titles} titles */
function aboutOf({ type, data }, titles) {
  switch (type) {
    case "trigger":
      return data.timing?.enabled === false ? "Trigger, disabled" : "Trigger";
    case "event":
      return data.label && data.event ? `Event ${eventTitle(data.event, titles)}` : KINDS.event;
    case "controller":
      return controllerWords(data);
    case "note":
      return String(data.body ?? "");
    default:
      return data.label && type === "job" ? `Job, ${titles.plugins.find((one) => one.id === data.plugin)?.title ?? data.plugin}` : KINDS[type];
  }
}

/** @param {Record<string, any>} data */
function controllerWords(data) {
  const kind = CONTROLLERS[data.controller]?.[0] ?? "Controller";
  const more = { repeat: data.repeat && `${data.repeat} times`, wait: typeof data.wait === "number" && `${data.wait} s`, split: data.split, decision: data.decision }[/** @type {string} */ (data.controller)];
  if (data.label) return more ? `${kind}: ${more}` : kind;
  return more ? String(more) : KINDS.controller;
}

/**
 * What is shown of each node.
 * @param {Graph} graph @param {Titles} titles @returns {Map<string, Fact>}
 */
export function factsOf(graph, titles) {
  const named = new Map(graph.nodes.map((one) => [one.id, titleOf(one, titles)]));
  /** @type {Map<string, string[]>} */
  const after = new Map();
  for (const one of graph.connections) {
    const condition = conditionOf(graph, one);
    const words = condition ? ` ${conditionWords(condition).toLowerCase()}` : "";
    after.set(one.dest, [...(after.get(one.dest) ?? []), `${named.get(one.source) ?? one.source}${words}`]);
  }
  return new Map(graph.nodes.map((node) => {
    const title = named.get(node.id) ?? "";
    const sources = after.get(node.id) ?? [];
    const verb = isRunning(node.type) || node.type === "controller" ? "runs after" : "belongs to";
    const body = node.type === "note" && node.data.body;
    const name = [`${KINDS[node.type]} ${title}`, body, sources.length > 0 && `${verb} ${sources.join(" and ")}`].filter(Boolean).join(", ");
    return [node.id, { title, about: aboutOf(node, titles), name, icon: iconOf(node), look: node.type }];
  }));
}

/** @param {GraphNode} node */
export function iconOf({ type, data }) {
  const own = type === "controller" ? ICONS[data.controller] : type === "trigger" && data.timing?.type === "manual" ? ICONS.manual : "";
  return own || (ICONS[type] ?? "");
}
