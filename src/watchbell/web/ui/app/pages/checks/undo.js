/** Toasts with Undo for actions on checks. */

import { ask, post, Problem } from "../../api.js";
import { showToastWithUndo } from "../../kit/toast.js";
import { counted } from "../../words.js";

/**
 * @typedef {import("./act.js").Acted} Acted
 * @typedef {import("../check/timeline.js").Span} Span
 */

/** Checks that one request may name. */
const MOST = 10_000;
const TRIES = 20;
const WAIT_MS = 500;

/** Ends acknowledgements, which take effect only after the processor has handled them. @param {string[]} checks */
async function endAcknowledgements(checks) {
  for (let tries = 1; ; tries += 1) {
    /** @type {Acted} */
    const acted = await post("/checks/end-maintenance", { checks, kind: "unscheduled" });
    if (acted.done > 0) return;
    if (tries === TRIES) throw new Problem(422, acted.items[0]?.reason ?? "Undo failed.");
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
}

/**
 * How to undo each action; the others can't be undone.
 * @type {Record<string, (checks: string[], acted: Acted) => [back: () => Promise<any>, words: string]>}
 */
const OPPOSITES = {
  acknowledge: (checks) => [() => endAcknowledgements(checks), "Acknowledgement ended."],
  maintenance: (_, acted) => [() => post("/maintenance/end", { id: acted.window }), "Maintenance deleted."],
  disable: (checks) => [() => post("/checks/enable", { checks }), `${counted(checks.length, "check")} enabled.`],
  enable: (checks) => [() => post("/checks/disable", { checks }), `${counted(checks.length, "check")} disabled.`],
};

/**
 * @param {import("./act.js").Kind} kind
 * @param {string} words
 * @param {Acted} acted
 * @param {{held?: Set<string>, after?: () => void}} [options] `held`: checks that were acknowledged before, which
 *   Undo leaves alone; `after`: called after the undo
 */
export function sayActed(kind, words, acted, { held = new Set(), after } = {}) {
  const checks = acted.items.filter((item) => item.done && !held.has(item.check)).map((item) => item.check);
  const opposite = OPPOSITES[kind];
  if (!opposite || checks.length === 0 || checks.length > MOST) showToastWithUndo(words);
  else showToastWithUndo(words, ...opposite(checks, acted), after);
}

/**
 * Shows that windows of these checks ended; Undo restores their former end.
 * @param {string} words
 * @param {{kind: string, start: number, end: number, summary: string}} window as it was
 * @param {string[]} checks
 * @param {() => void} after
 */
export function sayEnded(words, { kind, start, end, summary }, checks, after) {
  const again = () => ask("POST", "/maintenance", { checks, kind, start, duration: end - start, summary });
  showToastWithUndo(words, again, kind === "unscheduled" ? "Acknowledged again." : "Maintenance restored.", after);
}
