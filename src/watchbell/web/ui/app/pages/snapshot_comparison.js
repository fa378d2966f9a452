/** What changed between two snapshots. */

import { html } from "htm/preact";
import { url, useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { bytes, counted } from "../words.js";
import { lasting } from "../times.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Facts, Fetched, Page } from "../kit/layout.js";
import { plain } from "../kit/plot.js";
import { Table } from "../kit/table.js";
import { When } from "../kit/time.js";
import { capitalized } from "../words.js";
import { stateWords } from "./machine/connections.js";
import { alertLink } from "./server_alerts/words.js";
import { percent } from "./servers/words.js";
import { snapshotLink, subjectOf } from "./snapshots/words.js";

/**
 * @typedef {import("./snapshots/words.js").Head} Head
 * @typedef {{name: string, before: number, after: number, unit: string}} Value
 * @typedef {{pid: number, user: string, command: string, cpu: number, memory: number}} Process
 * @typedef {{before: Process, after: Process}} Mover
 * @typedef {{server: string, hostname: string, values: Value[], mounts: Value[], connections: Value[], started: Process[], ended: Process[],
 *   started_count: number, ended_count: number, cpu_movers: Mover[], memory_movers: Mover[]}} Server
 * @typedef {{before: Head, after: Head, seconds: number, servers: Server[], only_before: string[], only_after: string[], jobs_started: string[],
 *   jobs_ended: string[], alerts_raised: string[], alerts_cleared: string[]}} Comparison
 */

const above = html`<a href="/snapshots">Snapshots</a>`;
const MOST_SERVERS = 20;

export default function SnapshotComparison() {
  const [query] = useQuery();
  const [before, after] = [query.get("before"), query.get("after")];
  const fetched = useFetched(before && after ? url("/snapshots/compare", { before, after }) : null);
  const groups = useFetched("/groups").value?.items;
  if (!before || !after) return html`<${Page} title="Compare snapshots" above=${above}><${Empty} title="Select two snapshots." action=${html`<${Button} href="/snapshots">Show all snapshots<//>`}>Then use Compare.<//><//>`;
  const found = /** @type {Comparison | null} */ (fetched.value);
  const names = found && [...new Set([subjectOf(found.before, groups), subjectOf(found.after, groups)])].join(" and ");
  return html`<${Page} wide title=${names ? `Changes of ${names}` : "Compare snapshots"} above=${above}
    lead=${found && html`from <a href=${snapshotLink(found.before.id)}><${When} at=${found.before.date} as="exact" /></a> to <a href=${snapshotLink(found.after.id)}><${When} at=${found.after.date} as="exact" /></a>, ${lasting(found.seconds, 2)} later`}>
    <${Fetched} of=${fetched} lines=${8}>${(/** @type {Comparison} */ value) => html`<${Around} found=${value} />
      ${value.servers.length === 0 && html`<${Card}><${Empty} title="These snapshots have no server in common." /><//>`}
      ${value.servers.slice(0, MOST_SERVERS).map((one) => html`<${Changes} key=${one.server} server=${one} isOne=${value.servers.length === 1} />`)}
      ${value.servers.length > MOST_SERVERS && html`<p class="soft">${value.servers.length - MOST_SERVERS} more servers are not shown. Compare snapshots of one server to see more.</p>`}`}<//>
  <//>`;
}

/** Jobs, alerts and servers that came and went. @param {{found: Comparison}} props */
function Around({ found }) {
  const links = (/** @type {string[]} */ ids, /** @type {(id: string) => string} */ to) => html`<span class="chips">${ids.map((id) => html`<a class="chip" key=${id} href=${to(id)}>${id}</a> `)}</span>`;
  const job = (/** @type {string} */ id) => url("/jobs/job", { id });
  /** @type {([any, any] | false)[]} */
  const rows = [
    found.alerts_raised.length > 0 && ["New server alerts", links(found.alerts_raised, alertLink)],
    found.alerts_cleared.length > 0 && ["Cleared server alerts", links(found.alerts_cleared, alertLink)],
    found.jobs_started.length > 0 && ["Jobs that started", links(found.jobs_started, job)],
    found.jobs_ended.length > 0 && ["Jobs that ended", links(found.jobs_ended, job)],
    found.only_before.length > 0 && ["Servers only before", found.only_before.join(", ")],
    found.only_after.length > 0 && ["Servers only after", found.only_after.join(", ")],
  ];
  if (!rows.some(Boolean)) return null;
  return html`<${Card}><${Facts} rows=${rows} /><//>`;
}

/** @param {{server: Server, isOne: boolean}} props */
function Changes({ server, isOne }) {
  const { values, mounts, connections } = server;
  return html`${!isOne && html`<h2 class="snapshot-of">${server.hostname}</h2>`}
    ${values.length === 0 && html`<${Card}><p class="soft">One of the snapshots has no full sample of this server.</p><//>`}
    ${values.length > 0 && html`<div class="columns">
      <${Card} flush title="Figures"><${Figures} values=${values} label="Figures" /><//>
      <div>
        <${Card} flush title="File systems">${mounts.length === 0 ? html`<p class="soft card-note">No file system became fuller or emptier.</p>` : html`<${Figures} values=${mounts} label="File systems" isMono />`}<//>
        <${Card} flush title="Connections by state">${connections.length === 0 ? html`<p class="soft card-note">There are as many as before.</p>` : html`<${Figures} values=${connections.map((one) => ({ ...one, name: stateWords(one.name) }))} label="Connections by state" />`}<//>
      </div>
      <${Processes} title=${`${counted(server.started_count, "process", "processes")} started`} list=${server.started} />
      <${Processes} title=${`${counted(server.ended_count, "process", "processes")} ended`} list=${server.ended} />
      <${Movers} title="CPU changed most" list=${server.cpu_movers} of=${(/** @type {Process} */ one) => percent(one.cpu)} />
      <${Movers} title="Memory changed most" list=${server.memory_movers} of=${(/** @type {Process} */ one) => bytes(one.memory)} />
    </div>`}`;
}

/** @param {Value} value @param {number} number */
const worded = ({ unit }, number) => (unit === "bytes" ? bytes(Math.round(number)) : unit === "%" ? percent(number) : plain(number));

/** As `+3 MiB`, `–12 %`, or nothing. @param {Value} value */
function change(value) {
  const by = value.after - value.before;
  return by === 0 || worded(value, Math.abs(by)) === worded(value, 0) ? html`<span class="soft">–</span>` : html`<strong>${by > 0 ? "+" : "−"}${worded(value, Math.abs(by))}</strong>`;
}

/** @param {{values: Value[], label: string, isMono?: boolean}} props */
function Figures({ values, label, isMono = false }) {
  /** @type {import("../kit/table.js").Column<Value>[]} */
  const columns = [
    { head: "", kind: "main", cell: (one) => html`<span class=${isMono ? "mono" : ""}>${isMono ? one.name : capitalized(one.name)}</span>` },
    { head: "Before", kind: "number", cell: (one) => worded(one, one.before) },
    { head: "After", kind: "number", cell: (one) => worded(one, one.after) },
    { head: "Change", kind: "number", cell: change },
  ];
  return html`<${Table} columns=${columns.map((one) => (one.head === "" ? { ...one, head: html`<span class="unseen">What</span>` } : one))} rows=${values} id=${(/** @type {Value} */ one) => one.name} label=${label} keys=${false} />`;
}

/** @param {{title: string, list: Process[]}} props */
function Processes({ title, list }) {
  /** @type {import("../kit/table.js").Column<Process>[]} */
  const columns = [
    { head: "Command", kind: "main", cell: (one) => html`<span class="mono process-line" title=${one.command}>${one.command}</span>` },
    { head: "PID", kind: "number", cell: (one) => one.pid },
    { head: "User", cell: (one) => one.user },
    { head: "CPU", kind: "number", cell: (one) => percent(one.cpu) },
    { head: "Memory", kind: "number", cell: (one) => bytes(one.memory) },
  ];
  return html`<${Card} flush title=${title}>${list.length === 0 ? html`<p class="soft card-note">None among those that use the most.</p>` : html`<div class="processes"><${Table} columns=${columns} rows=${list} id=${(/** @type {Process} */ one) => String(one.pid)} label=${title} keys=${false} /></div>`}<//>`;
}

/** @param {{title: string, list: Mover[], of: (one: Process) => string}} props */
function Movers({ title, list, of }) {
  /** @type {import("../kit/table.js").Column<Mover>[]} */
  const columns = [
    { head: "Command", kind: "main", cell: (one) => html`<span class="mono process-line" title=${one.after.command}>${one.after.command}</span>` },
    { head: "PID", kind: "number", cell: (one) => one.after.pid },
    { head: "Before", kind: "number", cell: (one) => of(one.before) },
    { head: "After", kind: "number", cell: (one) => of(one.after) },
  ];
  return html`<${Card} flush title=${title}>${list.length === 0 ? html`<p class="soft card-note">No changes.</p>` : html`<div class="processes"><${Table} columns=${columns} rows=${list} id=${(/** @type {Mover} */ one) => String(one.after.pid)} label=${title} keys=${false} /></div>`}<//>`;
}
