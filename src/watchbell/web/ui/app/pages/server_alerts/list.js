/** A list of server alerts. */

import { html } from "htm/preact";
import { Table } from "../../kit/table.js";
import { Chip } from "../../kit/state.js";
import { Lasting, Since, When } from "../../kit/time.js";
import { serverLink } from "../servers/words.js";
import { alertLink, AlertState } from "./words.js";

/** @typedef {import("./words.js").Row} Row */

/** @type {import("../../kit/table.js").Column<Row>[]} */
const COLUMNS = [
  { head: "Alert", kind: "main", cell: (row) => html`<div><a href=${alertLink(row.id)}>${row.title}</a>${!row.notified && html` <${Chip} tone="soft">snoozed<//>`}
    ${row.message && html`<div class="soft plain notes-line">${row.message}</div>`}</div>` },
  { head: "State", kind: "tight", cell: (row) => html`<${AlertState} row=${row} />` },
  { head: "Server", cell: (row) => html`<a href=${serverLink(row.server)}>${row.hostname}</a>` },
  { head: "Since", kind: "tight", cell: (row) => html`<${When} at=${row.date} as="short" />` },
  { head: "Lasted", kind: "tight", cell: (row) => (row.cleared === null ? html`<${Since} since=${row.date} />` : html`<${Lasting} seconds=${Math.round(row.cleared - row.date)} />`) },
];

/** @param {{rows: Row[], isOfOneServer?: boolean, keys?: boolean}} props */
export function AlertList({ rows, isOfOneServer = false, keys = false }) {
  const columns = isOfOneServer ? COLUMNS.filter(({ head }) => head !== "Server") : COLUMNS;
  return html`<${Table} columns=${columns} rows=${rows} id=${(/** @type {Row} */ row) => row.id} to=${(/** @type {Row} */ row) => alertLink(row.id)} label="Server alerts" keys=${keys} />`;
}
