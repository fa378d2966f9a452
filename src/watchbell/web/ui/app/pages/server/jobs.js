/** The jobs of a server, now and lately. */

import { html } from "htm/preact";
import { url, useFetched, useInterval, useList } from "../../api.js";
import { Card, Fetched } from "../../kit/layout.js";
import { Listed, Table } from "../../kit/table.js";
import { Lasting } from "../../kit/time.js";
import { Ended, EndedAt, jobLink } from "../jobs/words.js";

/** @typedef {import("../jobs/words.js").JobRow} Job */

/** Seconds between two readings. */
const EVERY = 5;
const FEW = 5;

const idOf = (/** @type {Job} */ job) => job.id;
const linkOf = (/** @type {Job} */ job) => jobLink(job.id);

/** @type {import("../../kit/table.js").Column<Job>} */
const TITLE = { head: "Event", kind: "main", cell: (job) => html`<div><a href=${jobLink(job.id)}>${job.title || job.event}</a><div class="soft plain">${job.words}</div></div>` };

/** @type {import("../../kit/table.js").Column<Job>[]} */
const NOW = [
  TITLE,
  { head: "Progress", kind: "tight", cell: (job) => (job.progress > 0 ? `${Math.round(job.progress * 100)} %` : "–") },
  { head: "Runs for", kind: "tight", cell: (job) => html`<${Lasting} seconds=${Math.round(job.elapsed)} />` },
];

/** @type {import("../../kit/table.js").Column<Job>[]} */
const ENDED = [
  TITLE,
  { head: "Result", kind: "tight", cell: (job) => html`<${Ended} verdict=${job.verdict} />` },
  { head: "Ended", kind: "tight", cell: (job) => html`<${EndedAt} at=${job.completed} />` },
  { head: "Duration", kind: "tight", cell: (job) => html`<${Lasting} seconds=${job.elapsed < 1 ? job.elapsed : Math.round(job.elapsed)} />` },
];

/** @param {{server: string, isShort?: boolean}} props `isShort`: only the latest */
export function Jobs({ server, isShort = false }) {
  const now = useFetched(url("/jobs", { server, limit: isShort ? FEW : 200 }), { every: EVERY });
  const ended = useList(url("/jobs/search", { server, limit: isShort ? FEW : 50 }));
  useInterval(ended.reload, ended.hasMore && !isShort ? 0 : EVERY);
  const all = isShort && html`<a href=${url("/servers/server", { id: server, tab: "jobs" })}>All jobs</a>`;
  const shown = isShort ? { ...ended, hasMore: false } : ended;
  return html`<${Card} flush title="Running now"><${Fetched} of=${now} lines=${2}>${(/** @type {{items: Job[]}} */ { items }) =>
      items.length === 0 ? html`<p class="soft card-note">No jobs are running.</p>` : html`<${Table} columns=${NOW} rows=${items} id=${idOf} to=${linkOf} keys=${false} label="Running jobs" />`}<//><//>
    <${Card} flush title="Recent jobs" actions=${all}><${Listed} list=${shown} columns=${ENDED} id=${idOf} to=${linkOf} keys=${!isShort} label="Recent jobs" empty=${html`<p class="soft card-note">No finished jobs.</p>`} /><//>`;
}
