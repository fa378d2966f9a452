/** Filters and sort order of the list of checks, as given in the page's query. The server applies the same to the API. */

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

/** Whether any filter is set. @param {Wanted} by */
export function isNarrow(by) {
  return by.text.trim() !== "" || by.states.length > 0 || by.show !== "" || by.tags.length > 0 || by.entities.length > 0;
}

/**
 * The filters as the API takes them, in a query or a body.
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
 * What the list shows. Rows of other states are counted, but not listed.
 * @param {Wanted} by
 * @returns {import("../../kit/live_table.js").Plan<Row>}
 */
export function plan(by) {
  return {
    matches: matching(by),
    isShown: (row) => by.states.length === 0 || by.states.includes(row.state),
    group: (row) => row.state,
    order: order(by),
    // Reports change the time of the last report in place.
    isVolatile: by.sort === "update",
  };
}

/** Whether a row matches, whatever its state. @param {Wanted} by @returns {(row: Row) => boolean} */
function matching(by) {
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
  return byCodePoint(a.id, b.id);
}

/**
 * The server sorts by code point, JavaScript by UTF-16 unit: the two differ for characters beyond U+FFFF.
 * @param {string} a @param {string} b
 */
function byCodePoint(a, b) {
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at += 1) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

/** Moves surrogates behind all other units. @param {number} unit */
const rank = (unit) => (unit < 0xd800 ? unit : unit > 0xdfff ? unit - 0x800 : unit + 0x2000);

/** @param {Wanted} by @returns {(a: Row, b: Row) => number} */
function order(by) {
  const found = ORDERS[by.sort];
  return by.isReversed ? (a, b) => found(b, a) : found;
}
