/** The network of a machine: interfaces, and connections by their state. */

import { html } from "htm/preact";
import { Card } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { bytes, counted } from "../../words.js";

/**
 * @typedef {import("./sample.js").Sample} Sample
 * @typedef {import("./sample.js").Socket} Socket
 * @typedef {import("./sample.js").Interface} Interface
 */

const rate = (/** @type {number} */ value) => `${bytes(Math.round(value))}/s`;

/** @type {import("../../kit/table.js").Column<Interface>[]} */
const INTERFACES = [
  { head: "Interface", kind: "main", cell: (one) => html`<div><span class="mono">${one.iface}</span> <span class="soft">${[one.ip4, one.ip6].filter(Boolean).join(", ")}</span></div>` },
  { head: "State", kind: "tight", cell: (one) => html`<span class="soft">${one.operstate || "–"}</span>` },
  { head: "In", kind: "number", cell: (one) => rate(one.rx_sec) },
  { head: "Out", kind: "number", cell: (one) => rate(one.tx_sec) },
  { head: "Errors", kind: "number", hide: "phone", cell: (one) => (one.rx_errors + one.tx_errors > 0 ? (one.rx_errors + one.tx_errors).toLocaleString("en") : html`<span class="soft">–</span>`) },
];
/** @type {import("../../kit/table.js").Column<Socket>[]} */
const SOCKETS = [
  { head: "Remote", kind: "main", cell: (one) => html`<span class="mono">${one.remote_addr || "–"}</span>` },
  { head: "Local", cell: (one) => html`<span class="mono">${one.local_addr}</span>` },
  { head: "State", cell: (one) => html`<span class="soft">${stateWords(one.state)}</span>` },
  { head: "Process", kind: "number", cell: (one) => one.pid || html`<span class="soft">–</span>` },
];

/** As `time wait`. @param {string} state */
export const stateWords = (state) => state.toLowerCase().replaceAll("_", " ");

/** @param {{sample: Sample}} props */
export function Interfaces({ sample }) {
  const found = Object.values(sample.interfaces);
  return html`<${Card} flush title="Network interfaces">${found.length === 0
    ? html`<p class="soft card-note">The sample lists no interfaces.</p>`
    : html`<${Table} columns=${INTERFACES} rows=${found} id=${(/** @type {Interface} */ one) => one.iface} label="Network interfaces" keys=${false} />`}<//>`;
}

/** @param {{sample: Sample}} props */
export function Connections({ sample }) {
  const { all, list } = sample.connections;
  if (list.length === 0) return null;
  return html`<${Card} flush title="Connections" actions=${html`<span class="soft">${list.length < all ? `${list.length} of ${all.toLocaleString("en")}` : ""}</span>`}>
    <${Table} columns=${SOCKETS} rows=${list.map((one, i) => ({ ...one, place: i }))} id=${(/** @type {Socket & {place: number}} */ one) => String(one.place)} label="Connections" keys=${false} /><//>`;
}

/** @param {{sample: Sample}} props */
export function ConnectionStates({ sample }) {
  const { states, all } = sample.connections;
  const found = Object.entries(states).sort(([, a], [, b]) => b - a);
  return html`<${Card} title="Connections by state" actions=${html`<span class="soft">${counted(all, "connection")}</span>`}>
    ${found.length === 0 ? html`<p class="soft">No connections.</p>` : html`<dl class="bars">${found.map(([state, count]) => html`<div>
      <dt>${stateWords(state)}</dt><dd><span class="bars-bar"><i style=${{ width: `${((100 * count) / (all || 1)).toFixed(1)}%` }}></i></span> <span class="number">${count.toLocaleString("en")}</span></dd></div>`)}</dl>`}
  <//>`;
}
