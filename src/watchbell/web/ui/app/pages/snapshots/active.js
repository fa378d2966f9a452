/** The server alerts and jobs that were active when a snapshot was taken. */

import { html } from "htm/preact";
import { url, useFetched } from "../../api.js";
import { Card } from "../../kit/layout.js";
import { Mark } from "../../kit/state.js";
import { alertLink } from "../server_alerts/words.js";

/**
 * @typedef {import("./words.js").Head} Head
 * @typedef {import("../server_alerts/words.js").Row} Row
 */

/** More ids are not listed. */
const MOST = 50;

/** @param {{head: Head, server?: string}} props `server`: the one that the page shows; all if none */
export function ActiveThen({ head, server = "" }) {
  const { alerts = [], jobs = [] } = head;
  const known = /** @type {Row[]} */ (useFetched(alerts.length > 0 ? url("/server-alerts", { server, until: Math.ceil(head.date) + 1, limit: 1_000 }) : null).value?.items ?? []);
  const rows = alerts.map((id) => known.find((one) => one.id === id) ?? id).filter((one) => !server || head.type === "server" || typeof one !== "string");
  if (rows.length === 0 && jobs.length === 0) return null;
  return html`<div class="columns">
    ${rows.length > 0 && html`<${Card} title="Active server alerts"><ul class="plain-list">${rows.slice(0, MOST).map((one) => typeof one === "string"
      ? html`<li key=${one}><a class="mono" href=${alertLink(one)}>${one}</a></li>`
      : html`<li key=${one.id}><${Mark} state="critical" title="active" /> <a href=${alertLink(one.id)}>${one.title}</a>${head.type === "group" && !server && html` <span class="soft">${one.hostname}</span>`} <span class="soft">${one.message}</span></li>`)}</ul><//>`}
    ${jobs.length > 0 && html`<${Card} title="Active jobs"><ul class="plain-list">${jobs.slice(0, MOST).map((id) => html`<li key=${id}><a class="mono" href=${url("/jobs/job", { id })}>${id}</a></li>`)}</ul>
      ${jobs.length > MOST && html`<p class="soft">and ${jobs.length - MOST} more</p>`}<//>`}
  </div>`;
}
