/** Runs in tables: current ones, then finished ones. */

import { html } from "htm/preact";
import { url, useFetched, useList } from "../../api.js";
import { useQuery } from "../../location.js";
import { Button, Choice } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { Listed, Table } from "../../kit/table.js";
import { Since, When } from "../../kit/time.js";
import { useChanges } from "./changes.js";
import { took } from "../../times.js";
import { bytes } from "../../words.js";
import { runLink, Status } from "./words.js";

/** @typedef {import("./words.js").Run} Run */

const PAGE = 25;

/** @type {[value: string, words: string][]} */
const WHICH = [["", "All"], ["fail", "Failed"], ["success", "Succeeded"]];

/** @param {{job?: string}} props of one job, or of all */
export function Runs({ job = "" }) {
  const [query, setQuery] = useQuery();
  const only = query.get("only") ?? "";
  const actions = html`<${Choice} label="Filter by result" value=${only} options=${WHICH} onChange=${(/** @type {string} */ to) => setQuery({ only: to })} />`;
  const active = useFetched(url("/cron/runs/active", { job }));
  const list = useList(url("/cron/runs", { job, only, limit: PAGE }));
  // Keep the place of readers who have loaded more pages.
  useChanges(() => {
    active.reload();
    if (list.items.length <= PAGE) list.reload();
  }, 500);
  const running = /** @type {Run[]} */ (active.value?.items ?? []);
  const columns = columnsOf(job === "");
  const id = (/** @type {Run} */ run) => run.id;
  const to = (/** @type {Run} */ run) => runLink(run.id);
  return html`${running.length > 0 && html`<${Card} flush title="Running"><${Table} columns=${columns} rows=${running} id=${id} to=${to} label="Current runs" keys=${false} /><//>`}
    <${Card} flush title="Finished" actions=${actions}>
      <${Listed} list=${list} columns=${columns} id=${id} to=${to} label="Finished runs"
        empty=${only
          ? html`<${Empty} title="No runs match these filters." action=${html`<${Button} onClick=${() => setQuery({ only: null })}>Clear filters<//>`} />`
          : html`<${Empty} title="No finished runs yet.">The latest runs of each job are listed here.<//>`} />
    <//>`;
}

/** @typedef {import("../../kit/table.js").Column<Run>} Column */

/** @param {boolean} hasJob @returns {Column[]} */
function columnsOf(hasJob) {
  /** @type {Column} */
  const job = { head: "Job", kind: "main", cell: (run) => html`<a href=${runLink(run.id)}>${run.job}</a>` };
  return [{ head: "Status", kind: "tight", cell: (run) => html`<${Status} status=${run.status} />` }, ...(hasJob ? [job] : []), ...COLUMNS];
}

/** @type {Record<Run["why"], string>} */
const WHY = { schedule: "scheduled", late: "late", trigger: "manual", retry: "retry" };

/** @type {Column[]} */
const COLUMNS = [
  { head: "Started", cell: (run) => html`<a href=${runLink(run.id)}><${When} at=${run.start} as="short" /></a>` },
  { head: "Duration", kind: "number", cell: (run) => (run.duration === null ? html`<${Since} since=${run.start} />` : took(run.duration)) },
  { head: "Result", cell: (run) => (run.words === "done" ? html`<span class="soft">done</span>` : run.words) },
  { head: "Memory", kind: "number", hide: "phone", cell: (run) => (run.memory > 0 ? bytes(run.memory) : html`<span class="soft">–</span>`) },
  { head: "Trigger", hide: "phone", cell: (run) => html`<span class="soft">${WHY[run.why]}${run.attempts > 1 && `, attempt ${run.attempt} of ${run.attempts}`}</span>` },
  { head: "Host", hide: "phone", cell: (run) => html`<span class="soft">${run.host}</span>` },
];
