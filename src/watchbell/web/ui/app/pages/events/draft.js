/** An event while it is edited. Its timings, limits and actions carry a `key` for the page. */

/**
 * @typedef {Record<string, any> & {key: number, type: string}} Item a timing, limit or action
 * @typedef {{title: string, enabled: boolean, icon: string, category: string, plugin: string, params: Record<string, any>, tags: string[], targets: string[],
 *   algo: string, notes: string, timings: Item[], limits: Item[], actions: Item[]}} Draft
 * @typedef {{draft: Draft, change: (changes: Partial<Draft>) => void, options: import("./words.js").Options}} Parts
 */

let last = 0;

/** @param {Record<string, any> & {type: string}} item @returns {Item} */
export function keyed(item) {
  last += 1;
  return { ...item, key: last };
}

/** @param {any} event as stored; null for a new one @returns {Draft} */
export function drafted(event) {
  const given = event ?? {};
  return {
    title: given.title ?? "",
    enabled: given.enabled ?? true,
    icon: given.icon ?? "",
    category: given.category ?? "general",
    plugin: given.plugin ?? "shellplug",
    params: given.params ?? {},
    tags: given.tags ?? [],
    targets: given.targets ?? ["main"],
    algo: given.algo ?? "random",
    notes: given.notes ?? "",
    timings: (given.timings ?? []).map(keyed),
    limits: (given.limits ?? []).map(keyed),
    actions: (given.actions ?? []).map(keyed),
  };
}

/** The event as the API takes it. @param {Draft} draft */
export function defined(draft) {
  return { ...draft, title: draft.title.trim(), ...itemsOf(draft) };
}

/** @param {{timings?: Item[], limits?: Item[], actions?: Item[]}} draft */
export function itemsOf({ timings = [], limits = [], actions = [] }) {
  return { timings: timings.map(plain), limits: limits.map(plain), actions: actions.map(plain) };
}

/** Without what is empty. @param {Item} item */
export function plain({ key: _, ...item }) {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null && value !== undefined && value !== "" && !isEmpty(value)));
}

/** @param {any} value */
function isEmpty(value) {
  return typeof value === "object" && Object.keys(value).length === 0;
}
