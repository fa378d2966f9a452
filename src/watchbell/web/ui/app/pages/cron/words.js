/** Labels, formats and links shared by the cron pages. */

import { html } from "htm/preact";
import { State } from "../../kit/state.js";

/**
 * @typedef {"running" | "success" | "fail" | "frozen"} Status
 * @typedef {{id: string, status: Status, ended: number, duration: number | null}} Span
 * @typedef {{field: string, reason: string}} Wrong
 * @typedef {{name: string, state: string, command: string, words: string, zone: string, next: number[], is_paused: boolean, is_failing: boolean,
 *   problems: Wrong[], running: string[], last: (Span & {words: string}) | null, spans: Span[]}} Job
 * @typedef {{id: string, job: string, status: Status, start: number, ended: number | null, duration: number | null,
 *   retcode: number | null, words: string, host: string, instance: string, why: "schedule" | "late" | "trigger" | "retry", fire: number,
 *   attempt: number, attempts: number, retry_at: number | null, cpu: number, memory: number, output_bytes: number}} Run
 */

/** @type {Record<Status, [state: string, word: string]>} */
const SHOWN = {
  running: ["running", "running"],
  success: ["ok", "succeeded"],
  fail: ["critical", "failed"],
  frozen: ["unknown", "frozen"],
};

/** @param {{status: Status}} props */
export function Status({ status }) {
  const [state, word] = SHOWN[status];
  return html`<${State} state=${state} word=${word} />`;
}

/** @param {Status} status */
export function wordOf(status) {
  return SHOWN[status][1];
}

/** @param {string} name */
export const jobLink = (name) => `/cron/job?name=${encodeURIComponent(name)}`;
/** @param {string} id */
export const runLink = (id) => `/cron/run?id=${encodeURIComponent(id)}`;

/** @param {Span} span @returns {import("../../runs/bars.js").Span} */
export function barOf(span) {
  return { look: span.status, word: wordOf(span.status), ended: span.ended, duration: span.duration, to: runLink(span.id) };
}
