/** Types, labels and links shared by the pages of the archive. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { State } from "../../kit/state.js";

/**
 * @typedef {"queued" | "running" | "paused" | "completed" | "aborted" | "failed"} CrawlState
 * @typedef {{id: string, url: string, is_list: boolean, fetch_depth: "inf" | "shallow", state: CrawlState, is_aborting: boolean, reason: string,
 *   note: string, started_by: string, queue: string, pipeline: string, nickname: string, queued_at: number | null, started_at: number | null,
 *   finished_at: number | null, items_downloaded: number, urls_left: number, error_count: number, responses: number, bytes_downloaded: number,
 *   warc_size: number, rate: number | null, byte_rate: number | null, delay_min: number, delay_max: number, concurrency: number}} Crawl
 * @typedef {Record<CrawlState, number>} Counts
 * @typedef {{items: Crawl[], next: string | null, count: number, counts: Counts, moment: string}} CrawlsPage
 * @typedef {{row: Crawl, explanation: string, expires_in: number | null, is_past: boolean, url_file: string, started_in: string, slug: string,
 *   user_agent: string, no_offsite_links: boolean, grabber: string, phantomjs_wait: number, phantomjs_scroll: number,
 *   options: {obeys_robots: boolean, dedups_before: boolean, makes_wacz: boolean, most_bytes: number, most_urls: number, has_cookies: boolean, offsite_depth: number},
 *   r1xx: number, r2xx: number, r3xx: number, r4xx: number, r5xx: number, runk: number, settings_age: number, reports_ignores: boolean, ignores: number}} Shown
 * @typedef {{id: string, ident: string, url: string, state: CrawlState, fetch_depth: "inf" | "shallow", note: string, reason: string, started_by: string,
 *   nickname: string, queued_at: number | null, started_at: number | null, finished_at: number | null, items_downloaded: number, error_count: number,
 *   bytes_downloaded: number, warc_size: number, files: number}} Past
 * @typedef {{index: number, type: "download" | "ignore" | "stdout", ts: number, url: string, response_code: number | null, wget_code: string,
 *   is_error: boolean, is_warning: boolean, pattern: string, message: string}} Line
 */

/** @type {Record<CrawlState, [state: string, word: string]>} */
const STATES = {
  running: ["running", "running"],
  queued: ["none", "queued"],
  paused: ["paused", "paused"],
  completed: ["ok", "completed"],
  aborted: ["unknown", "aborted"],
  failed: ["critical", "failed"],
};

/** @param {{row: {state: CrawlState, is_aborting?: boolean}}} props */
export function Standing({ row }) {
  const [state, word] = row.is_aborting ? ["unknown", "aborting"] : STATES[row.state];
  return html`<${State} state=${state} word=${word} />`;
}

/** @param {CrawlState} state */
export const isOver = (state) => state === "completed" || state === "aborted" || state === "failed";

/** @param {string} ident */
export const crawlLink = (ident) => url("/archive/crawl", { ident });

/** The list of archived pages. @param {string} ident */
export const pagesLink = (ident) => url("/archive/pages", { ident });

/** @param {string} ident @param {string} page @param {string} at */
export const pageLink = (ident, page, at) => url("/archive/page", { ident, url: page, at });

/** @param {string} ident */
export const crawlPath = (ident) => `/archive/crawls/${encodeURIComponent(ident)}`;

/** @param {{fetch_depth: "inf" | "shallow", is_list?: boolean}} row */
export const kindOf = (row) => (row.is_list ? "list of URLs" : row.fetch_depth === "shallow" ? "single page" : "site");

/** As `12.5/s`. @param {number | null} rate */
export const perSecond = (rate) => (rate === null ? "–" : `${rate >= 100 ? Math.round(rate).toLocaleString("en") : Number(rate.toFixed(1))}/s`);

/** @param {number} count */
export const number = (count) => count.toLocaleString("en");
