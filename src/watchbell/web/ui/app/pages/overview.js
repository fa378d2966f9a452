/** The overview: what fails now, problems of Watchbell itself, jobs, recent alerts and cron runs. */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { url, useFetched } from "../api.js";
import { counted } from "../words.js";
import { useLive } from "../live.js";
import { Card, Fetched, Page } from "../kit/layout.js";
import { Mark, State } from "../kit/state.js";
import { When } from "../kit/time.js";
import { Crawls } from "./overview/crawls.js";
import { Handled, Open } from "./overview/failing.js";
import { First, NobodyNotified } from "./overview/first.js";
import { Jobs, ServersDown } from "./overview/jobs.js";
import { Rate, rate } from "./overview/rate.js";
import { Runs } from "./overview/runs.js";
import { Sent } from "./overview/sent.js";

/**
 * @typedef {{ok: number, warning: number, critical: number, unknown: number, acknowledged: number, maintenance: number}} Counts
 * @typedef {{kind: string, subject: string, words: string, state: string}} Trouble
 * @typedef {{checks: number, counts: Counts | null, failing: import("./overview/failing.js").Failing, is_complete: boolean, latest_change: number | null,
 *   alerts: import("./check/alerts.js").Alert[], runs: import("./overview/runs.js").Known, jobs: import("./overview/jobs.js").Known, crawls: import("./overview/crawls.js").Known, queues: {name: string, length: number}[],
 *   events: number, troubles: Trouble[]}} Seen
 */

export default function Overview() {
  const seen = useFetched("/overview", { every: 15 });
  const soon = useSoon(seen.reload, 1500);
  useLive(url("/live", { topics: ["checks", "alerts", "cron", "jobs", "archive", "servers", "queues", "gateways"] }), {
    checks: soon,
    alerts: soon,
    cron: soon,
    jobs: soon,
    archive: soon,
    servers: soon,
    gateways: soon,
    queues: (update) => rate.set(update.rate),
    reset: soon,
  });
  return html`<${Page} title="Overview">
    <${Fetched} of=${seen} lines=${10}>
      ${(/** @type {Seen} */ value) => (isNew(value) ? html`<${Troubles} troubles=${value.troubles} /><${First} jobs=${value.jobs} /><${Rest} seen=${value} isFirst />` : html`
        <${NobodyNotified} />
        <${Verdict} seen=${value} />
        <${Troubles} troubles=${value.troubles} />
        ${value.failing.open.length > 0 && html`<${Open} failing=${value.failing} isComplete=${value.is_complete} reload=${seen.reload} />`}
        <${Handled} failing=${value.failing} />
        <${Rest} seen=${value} />`)}
    <//>
  <//>`;
}

/** Whether nothing has reported but the servers themselves. @param {Seen} seen */
function isNew({ checks, jobs, failing }) {
  return checks <= jobs.servers && failing.open_count === 0;
}

/**
 * Limits how often a function is called.
 * @param {() => void} call
 * @param {number} wait milliseconds
 */
function useSoon(call, wait) {
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const last = useRef(Date.now());
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    if (timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      last.current = Date.now();
      call();
    }, Math.max(0, last.current + wait - Date.now()));
  };
}

/** Whether somebody has to act. @param {{seen: Seen}} props */
function Verdict({ seen }) {
  const { failing, counts } = seen;
  const handled = failing.acknowledged_count + failing.maintenance_count;
  const open = failing.open_count;
  const state = open > 0 ? (failing.open[0]?.state ?? "critical") : handled > 0 ? "acknowledged" : "ok";
  return html`<section class=${`overview-verdict overview-is-${state}`} aria-live="polite" aria-label="Current status">
    <${Mark} state=${state} />
    <div class="overview-words">
      <p class="overview-title">${title(open, handled, seen.is_complete)}</p>
      <p class="soft">${open + handled === 0 && html`${counted(counts ? counts.ok : seen.checks, "check")} ok${seen.latest_change !== null && html` since <${When} at=${seen.latest_change} as="exact" /> (<${When} at=${seen.latest_change} />)`}.`}
        ${open === 0 && handled > 0 && "All failing checks are acknowledged or in maintenance."}
        ${open > 0 && handled > 0 && `${handled.toLocaleString("en")} more acknowledged or in maintenance.`}</p>
    </div>
    ${counts && html`<${Tally} counts=${counts} />`}
  </section>`;
}

/** @param {number} open @param {number} handled @param {boolean} isComplete */
function title(open, handled, isComplete) {
  const many = (/** @type {number} */ count) => `${isComplete ? "" : "At least "}${counted(count, "check")}`;
  if (open > 0) return `${many(open)} ${open === 1 ? "needs" : "need"} attention`;
  if (handled > 0) return `${many(handled)} failing`;
  return "All checks are ok";
}

/** @type {[name: keyof Counts, query: string][]} */
const TALLIES = [
  ["critical", "state=critical"],
  ["warning", "state=warning"],
  ["unknown", "state=unknown"],
  ["acknowledged", "show=acknowledged"],
  ["maintenance", "show=maintenance"],
  ["ok", "state=ok"],
];

/** @param {{counts: Counts}} props */
function Tally({ counts }) {
  return html`<ul class="overview-tally">${TALLIES.map(([name, query]) => html`<li><a href=${`/checks?${query}`} class=${counts[name] === 0 ? "overview-none" : ""}>
    <strong>${counts[name].toLocaleString("en")}</strong><${State} state=${name} /></a></li>`)}</ul>`;
}

/** @param {{seen: Seen, isFirst?: boolean}} props `isFirst`: leave out what is empty */
function Rest({ seen, isFirst = false }) {
  const { jobs, runs } = seen;
  const hasJobs = jobs.events + jobs.finished + jobs.active > 0;
  return html`<div class="columns">
    <div>
      <${ServersDown} jobs=${jobs} />
      ${(!isFirst || hasJobs) && html`<${Jobs} jobs=${jobs} />`}
      <${Crawls} crawls=${seen.crawls} />
      ${(!isFirst || seen.alerts.length > 0) && html`<${Sent} alerts=${seen.alerts} />`}
    </div>
    <div>
      <${Rate} queues=${seen.queues} />
      ${(runs.jobs > 0 || runs.last.length > 0) && html`<${Runs} runs=${runs} />`}
    </div>
  </div>`;
}

/** @type {Record<string, string>} */
const PLACES = { gateway: "/gateways", process: "/system", role: "/system", store: "/system", rejected: "/rejected" };
const MOST_TROUBLES = 6;

/** @param {Trouble} one */
const placeOf = (one) => (one.kind === "check" ? url("/check", { id: one.subject }) : (PLACES[one.kind] ?? "/system"));

/** Problems of Watchbell itself, the worst first. @param {{troubles: Trouble[]}} props */
function Troubles({ troubles }) {
  if (troubles.length === 0) return null;
  const sorted = [...troubles].sort((a, b) => Number(b.state === "critical") - Number(a.state === "critical"));
  return html`<${Card} title="Watchbell problems">
    <ul class="overview-list overview-troubles">${sorted.slice(0, MOST_TROUBLES).map((one) => html`<li><${Mark} state=${one.state} /><a href=${placeOf(one)}>${one.kind === "gateway" ? `Gateway ${one.subject}` : one.subject}</a><span>${one.words}</span></li>`)}</ul>
    ${sorted.length > MOST_TROUBLES && html`<p class="soft">and ${sorted.length - MOST_TROUBLES} more on <a href="/system">System</a></p>`}
  <//>`;
}
