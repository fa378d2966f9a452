/** Jobs that wait for a slot or for their time. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { confirm } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Card, Empty, Fetched } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { showToast } from "../../kit/toast.js";
import { capitalized, counted } from "../../words.js";
import { useReload } from "./soon.js";
import { jobLink, Standing, StartedBy } from "./words.js";

/** @typedef {import("./words.js").JobRow} JobRow */

/** @param {{changes: number}} props */
export function Waiting({ changes }) {
  const [selected, setSelected] = useState(/** @type {Set<string>} */ (new Set()));
  const fetched = useFetched("/jobs?phase=waiting&limit=1000", { every: 5 });
  useReload(changes, fetched.reload);
  return html`<${Fetched} of=${fetched} lines=${6}>${(/** @type {{items: JobRow[], total: number}} */ { items, total }) => {
    const ids = items.filter((row) => selected.has(row.id)).map((row) => row.id);
    return html`
      ${ids.length > 0 && html`<${Bulk} ids=${ids} onDone=${() => {
        setSelected(new Set());
        fetched.reload();
      }} onClear=${() => setSelected(new Set())} />`}
      <div class="run-table"><${Card} flush>
        ${items.length === 0
          ? html`<${Empty} title="No jobs are waiting.">A job waits here while all slots of its servers are in use, or until its delay has passed.<//>`
          : html`<${Table} columns=${COLUMNS} rows=${items} id=${(/** @type {JobRow} */ row) => row.id} to=${(/** @type {JobRow} */ row) => jobLink(row.id)} label="Waiting jobs"
              ...${may("abort_jobs") ? { selected, onSelect: setSelected } : {}} />`}
        ${total > items.length && html`<div class="more soft">and ${(total - items.length).toLocaleString("en")} more</div>`}
      <//></div>`;
  }}<//>`;
}

/** @param {{ids: string[], onDone: () => void, onClear: () => void}} props */
function Bulk({ ids, onDone, onClear }) {
  const abort = () =>
    confirm({
      title: `Abort ${counted(ids.length, "job")}?`,
      words: "They are taken out of their queues and do not run. They are not tried again.",
      yes: "Abort",
      async act() {
        for (const id of ids) await post(`/jobs/${encodeURIComponent(id)}/abort`, {});
        showToast(`${counted(ids.length, "job")} aborted.`);
        onDone();
      },
    });
  return html`<div class="bar-of bulk" role="group" aria-label="Actions for the selected jobs">
    <strong>${counted(ids.length, "job")} selected</strong>
    <${Button} kind="danger" onClick=${abort}>Abort<//>
    <${Button} kind="quiet" onClick=${onClear}>Clear selection<//>
  </div>`;
}

/** Why it waits, without what its state says. @param {JobRow} row */
function reason(row) {
  const [, ...rest] = row.words.split(": ");
  return capitalized(rest.join(": "));
}

/** @type {import("../../kit/table.js").Column<JobRow>[]} */
const COLUMNS = [
  { head: "Status", kind: "tight", cell: (row) => html`<${Standing} row=${row} />` },
  { head: "Job", kind: "main", cell: (row) => html`<div class="run-name"><a href=${jobLink(row.id)}>${row.title}</a>${reason(row) && html`<div class="soft run-words">${reason(row)}</div>`}</div>` },
  { head: "Starts", kind: "tight", cell: (row) => (row.until === null ? html`<span class="soft">when it is its turn</span>` : html`<${When} at=${Math.ceil(row.until)} />`) },
  { head: "Launched", kind: "tight", cell: (row) => html`<${When} at=${Math.floor(row.launched)} />` },
  { head: "Started by", hide: "phone", cell: (row) => html`<${StartedBy} of=${row} />` },
];
