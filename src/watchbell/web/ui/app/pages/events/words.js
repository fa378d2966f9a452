/** Types, labels and links shared by the pages of events. */

import { html } from "htm/preact";
import { useFetched } from "../../api.js";
import { State } from "../../kit/state.js";

/**
 * @typedef {{id: string, code: number | string, completed: number, elapsed: number}} LastJob
 * @typedef {{id: string, title: string, icon: string, enabled: boolean, status: string, category: string, plugin: string, targets: string[],
 *   algo: string, tags: string[], words: string, next: number[], running: number, queued: number, last: LastJob | null,
 *   recent: {completed: number, elapsed: number, failed: boolean}[], problem: string, modified: number, username: string}} EventRow
 * @typedef {{at: number, local: string, remark: string}} Upcoming
 * @typedef {{id: string, type: string, title?: string, value?: any, caption?: string, required?: boolean, locked?: boolean, regex?: string, secret?: boolean}} Parameter
 * @typedef {{id: string, title: string, enabled?: boolean, notes?: string, params?: Parameter[]}} Plugin
 * @typedef {{id: string, title: string, enabled?: boolean, color?: string, limits?: any[], actions?: any[]}} Category
 * @typedef {{id: string, title: string, kind: "group" | "server", online: boolean, servers: number}} Target
 * @typedef {{categories: Category[], plugins: Plugin[], channels: {id: string, title: string}[], tags: {id: string, title: string}[],
 *   targets: Target[], algorithms: {id: string, words: string}[], timezone: string}} Options
 * @typedef {{event: any, is_masked: boolean, row: EventRow, next: Upcoming[], statistics: {count: number, mean: number | null, failures: number},
 *   obstacle: string}} EventShown
 */

/** @param {string} id */
export const eventLink = (id) => `/events/event?id=${encodeURIComponent(id)}`;
/** @param {string} id */
export const jobLink = (id) => `/jobs/job?id=${encodeURIComponent(id)}`;

/** The plugin that workflows name; there is no such record. */
export const WORKFLOW = "_workflow";

/** @param {{type?: string, plugin?: string}} event or its row */
export const isWorkflow = (event) => event.type === "workflow" || event.plugin === WORKFLOW;

/** What an event can be made of. */
export function useOptions() {
  const fetched = useFetched("/events/options");
  return { ...fetched, value: /** @type {Options | null} */ (fetched.value) };
}

/** The title of something by its id, or the id. @param {{id: string, title: string}[] | undefined} among @param {string} id */
export function titleOf(among, id) {
  return among?.find((one) => one.id === id)?.title || id;
}

/**
 * What can be selected: without what is disabled, and with the present one, even if it is missing.
 * @param {{id: string, title: string, enabled?: boolean}[]} among @param {string} id @returns {[id: string, words: string][]}
 */
export function listed(among, id) {
  const shown = among.filter((one) => one.enabled !== false || one.id === id).map((one) => /** @type {[string, string]} */ ([one.id, one.title]));
  return among.some((one) => one.id === id) ? shown : [[id, `${id} (missing)`], ...shown];
}

/** @type {Record<string, [state: string, word: string]>} */
const STATUSES = {
  invalid: ["critical", "invalid"],
  disabled: ["disabled", "disabled"],
  running: ["running", "running"],
  queued: ["acknowledged", "queued"],
  failing: ["critical", "failing"],
  ok: ["ok", "ok"],
  idle: ["none", "never ran"],
};

/** @param {{status: string}} props */
export function EventStatus({ status }) {
  const [state, word] = STATUSES[status] ?? ["none", status];
  return html`<${State} state=${state} word=${word} />`;
}

/** @typedef {"success" | "warning" | "critical" | "abort" | "error"} Verdict */

/** @type {Record<Verdict, [state: string, word: string, look: string]>} */
const VERDICTS = {
  success: ["ok", "succeeded", "success"],
  warning: ["warning", "warning", "warning"],
  critical: ["critical", "critical", "fail"],
  error: ["critical", "failed", "fail"],
  abort: ["unknown", "aborted", "frozen"],
};

/** How a job ended, by its code. @param {number | string} code @returns {Verdict} */
export function verdictOf(code) {
  if (code === 0 || code === "0") return "success";
  return code === "warning" || code === "critical" || code === "abort" ? code : "error";
}

/** @param {{verdict: Verdict}} props */
export function Ended({ verdict }) {
  const [state, word] = VERDICTS[verdict];
  return html`<${State} state=${state} word=${word} />`;
}

/**
 * A job as a bar.
 * @param {{verdict: Verdict, completed: number, elapsed: number, id?: string}} job
 * @returns {import("../../runs/bars.js").Span}
 */
export function barOf({ verdict, completed, elapsed, id }) {
  const [, word, look] = VERDICTS[verdict];
  return { look, word, ended: completed, duration: elapsed, to: id ? jobLink(id) : "" };
}

/** The recent jobs of an event as bars, newest first. @param {EventRow} row */
export function recentBars(row) {
  return row.recent.map((one) => barOf({ ...one, verdict: one.failed ? "error" : "success" })).reverse();
}

export const COLOURS = ["plain", "red", "orange", "yellow", "green", "teal", "skyblue", "blue", "purple", "pink"];

/** The colour of a category as a dot. @param {{color: string | undefined}} props */
export function Dot({ color = "plain" }) {
  const known = COLOURS.includes(color);
  return html`<span class=${`dot dot-${known ? color : "plain"}`} style=${!known && /^#[0-9a-f]{3,8}$/i.test(color) ? { background: color } : {}} aria-hidden="true"></span>`;
}
