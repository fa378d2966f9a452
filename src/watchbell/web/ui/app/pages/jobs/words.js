/** Types, labels and links shared by the pages of jobs and runs. */

import { html } from "htm/preact";
import { useCell } from "../../cell.js";
import { State } from "../../kit/state.js";
import { When } from "../../kit/time.js";
import { clock } from "../../times.js";
import { crawlLink } from "../archive/words.js";
import { jobLink as cronJobLink, runLink as cronRunLink } from "../cron/words.js";
import { eventLink } from "../events/words.js";

/**
 * @typedef {"" | "success" | "error" | "warning" | "critical" | "abort"} Verdict
 * @typedef {"queued" | "start_delay" | "retry_delay" | "ready" | "active" | "finishing" | "complete"} JobState
 * @typedef {{id: string, event: string, title: string, state: JobState, words: string, verdict: Verdict, category: string, plugin: string, server: string,
 *   hostname: string, source: string, username: string, launched: number, started: number, completed: number, elapsed: number, until: number | null,
 *   progress: number, status: string, code: number | string, description: string, tags: string[], cpu: number | null, memory: number | null,
 *   retry_count: number, retried: boolean, files: number, log_size: number}} JobRow
 * @typedef {"job" | "cron" | "archive"} Kind
 * @typedef {{kind: Kind, id: string, name: string, title: string, category: string, verdict: Verdict, words: string, start: number,
 *   ended: number | null, duration: number | null, where: string, source: string, username: string, progress: number, cpu: number | null,
 *   memory: number | null, tags: string[]}} Run a job, a run of a cron job, or a crawl
 */

/** @param {string} id */
export const jobLink = (id) => `/jobs/job?id=${encodeURIComponent(id)}`;
/** @param {{kind: string, id: string, name: string}} run */
export const runLink = (run) => (run.kind === "cron" ? cronRunLink(run.id) : run.kind === "archive" ? crawlLink(run.name) : jobLink(run.id));

/** The page of what runs. @param {{kind: Kind, name: string}} one */
export const subjectLink = (one) => (one.kind === "cron" ? cronJobLink(one.name) : one.kind === "archive" ? crawlLink(one.name) : eventLink(one.name));

/** @type {Record<string, [state: string, word: string]>} */
const VERDICTS = {
  success: ["ok", "succeeded"],
  warning: ["warning", "warning"],
  critical: ["critical", "critical"],
  error: ["critical", "failed"],
  abort: ["unknown", "aborted"],
  "": ["running", "running"],
};

/** @type {Partial<Record<JobState, [state: string, word: string]>>} */
const STATES = {
  queued: ["paused", "queued"],
  ready: ["running", "about to start"],
  start_delay: ["paused", "delayed"],
  retry_delay: ["paused", "waiting to retry"],
  active: ["running", "running"],
  finishing: ["running", "finishing"],
};

/** How something ended. @param {Verdict} verdict */
export const verdictOf = (verdict) => VERDICTS[verdict] ?? ["none", verdict];

/** What a job does or how it ended. @param {JobRow} row @returns {[state: string, word: string]} */
export const standingOf = (row) => STATES[row.state] ?? verdictOf(row.verdict);

/** @param {{verdict: Verdict}} props */
export function Ended({ verdict }) {
  const [state, word] = verdictOf(verdict);
  return html`<${State} state=${state} word=${word} />`;
}

/** @param {{row: JobRow}} props */
export function Standing({ row }) {
  const [state, word] = standingOf(row);
  return html`<${State} state=${state} word=${word} />`;
}

/** How long ago, or of older ones the time. @param {{at: number | null}} props */
export function EndedAt({ at }) {
  const now = useCell(clock);
  if (at === null) return html`<span class="soft">–</span>`;
  return html`<${When} at=${Math.floor(at)} as=${now - at < 3600 ? "ago" : "short"} />`;
}

/** @type {Record<string, string>} */
const SOURCES = {
  scheduler: "schedule",
  schedule: "schedule",
  late: "schedule, late",
  retry: "retry",
  trigger: "manually",
  user: "manually",
  key: "API key",
  action: "action of a job",
  alert: "alert",
  startup: "start of Watchbell",
};

/** What started it, as `schedule`, `alice` or `API key of alice`. @param {{source: string, username: string}} of */
export function startedBy({ source, username }) {
  if (source === "user" && username) return username;
  const words = SOURCES[source] ?? source;
  return username ? `${words} of ${username}` : words;
}

/** @param {{of: {source: string, username: string}}} props */
export function StartedBy({ of }) {
  const words = startedBy(of);
  return html`<span class="soft run-by" title=${words}>${words}</span>`;
}

/**
 * Progress as a bar; nothing if none is reported.
 * @param {{value: number, label?: string}} props from 0 to 1
 */
export function Progress({ value, label = "Progress" }) {
  if (!(value > 0)) return null;
  const percent = Math.min(100, Math.round(value * 100));
  return html`<div class="progress" role="progressbar" aria-label=${label} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${percent}>
    <div class="progress-done" style=${{ width: `${percent}%` }}></div></div>`;
}

/** Percent of one core. @param {number} value */
export const percent = (value) => `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} %`;

/** Tags that people gave; those that begin with `_` are Watchbell's. @param {string[]} tags */
export const ownTags = (tags) => tags.filter((tag) => !tag.startsWith("_"));
