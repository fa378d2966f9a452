/** State changes of a check, newest first. */

import { html } from "htm/preact";
import { url, useList } from "../../api.js";
import { Card } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { Listed } from "../../kit/table.js";
import { Lasting, Since, When } from "../../kit/time.js";
import { useStamp } from "./stamp.js";

/** @typedef {{timestamp: number, state: string, until: number | null, summary: string, details: string}} Change */

/** @type {import("../../kit/table.js").Column<Change>[]} */
const COLUMNS = [
  { head: "State", kind: "tight", cell: (row) => html`<${State} state=${row.state} />` },
  { head: "Since", kind: "tight", cell: (row) => html`<${When} at=${row.timestamp} as="short" />` },
  {
    head: "Duration",
    kind: "tight",
    cell: (row) => (row.until === null ? html`<${Since} since=${row.timestamp} />` : html`<${Lasting} seconds=${row.until - row.timestamp} />`),
  },
  { head: "Summary", kind: "main", cell: (row) => html`<${Summary} row=${row} />` },
];

/** @param {{row: Change}} props */
function Summary({ row }) {
  const words = row.summary || html`<span class="soft">–</span>`;
  if (!row.details) return words;
  return html`<details class="check-change"><summary>${words}</summary><pre>${row.details}</pre></details>`;
}

/** @param {{check: string, stamp: string}} props */
export function History({ check, stamp }) {
  const list = useList(url("/check/history", { check, limit: 25 }));
  useStamp(stamp, list.reload);
  return html`<${Card} flush><${Listed} list=${list} columns=${COLUMNS} id=${(/** @type {Change} */ row) => String(row.timestamp)}
    label="State changes" empty="No state changes yet." /><//>`;
}
