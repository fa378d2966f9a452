/** Alerts about a check: recipient, medium and delivery status. */

import { html } from "htm/preact";
import { url, useList } from "../../api.js";
import { Card, Empty } from "../../kit/layout.js";
import { Chip, State } from "../../kit/state.js";
import { Listed } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { OUTCOMES, shownState } from "../alerts/words.js";
import { useStamp } from "./stamp.js";

/** @typedef {import("../alerts/words.js").Alert} Alert */

/** @type {import("../../kit/table.js").Column<Alert>[]} */
const COLUMNS = [
  { head: "Sent", kind: "tight", cell: (row) => html`<${When} at=${row.sent.time} as="short" />` },
  { head: "To", kind: "main", cell: (row) => html`<a href=${url("/contact", { id: row.sent.contact })}>${row.contact_name || row.sent.contact}</a>` },
  { head: "Medium", cell: (row) => html`${row.sent.media} <span class="soft">${row.sent.address}</span>` },
  { head: "About", kind: "tight", cell: (row) => html`<${State} state=${shownState(row.sent)} word=${row.sent.rollup ? "summary" : row.sent.type} />` },
  { head: "Status", kind: "tight", cell: (row) => html`<${Chip} tone=${OUTCOMES[row.sent.outcome].tone} title=${row.sent.error || row.sent.answer}>${OUTCOMES[row.sent.outcome].words}<//>` },
];

/** @param {{check: string, stamp: string}} props */
export function Alerts({ check, stamp }) {
  const list = useList(url("/alerts", { check, limit: 50 }));
  useStamp(stamp, list.reload);
  return html`<${Card} flush><${Listed} list=${list} columns=${COLUMNS} id=${(/** @type {Alert} */ row) => row.sent.id} label="Alerts"
    to=${() => url("/alerts", { check })}
    empty=${html`<${Empty} title="No alerts for this check yet."><p>“Who gets notified” shows who would get one, and why.</p><//>`} /><//>`;
}
