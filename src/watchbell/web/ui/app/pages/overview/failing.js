/** Failing checks: unhandled ones, then those acknowledged or in maintenance. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { url } from "../../api.js";
import { may } from "../../session.js";
import { Button } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { Table } from "../../kit/table.js";
import { Since, When } from "../../kit/time.js";
import { ActDialog } from "../checks/act.js";
import { SubjectLinks, useSubject } from "../checks/subjects.js";

/**
 * @typedef {{id: string, entity: string, check: string, state: string, summary: string, since: number | null, failing_since: number | null,
 *   last_update: number | null, acknowledged: boolean, unscheduled_until: number | null, scheduled_until: number | null}} Row
 * @typedef {{open: Row[], open_count: number, acknowledged: Row[], acknowledged_count: number, maintenance: Row[], maintenance_count: number}} Failing
 */

/** @type {import("../../kit/table.js").Column<Row>} */
const STATE = { head: "State", kind: "tight", cell: (row) => html`<${State} state=${row.state} />` };
/** @type {import("../../kit/table.js").Column<Row>} */
const CHECK = {
  head: "Check",
  kind: "main",
  cell: (row) => html`<${Named} row=${row} />`,
};
/** @type {import("../../kit/table.js").Column<Row>} */
const LASTS = { head: "Duration", kind: "tight", cell: (row) => html`<${Since} since=${row.failing_since ?? row.since} />` };

/** Rows shown, so that the rest of the page stays in sight. */
const SHOWN = 10;

/** @param {Row} row */
const to = (row) => url("/check", { id: row.id });
/** @param {Row} row */
const name = (row) => row.id;

/** @param {{row: Row}} props */
function Named({ row }) {
  const subject = useSubject(row.id, row.last_update);
  return html`<div><a href=${to(row)} title=${row.id}>${subject?.title ?? row.check}</a> <span class="soft">${row.entity}</span> <${SubjectLinks} subject=${subject} />
    ${row.summary && html`<div class="soft overview-summary">${row.summary}</div>`}</div>`;
}

/** @param {{failing: Failing, isComplete: boolean, reload: () => void}} props */
export function Open({ failing, isComplete, reload }) {
  const [asked, setAsked] = useState(/** @type {{checks: string[]} | null} */ (null));
  const columns = [STATE, CHECK, LASTS];
  if (may("operate")) {
    columns.push({ head: "", kind: "actions", cell: (row) => html`<${Button} small onClick=${() => setAsked({ checks: [row.id] })} label=${`Acknowledge ${row.id}`}>Acknowledge<//>` });
  }
  const stateOf = (/** @type {string} */ check) => failing.open.find((row) => row.id === check)?.state;
  const shown = failing.open.slice(0, SHOWN);
  const rest = failing.open_count - shown.length;
  return html`<${Card} flush title="Needs attention" actions=${html`<a href="/checks?show=open">Show all ${isComplete && failing.open_count.toLocaleString("en")}</a>`}>
    <div class="overview-open"><${Table} columns=${columns} rows=${shown} id=${name} to=${to} label="Failing checks that need attention" /></div>
    ${rest > 0 && html`<div class="more soft">and <a href="/checks?show=open">${isComplete ? rest.toLocaleString("en") : "at least " + rest.toLocaleString("en")} more</a></div>`}
    ${asked && html`<${ActDialog} kind="acknowledge" targets=${asked} onClose=${() => setAsked(null)} onDone=${reload} stateOf=${stateOf} />`}
  <//>`;
}

/** @type {import("../../kit/table.js").Column<Row>[]} */
const HANDLED = [
  STATE,
  CHECK,
  LASTS,
  {
    head: "Handled",
    kind: "tight",
    cell: (row) =>
      row.scheduled_until !== null
        ? html`<div><${State} state="maintenance" /><div class="soft">until <${When} at=${row.scheduled_until} as="short" /></div></div>`
        : html`<div><${State} state="acknowledged" /><div class="soft">until <${When} at=${row.unscheduled_until} as="short" /></div></div>`,
  },
];

/** @param {{failing: Failing}} props */
export function Handled({ failing }) {
  const rows = [...failing.acknowledged, ...failing.maintenance];
  if (rows.length === 0) return null;
  const count = failing.acknowledged_count + failing.maintenance_count;
  return html`<${Card} flush title="Handled" actions=${html`<a href="/checks?state=critical&state=warning&state=unknown">Show all ${count.toLocaleString("en")}</a>`}>
    <${Table} columns=${HANDLED} rows=${rows} id=${name} to=${to} label="Failing checks that are handled" keys=${failing.open_count === 0} />
  <//>`;
}
