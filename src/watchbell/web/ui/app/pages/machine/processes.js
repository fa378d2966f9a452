/** The processes of a machine, in an order that people select. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { Button, Search } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { lasting } from "../../times.js";
import { bytes, counted } from "../../words.js";
import { percent } from "../servers/words.js";

/**
 * @typedef {import("./sample.js").Process} Process
 * @typedef {import("../../kit/table.js").Order} Order
 */

/** @type {import("../../kit/table.js").Column<Process>[]} */
const COLUMNS = [
  { head: "Command", by: "command", kind: "main", cell: (one) => html`<span class="mono process-line" title=${one.command}>${one.command}</span>` },
  { head: "PID", by: "pid", kind: "number", cell: (one) => one.pid },
  { head: "User", by: "user", cell: (one) => one.user },
  { head: "CPU", by: "cpu", kind: "number", cell: (one) => percent(one.cpu) },
  { head: "Memory", by: "memRss", kind: "number", cell: (one) => html`<span title=${`${percent(one.mem)} of the machine's memory; virtual: ${bytes(one.memVsz)}`}>${bytes(one.memRss)}</span>` },
  { head: "State", by: "state", hide: "phone", cell: (one) => html`<span class=${one.state === "Running" ? "" : one.state === "Zombie" || one.state === "Blocked" ? "bad" : "soft"}>${one.state.toLowerCase()}</span>` },
  { head: "Threads", by: "threads", kind: "number", hide: "phone", cell: (one) => one.threads },
  { head: "CPU time", by: "time", kind: "number", hide: "phone", cell: (one) => lasting(one.time, 2) },
  { head: "Age", by: "age", kind: "number", cell: (one) => lasting(one.age) },
];
/** @type {[by: string, words: string][]} */
const ORDERS = [["cpu", "CPU"], ["memRss", "memory"], ["time", "CPU time"], ["age", "age"], ["command", "command"], ["user", "user"], ["pid", "PID"]];
/** Rows that are shown at first. */
const FEW = 40;
const TEXTS = ["command", "user", "state"];

/** @param {{list: Process[], all: number}} props `all`: how many run, of which `list` has some */
export function Processes({ list, all }) {
  const [order, setOrder] = useState(/** @type {Order} */ ({ by: "cpu", isReversed: true }));
  const [text, setText] = useState("");
  const [isAll, setIsAll] = useState(false);
  const words = text.toLowerCase();
  const shown = useMemo(
    () => list.filter((one) => `${one.command} ${one.user} ${one.pid}`.toLowerCase().includes(words)).sort(comparing(order)),
    [list, order, words],
  );
  return html`<${Card} flush title="Processes" actions=${html`<span class="soft">${list.length < all ? `${list.length} of ${all}: those that use the most` : counted(all, "process", "processes")}</span>`}>
    <div class="bar-of card-bar">
      <${Search} value=${text} onSearch=${setText} placeholder="Filter by command, user or PID" label="Filter processes" />
      <select class="phone-only" aria-label="Sort processes by" value=${order.by} onChange=${(/** @type {any} */ event) => setOrder({ by: event.currentTarget.value, isReversed: !TEXTS.includes(event.currentTarget.value) })}>
        ${ORDERS.map(([by, name]) => html`<option value=${by} selected=${by === order.by}>Sort by ${name}</option>`)}
      </select>
    </div>
    <div class="processes">${shown.length === 0
      ? html`<p class="soft card-note">${text ? "No processes match this filter." : "The sample lists no processes."}</p>`
      : html`<${Table} columns=${COLUMNS} rows=${isAll ? shown : shown.slice(0, FEW)} id=${(/** @type {Process} */ one) => String(one.pid)} label="Processes" order=${order} onOrder=${setOrder} keys=${false} />`}</div>
    ${!isAll && shown.length > FEW && html`<div class="more"><${Button} onClick=${() => setIsAll(true)}>Show all ${shown.length}<//></div>`}
  <//>`;
}

/** @param {Order} order @returns {(a: Process, b: Process) => number} */
function comparing({ by, isReversed }) {
  const sign = isReversed ? -1 : 1;
  return (a, b) => {
    const [one, other] = [/** @type {any} */ (a)[by], /** @type {any} */ (b)[by]];
    const found = typeof one === "string" ? one.localeCompare(other) : one - other;
    return sign * found || a.pid - b.pid;
  };
}
