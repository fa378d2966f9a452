/** Rejected events: input that is not a valid check event, and why. */

import { html } from "htm/preact";
import { url, useFetched, useInterval, useList } from "../api.js";
import { useQuery } from "../location.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";
import { Detail } from "./rejected/detail.js";
import { Hours } from "./rejected/hours.js";

/**
 * @typedef {{id: string, time: number, reason: string, size: number | null, text: string}} Rejected
 * @typedef {{total: number, counted: number, hours: {start: number, count: number}[], reasons: {reason: string, count: number}[]}} Counts
 */

const PAGE = 50;

/** @type {import("../kit/table.js").Column<Rejected>[]} */
const COLUMNS = [
  {
    head: "Reason",
    kind: "main",
    cell: (row) => html`<div>${row.reason}<div class="rejected-text mono">${row.text}</div></div>`,
  },
  { head: "Bytes", kind: "number", cell: (row) => (row.size === null ? html`<span class="soft">gone</span>` : row.size.toLocaleString("en-GB")) },
  { head: "When", kind: "tight", cell: (row) => html`<${When} at=${row.time} as="short" />` },
];

export default function RejectedEvents() {
  const [query, setQuery] = useQuery();
  const list = useList(url("/rejected", { limit: PAGE }));
  const counts = useFetched("/rejected/counts", { every: 60 });
  useInterval(list.reload, list.items.length <= PAGE && !query.get("id") ? 15 : 0);
  const open = query.get("id");
  return html`<${Page} title="Rejected events" lead="Input that is not a valid check event. It is kept for a while so that you can inspect and correct it.">
    <${Fetched} of=${counts} lines=${2}>${(/** @type {Counts} */ found) => found.total > 0 && html`<div class="columns">
      <${Card} title="By hour"><${Hours} hours=${found.hours} /><//>
      <${Card} title="By reason"><${Reasons} counts=${found} /><//></div>`}<//>
    <div class="rejected"><${Card} flush><${Listed} list=${list} columns=${COLUMNS} id=${(/** @type {Rejected} */ row) => row.id} label="Rejected events"
      to=${(/** @type {Rejected} */ row) => url("/rejected", { id: row.id })}
      empty=${html`<${Empty} title="No rejected events."><p>Events that can't be read are listed here with the reason.</p><//>`} /><//></div>
    ${open && html`<${Detail} key=${open} id=${open} onClose=${() => setQuery({ id: null })} />`}
  <//>`;
}

/** @param {{counts: Counts}} props */
function Reasons({ counts }) {
  const most = counts.reasons[0]?.count ?? 1;
  return html`<ol class="reasons">
    ${counts.reasons.slice(0, 6).map((one) => html`<li><span class="reason-words">${one.reason}</span><strong>${one.count.toLocaleString("en-GB")}</strong>
      <div class="reason-share" aria-hidden="true"><div style=${{ width: `${(one.count / most) * 100}%` }}></div></div></li>`)}
  </ol>
  ${counts.counted < counts.total && html`<p class="soft">Newest ${counts.counted.toLocaleString("en-GB")} of ${counts.total.toLocaleString("en-GB")}.</p>`}`;
}
