/** The processes of a running job as a tree, and their connections. */

import { html } from "htm/preact";
import { bytes, counted } from "../../words.js";
import { Card } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { percent } from "./words.js";

/**
 * @typedef {{pid: number, parentPid: number, command: string, state: string, cpu: number, memRss: number, disk: number}} Process
 * @typedef {{pid: number, type: string, state: string, local_addr: string, remote_addr: string}} Connection
 */

/** @type {Record<string, string>} */
const STATES = { R: "running", S: "sleeping", D: "waiting for disk", Z: "ended", T: "stopped", t: "stopped", I: "idle" };

/** @param {{procs: Record<string, Process> | null, conns: Connection[]}} props */
export function Processes({ procs, conns }) {
  const rows = tree(Object.values(procs ?? {}));
  if (rows.length === 0) return null;
  return html`<${Card} flush title="Processes" actions=${html`<span class="soft">${counted(rows.length, "process", "processes")}</span>`}>
      <${Table} columns=${COLUMNS} rows=${rows} id=${(/** @type {Placed} */ one) => String(one.pid)} label="Processes" keys=${false} />
    <//>
    ${conns.length > 0 && html`<${Card} flush title="Connections" actions=${html`<span class="soft">${conns.length}</span>`}>
      <${Table} columns=${CONNECTIONS} rows=${conns} id=${(/** @type {Connection} */ one) => `${one.pid} ${one.local_addr} ${one.remote_addr}`} label="Connections" keys=${false} />
    <//>`}`;
}

/** @typedef {Process & {depth: number}} Placed */

/** Parents before their children. @param {Process[]} processes @returns {Placed[]} */
export function tree(processes) {
  const known = new Set(processes.map((one) => one.pid));
  /** @type {Map<number, Process[]>} */
  const children = new Map();
  for (const one of [...processes].sort((a, b) => a.pid - b.pid)) {
    const parent = known.has(one.parentPid) && one.parentPid !== one.pid ? one.parentPid : 0;
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  /** @type {Placed[]} */
  const placed = [];
  const add = (/** @type {number} */ parent, /** @type {number} */ depth) => {
    for (const one of children.get(parent) ?? []) {
      placed.push({ ...one, depth });
      add(one.pid, depth + 1);
    }
  };
  add(0, 0);
  return placed;
}

/** @type {import("../../kit/table.js").Column<Placed>[]} */
const COLUMNS = [
  { head: "Command", kind: "main", cell: (one) => html`<div class="process-command" style=${{ paddingLeft: `${Math.min(one.depth, 8) * 1.1}rem` }}>
    ${one.depth > 0 && html`<span class="soft" aria-hidden="true">└ </span>`}<span class="mono ellipsis" title=${one.command}>${one.command}</span></div>` },
  { head: "PID", kind: "number", cell: (one) => one.pid },
  { head: "State", cell: (one) => html`<span class=${one.state === "R" ? "" : "soft"}>${STATES[one.state] ?? one.state}</span>` },
  { head: "CPU", kind: "number", cell: (one) => percent(one.cpu) },
  { head: "Memory", kind: "number", cell: (one) => bytes(one.memRss) },
  { head: "Disk", kind: "number", hide: "phone", cell: (one) => (one.disk > 0 ? bytes(one.disk) : html`<span class="soft">–</span>`) },
];

/** @type {import("../../kit/table.js").Column<Connection>[]} */
const CONNECTIONS = [
  { head: "Remote", kind: "main", cell: (one) => html`<span class="mono">${one.remote_addr || "–"}</span>` },
  { head: "Local", cell: (one) => html`<span class="mono">${one.local_addr}</span>` },
  { head: "Type", cell: (one) => one.type },
  { head: "State", cell: (one) => html`<span class="soft">${one.state.toLowerCase()}</span>` },
  { head: "PID", kind: "number", cell: (one) => one.pid },
];
