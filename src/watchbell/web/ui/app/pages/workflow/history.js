/** Undo and redo: the values before the present one, and those that were undone. */

/**
 * @template T
 * @typedef {{past: T[], now: T, future: T[], key: string}} History `key`: what made the present one
 */

const MOST = 200;

/** @template T @param {T} now @returns {History<T>} */
export function begin(now) {
  return { past: [], now, future: [], key: "" };
}

/**
 * Adds a value. Changes with the same key in a row, such as letters typed into a field, are one step.
 * @template T @param {History<T>} history @param {T} now @param {string} [key] @returns {History<T>}
 */
export function record(history, now, key = "") {
  if (now === history.now) return history;
  const isSameStep = key !== "" && key === history.key && history.past.length > 0;
  const past = isSameStep ? history.past : [...history.past, history.now].slice(-MOST);
  return { past, now, future: [], key };
}

/** @template T @param {History<T>} history @returns {History<T>} */
export function undo(history) {
  const now = history.past.at(-1);
  if (now === undefined) return history;
  return { past: history.past.slice(0, -1), now, future: [history.now, ...history.future], key: "" };
}

/** @template T @param {History<T>} history @returns {History<T>} */
export function redo(history) {
  const [now, ...future] = history.future;
  if (now === undefined) return history;
  return { past: [...history.past, history.now], now, future, key: "" };
}
