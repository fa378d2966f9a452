/** Runs: jobs, cron runs and crawls in progress, queued and finished, and a search of finished jobs. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { url, useFetched, useList } from "../api.js";
import { useLive } from "../live.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { Button, Choice } from "../kit/form.js";
import { Card, Empty, Failed, Loading, Page, Tabs } from "../kit/layout.js";
import { Chip } from "../kit/state.js";
import { Listed, Table } from "../kit/table.js";
import { Since } from "../kit/time.js";
import { took } from "../times.js";
import { bytes } from "../words.js";
import { titleOf, useOptions } from "./events/words.js";
import { useReload, useSoon } from "./jobs/soon.js";
import { SearchJobs } from "./jobs/search.js";
import { Waiting } from "./jobs/waiting.js";
import { Ended, EndedAt, ownTags, percent, Progress, runLink, StartedBy } from "./jobs/words.js";

/** @typedef {import("./jobs/words.js").Run} Run */
/** @typedef {import("./events/words.js").Options} Options */

const PAGE = 50;
/** @type {[value: string, words: string][]} */
const KINDS = [["", "All"], ["job", "Jobs"], ["cron", "Cron"], ["archive", "Archive"]];
/** @type {[value: string, words: string][]} */
const RESULTS = [["", "All"], ["error", "Failed"], ["success", "Succeeded"]];

export default function Runs() {
  const [query] = useQuery();
  const [changes, setChanges] = useState(0);
  const [counts, setCounts] = useState(/** @type {{active: number, queued: number, delayed: number} | null} */ (null));
  const changed = useSoon(() => setChanges((count) => count + 1), 1000);
  useLive("/live?topics=jobs&topics=cron&topics=archive", {
    jobs: (found) => {
      setCounts(found);
      changed();
    },
    cron: changed,
    archive: changed,
    reset: changed,
  });
  const tab = query.get("tab") ?? "active";
  const waiting = counts ? counts.queued + counts.delayed : 0;
  const body = { queued: Waiting, finished: Finished, search: SearchJobs }[tab] ?? Active;
  return html`<${Page} wide title="Runs" lead="Jobs of events, runs of cron jobs, and crawls." actions=${may("create_events") && html`<${Button} kind="main" href="/events/new">New event<//>`}>
    <${Tabs} tabs=${[["active", "In progress"], ["queued", html`Queued${waiting > 0 && html` <span class="soft">${waiting.toLocaleString("en")}</span>`}`], ["finished", "Finished"], ["search", "Search"]]} />
    <${body} changes=${changes} />
  <//>`;
}

/** @param {{kind: string, only?: string}} props */
function Filters({ kind, only }) {
  const [, setQuery] = useQuery();
  return html`<div class="bar-of">
    <${Choice} label="Filter by kind" value=${kind} options=${KINDS} onChange=${(/** @type {string} */ to) => setQuery({ kind: to })} />
    ${only !== undefined && html`<${Choice} label="Filter by result" value=${only} options=${RESULTS} onChange=${(/** @type {string} */ to) => setQuery({ only: to })} />`}
  </div>`;
}

/** @param {{changes: number}} props */
function Active({ changes }) {
  const [query, setQuery] = useQuery();
  const kind = query.get("kind") ?? "";
  const options = useOptions().value;
  const fetched = useFetched(url("/runs/active", { kind }), { every: 3 });
  useReload(changes, fetched.reload);
  const items = /** @type {Run[]} */ (fetched.value?.items ?? []);
  const rest = (fetched.value?.total ?? 0) - items.length;
  const empty = kind
    ? html`<${Empty} title="No runs match these filters." action=${html`<${Button} onClick=${() => setQuery({ kind: null })}>Clear filters<//>`} />`
    : html`<${Empty} title="Nothing is running." action=${html`<div class="actions"><${Button} href="/events">Run an event<//><${Button} href="/jobs?tab=finished">Show finished runs<//></div>`}>Jobs, cron runs and crawls appear here as soon as they start.<//>`;
  return html`<${Filters} kind=${kind} />
    <div class="run-table"><${Card} flush>
      ${fetched.value === null && fetched.problem && html`<${Failed} problem=${fetched.problem} retry=${fetched.reload} />`}
      ${fetched.value === null && !fetched.problem && html`<${Loading} lines=${6} />`}
      ${fetched.value !== null && (items.length === 0 ? empty : html`<${Table} columns=${active(options)} rows=${items} id=${id} to=${runLink} label="Runs in progress" />`)}
      ${rest > 0 && html`<div class="more soft">and ${rest.toLocaleString("en")} more</div>`}
    <//></div>`;
}

/** @param {{changes: number}} props */
function Finished({ changes }) {
  const [query, setQuery] = useQuery();
  const [kind, only] = [query.get("kind") ?? "", query.get("only") ?? ""];
  const options = useOptions().value;
  const list = useList(url("/runs", { kind, only, limit: PAGE }));
  // Keep the place of readers who have loaded more pages.
  useReload(changes, () => list.items.length <= PAGE && list.reload());
  const clear = () => setQuery({ kind: null, only: null });
  return html`<${Filters} kind=${kind} only=${only} />
    <div class="run-table"><${Card} flush><${Listed} list=${list} columns=${finished(options)} id=${id} to=${runLink} label="Finished runs"
      empty=${kind || only
        ? html`<${Empty} title="No runs match these filters." action=${html`<${Button} onClick=${clear}>Clear filters<//>`} />`
        : html`<${Empty} title="No finished runs yet." action=${html`<${Button} href="/events">Run an event<//>`} />`} /><//></div>`;
}

/** @param {Run} run */
const id = (run) => `${run.kind} ${run.id}`;

/** @param {{run: Run, options: Options | null}} props */
function Name({ run, options }) {
  const tags = ownTags(run.tags);
  return html`<div class="run-name"><a href=${runLink(run)}>${run.title}</a>
    ${run.kind !== "job" && html` <${Chip} tone="soft">${run.kind}<//>`}${tags.slice(0, 3).map((tag) => html` <${Chip}>${titleOf(options?.tags, tag)}<//>`)}
    <div class="soft run-words">${said(run)}</div></div>`;
}

/** What its state does not say. @param {Run} run */
function said(run) {
  return run.words === "done" || run.words === "running" ? "" : run.words;
}

/** @typedef {import("../kit/table.js").Column<Run>} Column */

/** @param {Options | null} options @returns {Column} */
const named = (options) => ({ head: "Run", kind: "main", cell: (run) => html`<${Name} run=${run} options=${options} />` });
/** @type {Column} */
const WHERE = { head: "Server", cell: (run) => run.where || html`<span class="soft">–</span>` };
/** @type {Column} */
const BY = { head: "Started by", hide: "phone", cell: (run) => html`<${StartedBy} of=${run} />` };
/** @type {Column} */
const MEMORY = { head: "Memory", kind: "number", hide: "phone", cell: (run) => (run.memory ? bytes(Math.round(run.memory)) : html`<span class="soft">–</span>`) };
/** @type {Column} */
const CPU = { head: "CPU", kind: "number", hide: "phone", cell: (run) => (run.cpu === null ? html`<span class="soft">–</span>` : percent(run.cpu)) };

/** @param {Options | null} options @returns {Column[]} */
const active = (options) => [
  { head: "Status", kind: "tight", cell: () => html`<${Ended} verdict="" />` },
  named(options),
  { head: "Progress", cell: (run) => (run.progress > 0 ? html`<div class="run-progress"><${Progress} value=${run.progress} label=${`Progress of ${run.title}`} /><span class="soft">${percent(run.progress * 100)}</span></div>` : html`<span class="soft">–</span>`) },
  { head: "Running for", kind: "number", cell: (run) => html`<${Since} since=${Math.floor(run.start)} />` },
  WHERE,
  CPU,
  MEMORY,
  BY,
];

/** @param {Options | null} options @returns {Column[]} */
const finished = (options) => [
  { head: "Status", kind: "tight", cell: (run) => html`<${Ended} verdict=${run.verdict} />` },
  named(options),
  { head: "Ended", kind: "tight", cell: (run) => html`<${EndedAt} at=${run.ended} />` },
  { head: "Duration", kind: "number", cell: (run) => (run.duration === null ? html`<span class="soft">–</span>` : took(run.duration)) },
  WHERE,
  CPU,
  MEMORY,
  BY,
];
