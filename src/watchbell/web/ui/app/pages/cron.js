/** The list of cron jobs with schedule, next and last run. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, url, useFetched, useList } from "../api.js";
import { useCell } from "../cell.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { Button, Choice, Search } from "../kit/form.js";
import { Card, Empty, Page, Tabs } from "../kit/layout.js";
import { State } from "../kit/state.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";
import { attempt } from "../kit/toast.js";
import { Sparkline } from "../runs/bars.js";
import { clock, lasting, took } from "../times.js";
import { Fleet } from "./cron/fleet.js";
import { ImportDialog } from "./cron/import.js";
import { Missed } from "./cron/missed.js";
import { ChangeStream, useChanges } from "./cron/changes.js";
import { Runs } from "./cron/runs.js";
import { Strip } from "./cron/strip.js";
import { counted } from "../words.js";
import { barOf, jobLink, runLink, Status } from "./cron/words.js";

/** @typedef {import("./cron/words.js").Job} Job */

const PAGE = 50;
/** The server's list of jobs may lag behind the live events by this much. */
const SETTLED_MS = 1_700;
const KINDS = /** @type {const} */ (["failing", "running", "paused", "invalid"]);
/** @type {Record<string, string>} */
const KIND_WORDS = { failing: "Failing", running: "Running", paused: "Paused", invalid: "Invalid" };

export default function Cron() {
  const [query] = useQuery();
  const [isImporting, setIsImporting] = useState(false);
  const [serial, setSerial] = useState(0);
  const tab = query.get("tab") ?? "jobs";
  const actions = may("write") && html`<a class="button" href="/api/v1/cron/export" download>Export</a>
    <${Button} onClick=${() => setIsImporting(true)}>Import<//>
    <${Button} kind="main" href="/cron/new">New job<//>`;
  return html`<${Page} wide title="Cron" actions=${actions}>
    <${ChangeStream} />
    <${Tabs} tabs=${[["jobs", "Jobs"], ["runs", "Runs"], ["missed", "Missed"], ["fleet", "Instances"]]} />
    ${tab === "runs" ? html`<${Runs} />` : tab === "missed" ? html`<${Missed} />` : tab === "fleet" ? html`<${Fleet} />` : html`<${Jobs} key=${serial} onImport=${() => setIsImporting(true)} />`}
    ${isImporting && html`<${ImportDialog} onClose=${() => setIsImporting(false)} onDone=${() => {
      setIsImporting(false);
      setSerial(serial + 1);
    }} />`}
  <//>`;
}

/** @param {{onImport: () => void}} props */
function Jobs({ onImport }) {
  const [query, setQuery] = useQuery();
  const [selected, setSelected] = useState(/** @type {Set<string>} */ (new Set()));
  const kind = query.get("kind") ?? "";
  const text = query.get("text") ?? "";
  const sort = query.get("sort") ?? "name";
  const list = useList(url("/cron/jobs", { text, sort: sort === "name" ? "" : sort, [kind || "paused"]: kind ? "true" : "", limit: PAGE }));
  // Keep the place of readers who have loaded more pages.
  useChanges(() => list.items.length <= PAGE && list.reload(), SETTLED_MS);
  const counts = list.first?.counts;
  const kinds = /** @type {[string, any][]} */ ([
    ["", html`All${counts && html` <span class="soft">${counts.all.toLocaleString("en")}</span>`}`],
    ...KINDS.map((one) => [one, html`${KIND_WORDS[one]}${counts && counts[one] > 0 && html` <span class=${one === "failing" || one === "invalid" ? "bad" : "soft"}>${counts[one].toLocaleString("en")}</span>`}`]),
  ]);
  const isFiltered = kind !== "" || text !== "";
  return html`
    <${MissedLately} />
    <${Strip} />
    <div class="bar-of">
      <${Search} value=${text} onSearch=${(/** @type {string} */ to) => setQuery({ text: to })} placeholder="Filter by name or command" />
      <${Choice} label="Filter by status" value=${kind} options=${kinds} onChange=${(/** @type {string} */ to) => setQuery({ kind: to })} />
      <select aria-label="Sort by" value=${sort} onChange=${(/** @type {any} */ event) => setQuery({ sort: event.currentTarget.value === "name" ? null : event.currentTarget.value })}>
        <option value="name">Name</option><option value="next">Next run</option><option value="last">Last run</option>
      </select>
    </div>
    ${selected.size > 0 && html`<${Bulk} names=${[...selected]} onDone=${() => {
      setSelected(new Set());
      list.reload();
    }} onClear=${() => setSelected(new Set())} />`}
    <div class="jobs"><${Card} flush>
      <${Listed} list=${list} columns=${COLUMNS} label="Jobs" id=${(/** @type {Job} */ job) => job.name} to=${(/** @type {Job} */ job) => jobLink(job.name)}
        ...${may("operate") ? { selected, onSelect: setSelected } : {}}
        empty=${isFiltered
          ? html`<${Empty} title="No jobs match these filters." action=${html`<${Button} onClick=${() => setQuery({ text: null, kind: null })}>Clear filters<//>`} />`
          : html`<${NoJobs} onImport=${onImport} />`} />
    <//></div>
    ${list.first && html`<p class="soft" role="status">${counted(list.first.total, "job")}</p>`}`;
}

/** @param {{onImport: () => void}} props */
function NoJobs({ onImport }) {
  const action = may("write") && html`<div class="actions"><${Button} kind="main" href="/cron/new">New job<//><${Button} onClick=${onImport}>Import a crontab<//></div>`;
  return html`<${Empty} title="No jobs yet." action=${action}>A job is a command with a schedule.<//>`;
}

/** @type {import("../kit/table.js").Column<Job>[]} */
const COLUMNS = [
  { head: "Job", kind: "main", cell: (job) => html`<div class="job-name"><a href=${jobLink(job.name)}>${job.name}</a>
    ${job.problems.length > 0
      ? html`<div class="bad">${job.problems.map((one) => (one.field ? `${one.field}: ${one.reason}` : one.reason)).join("; ")}</div>`
      : html`<div class="soft ellipsis mono">${job.command}</div>`}</div>` },
  { head: "Schedule", cell: (job) => html`<div class="job-words">${job.words || html`<span class="soft">–</span>`}</div>` },
  { head: "Next run", cell: (job) => html`<${Next} job=${job} />` },
  { head: "Last run", cell: (job) => html`<${Last} job=${job} />` },
  { head: "Recent runs", kind: "tight", cell: (job) => html`<${Sparkline} spans=${job.spans.map(barOf)} />` },
];

/** @param {{job: Job}} props */
export function Next({ job }) {
  const now = useCell(clock);
  if (job.state === "invalid") return html`<${State} state="critical" word="invalid" />`;
  if (job.state === "paused") return html`<${State} state="paused" word="paused" />`;
  const at = job.next.find((time) => time > now) ?? job.next.at(-1);
  if (at === undefined) return html`<span class="soft">not scheduled</span>`;
  return html`<div class="pair-of"><span><${When} at=${at} as="short" /></span><span class="soft">${at > now ? `in ${lasting(at - now, 2)}` : "now"}</span></div>`;
}

/** @param {{job: Job}} props */
function Last({ job }) {
  const run = job.running[0];
  if (run) return html`<a href=${runLink(run)}><${Status} status="running" />${job.running.length > 1 && ` ×${job.running.length}`}</a>`;
  if (!job.last) return html`<span class="soft">never</span>`;
  return html`<div class="pair-of"><a href=${runLink(job.last.id)} title=${job.last.words}><${Status} status=${job.last.status} /></a>
    <span class="soft"><${When} at=${job.last.ended} />${job.last.duration !== null && ` · ${took(job.last.duration)}`}</span></div>`;
}

/** @param {{names: string[], onDone: () => void, onClear: () => void}} props */
function Bulk({ names, onDone, onClear }) {
  const act = (/** @type {"trigger" | "pause" | "resume"} */ verb, /** @type {string} */ done) => async () => {
    const answer = await attempt(
      () => post(`/cron/jobs/${verb}`, { names }),
      (/** @type {{items: {name: string, done: boolean, reason: string}[]}} */ { items }) => {
        const failed = items.filter((one) => !one.done);
        const good = counted(items.length - failed.length, "job");
        return failed.length ? `${good} ${done}. Skipped: ${failed.map((one) => `${one.name} (${one.reason})`).join(", ")}` : `${good} ${done}.`;
      },
    );
    if (answer) onDone();
  };
  return html`<div class="bar-of bulk" role="group" aria-label="Actions for the selected jobs">
    <strong>${counted(names.length, "job")} selected</strong>
    <${Button} onClick=${act("trigger", "started")}>Run now<//>
    <${Button} onClick=${act("pause", "paused")}>Pause<//>
    <${Button} onClick=${act("resume", "resumed")}>Resume<//>
    <${Button} kind="quiet" onClick=${onClear}>Clear selection<//>
  </div>`;
}

/** A notice if scheduled runs were missed in the last 24 hours. */
function MissedLately() {
  const fetched = useFetched("/cron/omissions?limit=100", { every: 60 });
  const now = useCell(clock);
  const recent = (fetched.value?.items ?? []).filter((/** @type {{at: number}} */ one) => one.at > now - 86_400);
  if (recent.length === 0) return null;
  const names = [...new Set(recent.map((/** @type {{job: string}} */ one) => one.job))];
  return html`<div class="notice notice-warn notice-wide" role="status"><span>${counted(names.length, "job")} missed scheduled runs in the last 24 hours: ${names.slice(0, 3).join(", ")}${names.length > 3 && " …"}</span>
    <a class="button" href="/cron?tab=missed">Details</a></div>`;
}
