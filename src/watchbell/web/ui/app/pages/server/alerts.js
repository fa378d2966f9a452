/** The alerts of a server: those that are active, and earlier ones. */

import { html } from "htm/preact";
import { url, useFetched } from "../../api.js";
import { Card, Fetched } from "../../kit/layout.js";
import { Since, When } from "../../kit/time.js";
import { AlertList } from "../server_alerts/list.js";
import { alertLink, AlertState } from "../server_alerts/words.js";

/** @typedef {import("../server_alerts/words.js").Row} Row */

const EVERY = 10;

/** @param {{server: string}} props */
export function ActiveAlerts({ server }) {
  const rows = /** @type {Row[]} */ (useFetched(url("/server-alerts", { server, active: true }), { every: EVERY }).value?.items ?? []);
  if (rows.length === 0) return null;
  return html`<section class="active-alerts" aria-label="Active server alerts">${rows.map((row) => html`<a key=${row.id} class=${`active-alert active-alert-${row.state}`} href=${alertLink(row.id)}>
    <${AlertState} row=${row} /> <strong>${row.title}</strong> <span class="active-alert-words">${row.message}</span>
    <span class="soft">${row.state === "stale" ? html`no sample since <${When} at=${row.modified} />` : html`for <${Since} since=${row.date} />`}</span>
  </a>`)}</section>`;
}

/** @param {{server: string}} props */
export function Alerts({ server }) {
  const fetched = useFetched(url("/server-alerts", { server, limit: 200 }), { every: EVERY });
  return html`<${Card} flush title="Server alerts" actions=${html`<a href=${url("/server-alerts", { server })}>Filter</a>`}><${Fetched} of=${fetched} lines=${4}>${(/** @type {{items: Row[]}} */ { items }) =>
    items.length === 0 ? html`<p class="soft card-note">This server had no alerts. <a href="/alert-definitions">Alert definitions</a> say when there is one.</p>` : html`<${AlertList} rows=${items} isOfOneServer />`}<//><//>`;
}
