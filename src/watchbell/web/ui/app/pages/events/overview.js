/** How an event is doing: next runs, durations of its jobs, and the last of them. */

import { html } from "htm/preact";
import { url, useFetched } from "../../api.js";
import { Card, Empty, Facts } from "../../kit/layout.js";
import { Chip, State } from "../../kit/state.js";
import { Table } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { Bars } from "../../runs/bars.js";
import { took } from "../../times.js";
import { counted } from "../../words.js";
import { useChanges } from "./changes.js";
import { NextRuns } from "./preview.js";
import { WorkflowView } from "../workflow/workflow_view.js";
import { barOf, Dot, Ended, isWorkflow, jobLink, recentBars, titleOf } from "./words.js";

/** @typedef {import("./words.js").EventShown} EventShown */
/** @typedef {import("./words.js").Options} Options */
/** @typedef {{id: string, state: string, words: string, verdict: "" | import("./words.js").Verdict, server: string, hostname: string, source: string, username: string,
 *   plugin: string, launched: number, started: number, completed: number, elapsed: number, description: string, code: number | string, progress: number}} JobRow */

const LAST = 10;

/** @param {{shown: EventShown, options: Options}} props */
export function Overview({ shown, options }) {
  const { event, row, next, statistics } = shown;
  const live = useFetched(url("/jobs", { event: event.id, limit: 50 }));
  const finished = useFetched(url("/jobs/search", { event: event.id, limit: 100 }));
  useChanges(() => {
    live.reload();
    finished.reload();
  }, 1_000);
  // Jobs that a workflow's nodes run without an event of their own are shown in its runs.
  const isOwn = (/** @type {JobRow} */ job) => !isWorkflow(event) || job.plugin === event.plugin;
  const done = /** @type {JobRow[]} */ (finished.value?.items ?? []).filter(isOwn);
  const bars = done.length > 0 ? done.flatMap((job) => (job.verdict ? [barOf({ ...job, verdict: job.verdict })] : [])) : recentBars(row);
  const jobs = [.../** @type {JobRow[]} */ (live.value?.items ?? []).filter(isOwn), ...done.slice(0, LAST)];
  const category = options.categories.find((one) => one.id === event.category);
  const algorithm = options.algorithms.find((one) => one.id === event.algo)?.words ?? event.algo;
  return html`${isWorkflow(event) && html`<${Card} title="Graph"><${WorkflowView} event=${event} options=${options} /><//>`}
    <div class="job-columns">
      <div>
        <${Card} title="Duration of recent jobs">${bars.length > 0 ? html`<${Bars} spans=${bars} />` : html`<p class="soft">No finished jobs yet.</p>`}
          <${Numbers} statistics=${statistics} />
        <//>
        <${Card} flush title="Jobs" actions=${done.length > 0 && html`<a href=${url("/jobs", { tab: "search", event: event.id })}>All jobs</a>`}>
          ${jobs.length > 0
            ? html`<${Table} columns=${COLUMNS} rows=${jobs} id=${(/** @type {JobRow} */ job) => job.id} to=${(/** @type {JobRow} */ job) => jobLink(job.id)} label="Jobs" />`
            : html`<${Empty} title="No jobs yet.">Run it now, or wait for its next run.<//>`}
        <//>
      </div>
      <div>
        <${Card} title="Next runs"><${NextRuns} next=${next} none=${event.enabled ? "It has no scheduled runs." : "It is disabled."} /><//>
        <${Card} title="Definition"><div class="event-facts"><${Facts} rows=${[
          ["Category", html`<${Dot} color=${category?.color} /> ${category?.title ?? event.category}`],
          !isWorkflow(event) && ["Plugin", titleOf(options.plugins, event.plugin)],
          ["Runs on", html`${event.targets.map((/** @type {string} */ id) => titleOf(options.targets, id)).join(", ")}<div class="soft">${algorithm}</div>`],
          event.tags.length > 0 && ["Tags", event.tags.map((/** @type {string} */ tag) => html`<${Chip} href=${url("/events", { tag })}>${titleOf(options.tags, tag)}<//>`)],
          event.limits.length > 0 && ["Limits", counted(event.limits.length, "limit")],
          event.actions.length > 0 && ["Actions", counted(event.actions.length, "action")],
          ["Changed", html`<${When} at=${event.modified} />${event.username && ` by ${event.username}`}`],
          ["Id", html`<code>${event.id}</code>`],
          event.notes && ["Notes", html`<div class="notes">${event.notes}</div>`],
        ]} /></div><//>
      </div>
    </div>`;
}

/** @param {{statistics: EventShown["statistics"]}} props */
function Numbers({ statistics }) {
  if (statistics.count === 0) return null;
  const words = [counted(statistics.count, "job"), statistics.mean !== null && `${took(statistics.mean)} on average`];
  return html`<p class="soft">${words.filter(Boolean).join(", ")}.
    ${statistics.failures > 0 && html` <span class="bad">${statistics.failures === 1 ? "The last one failed." : `The last ${statistics.failures} failed.`}</span>`}</p>`;
}

/** @type {Record<string, string>} */
const SOURCES = { scheduler: "schedule", user: "", key: "API key", action: "action", startup: "start of Watchbell" };

/** @type {import("../../kit/table.js").Column<JobRow>[]} */
const COLUMNS = [
  { head: "Job", kind: "main", cell: (job) => html`<a href=${jobLink(job.id)}>${job.verdict ? html`<${Ended} verdict=${job.verdict} />` : html`<${State} state=${job.state === "active" ? "running" : "acknowledged"} word=${job.state === "active" ? "running" : "waiting"} />`}</a>
    <div class="soft job-said">${job.verdict ? job.description : job.words}</div>` },
  { head: "Started", cell: (job) => html`<${When} at=${job.started || job.launched} />` },
  { head: "Duration", kind: "number", cell: (job) => (job.started ? took(job.elapsed) : "–") },
  { head: "Server", cell: (job) => job.hostname || html`<span class="soft">–</span>` },
  { head: "By", cell: (job) => [SOURCES[job.source] ?? job.source, job.username].filter(Boolean).join(" ") || html`<span class="soft">–</span>` },
];
