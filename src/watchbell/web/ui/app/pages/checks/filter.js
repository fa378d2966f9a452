/** Which checks are wanted and in which order, as the query of the page says it. */

import { SEVERITY } from "./rows.js";

/**
 * @typedef {import("./rows.js").Row} Row
 * @typedef {import("./rows.js").State} State
 * @typedef {"" | "open" | "acknowledged" | "maintenance" | "disabled"} Show
 * @typedef {"severity" | "age" | "name" | "update"} Sort
 * @typedef {{text: string, states: State[], show: Show, tags: string[], entities: string[], sort: Sort, isReversed: boolean}} Wanted
 */

/** @type {[value: Show, words: string][]} */
export const SHOWS = [
  ["", "All"],
  ["open", "Unhandled"],
  ["acknowledged", "Acknowledged"],
  ["maintenance", "Maintenance"],
  ["disabled", "Disabled"],
];

/** @type {[value: Sort, words: string][]} */
export const SORTS = [
  ["severity", "Severity"],
  ["age", "Last change"],
  ["name", "Name"],
  ["update", "Last report"],
];

/** @param {URLSearchParams} query @returns {Wanted} */
export function wanted(query) {
  const known = Object.keys(SEVERITY);
  const show = query.get("show") ?? "";
  const sort = query.get("sort") ?? "";
  return {
    text: query.get("text") ?? "",
    states: /** @type {State[]} */ (query.getAll("state").filter((state) => known.includes(state))),
    show: SHOWS.find(([value]) => value === show)?.[0] ?? "",
    tags: query.getAll("tag"),
    entities: query.getAll("entity"),
    sort: SORTS.find(([value]) => value === sort)?.[0] ?? "severity",
    isReversed: query.get("reverse") === "true",
  };
}

/** Whether anything is left out. @param {Wanted} by */
export function isNarrow(by) {
  return by.text.trim() !== "" || by.states.length > 0 || by.show !== "" || by.tags.length > 0 || by.entities.length > 0;
}

/**
 * The same as the API takes it, as a query or in a body.
 * @param {Wanted} by
 * @param {{withStates: boolean}} options
 * @returns {Record<string, any>}
 */
export function asked(by, { withStates }) {
  /** @type {Record<string, any>} */
  const words = { enabled: by.show === "disabled" ? "no" : "yes" };
  if (by.text.trim()) words.text = by.text.trim();
  if (by.tags.length) words.tag = by.tags;
  if (by.entities.length) words.entity = by.entities;
  if (by.show === "open") Object.assign(words, { failing: true, acknowledged: false, maintenance: false });
  if (by.show === "acknowledged") words.acknowledged = true;
  if (by.show === "maintenance") words.maintenance = true;
  if (withStates && by.states.length) words.state = by.states;
  return words;
}

/**
 * Whether a row is wanted, whatever its state.
 * @param {Wanted} by
 * @returns {(row: Row) => boolean}
 */
export function besidesState(by) {
  const words = by.text.toLowerCase().split(/\s+/).filter(Boolean);
  const entities = new Set(by.entities.map((name) => name.toLowerCase()));
  const { tags, show } = by;
  return (row) => {
    if (row.enabled !== (show !== "disabled")) return false;
    if (show === "open" && (row.state === "ok" || row.acknowledged || row.scheduled_until !== null)) return false;
    if (show === "acknowledged" && !row.acknowledged) return false;
    if (show === "maintenance" && row.scheduled_until === null) return false;
    if (entities.size && !entities.has(row.entity)) return false;
    if (tags.length && !tags.every((tag) => row.tags.includes(tag))) return false;
    if (words.length === 0) return true;
    row.text ||= `${row.id}\n${row.summary}`.toLowerCase();
    return words.every((word) => row.text.includes(word));
  };
}

/** @type {Record<Sort, (a: Row, b: Row) => number>} */
const ORDERS = {
  severity: (a, b) => SEVERITY[b.state] - SEVERITY[a.state] || (b.since ?? 0) - (a.since ?? 0) || byName(a, b),
  age: (a, b) => (b.since ?? 0) - (a.since ?? 0) || byName(a, b),
  name: byName,
  update: (a, b) => (b.last_update ?? 0) - (a.last_update ?? 0) || byName(a, b),
};

/** @param {Row} a @param {Row} b */
function byName(a, b) {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** @param {Wanted} by @returns {(a: Row, b: Row) => number} */
export function order(by) {
  const found = ORDERS[by.sort];
  return by.isReversed ? (a, b) => found(b, a) : found;
}
