/** The hosts that a crawl has fetched from, by responses and bytes. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { useFetched } from "../../api.js";
import { Choice } from "../../kit/form.js";
import { Card, Fetched } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { bytes } from "../../words.js";
import { crawlPath, number } from "./words.js";

/** @typedef {{host: string, responses: number, bytes: number}} Host */

const MOST = 200;

/** @param {{ident: string, isLive: boolean}} props */
export function Hosts({ ident, isLive }) {
  const fetched = useFetched(`${crawlPath(ident)}/hosts`, { every: isLive ? 10 : 0 });
  useEffect(() => void (!isLive && fetched.reload()), [isLive]);
  const [sort, setSort] = useState(/** @type {"responses" | "bytes"} */ ("responses"));
  const choice = html`<${Choice} label="Sort by" value=${sort} options=${[["responses", "By responses"], ["bytes", "By size"]]} onChange=${setSort} />`;
  return html`<${Card} flush title="Hosts" actions=${(fetched.value?.items.length ?? 0) > 1 && choice}>
    <${Fetched} of=${fetched}>${(/** @type {{items: Host[]}} */ { items }) => {
      const rows = [...items].sort((a, b) => b[sort] - a[sort]);
      const most = rows[0]?.[sort] || 1;
      if (rows.length === 0) return html`<p class="soft card-note">No host has answered yet.</p>`;
      return html`<div class="crawl-short"><${Table} columns=${columns(sort, most)} rows=${rows.slice(0, MOST)} id=${(/** @type {Host} */ one) => one.host} label="Hosts" keys=${false} /></div>
        ${rows.length > MOST && html`<div class="more soft">and ${number(rows.length - MOST)} more</div>`}`;
    }}<//>
  <//>`;
}

/** @param {"responses" | "bytes"} sort @param {number} most @returns {import("../../kit/table.js").Column<Host>[]} */
const columns = (sort, most) => [
  { head: "Host", kind: "main", cell: (one) => html`<div class="crawl-bar"><span class="break">${one.host}</span><div class="crawl-bar-track" aria-hidden="true"><div style=${{ width: `${((100 * one[sort]) / most).toFixed(1)}%` }}></div></div></div>` },
  { head: "Responses", kind: "number", cell: (one) => number(one.responses) },
  { head: "Size", kind: "number", cell: (one) => bytes(one.bytes) },
];
