/** Server alerts as the pages show them: types, states and links. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { State } from "../../kit/state.js";

/**
 * @typedef {{id: string, state: "active" | "stale" | "cleared", definition: string, title: string, server: string, hostname: string,
 *   groups: string[], check: string, date: number, modified: number, cleared: number | null, message: string, value: number | null,
 *   notified: boolean}} Row
 * @typedef {{row: Row, expression: string, count: number, reason: string, clear_reason: string, jobs: string[], actions: Record<string, any>[]}} Shown
 * @typedef {{definition: string, until: number, by: string, at: number}} Snooze
 */

/** @type {Record<Row["state"], [state: string, word: string]>} */
const STATES = { active: ["critical", "active"], stale: ["unknown", "stale"], cleared: ["ok", "cleared"] };

/** @param {{row: Row}} props */
export function AlertState({ row }) {
  const [state, word] = STATES[row.state];
  return html`<${State} state=${state} word=${word} />`;
}

/** @param {string} id */
export const alertLink = (id) => url("/server-alerts", { id });
/** @param {string} id */
export const definitionLink = (id) => url("/alert-definitions", { id });
