/** Toasts: short messages about what was done, some with Undo. */

import { html } from "htm/preact";
import { Problem } from "../api.js";
import { Cell, useCell } from "../cell.js";

/** @typedef {{id: number, words: any, tone: "good" | "bad", action?: {words: string, act: () => void}}} Toast */

/** @type {Cell<Toast[]>} */
const toasts = new Cell(/** @type {Toast[]} */ ([]));
let last = 0;

/**
 * @param {any} words
 * @param {{tone?: "good" | "bad", action?: {words: string, act: () => void}}} [options]
 */
export function showToast(words, { tone = "good", action } = {}) {
  const id = (last += 1);
  toasts.set([...toasts.value.slice(-3), { id, words, tone, ...(action ? { action } : {}) }]);
  // Leave enough time to read it and to reach Undo by keyboard.
  const shown = action ? 30_000 : tone === "bad" ? 10_000 : 5_000;
  setTimeout(() => drop(id), shown);
}

/** @param {number} id */
function drop(id) {
  toasts.set(toasts.value.filter((one) => one.id !== id));
}

/**
 * Shows what was done and offers Undo.
 * @param {any} words
 * @param {() => Promise<any>} [back] undoes it; omit it if that is impossible
 * @param {any} [undone] shown after the undo
 * @param {() => void} [after] called after the undo
 */
export function showToastWithUndo(words, back, undone, after) {
  if (!back) {
    showToast(words);
    return;
  }
  const act = async () => {
    if (await attempt(() => back().then(() => true), undone)) after?.();
  };
  showToast(words, { action: { words: "Undo", act } });
}

/**
 * Runs an action and shows its result.
 * @template T
 * @param {() => Promise<T>} act
 * @param {any | ((value: T) => any)} [words] shown on success
 * @returns {Promise<T | undefined>} undefined if it was refused; the reason has been shown
 */
export async function attempt(act, words) {
  try {
    const value = await act();
    if (words !== undefined) showToast(typeof words === "function" ? words(value) : words);
    return value;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    showToast(error.errors.map((one) => `${one.field}: ${one.reason}`).join("; ") || error.message, { tone: "bad" });
    return undefined;
  }
}

export function Toasts() {
  const all = useCell(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${all.map(
      (one) => html`<div key=${one.id} class=${`toast toast-${one.tone}`}>
        <span>${one.words}</span>
        ${one.action && html`<button type="button" onClick=${() => {
          drop(one.id);
          one.action?.act();
        }}>${one.action.words}</button>`}
      </div>`,
    )}
  </div>`;
}
