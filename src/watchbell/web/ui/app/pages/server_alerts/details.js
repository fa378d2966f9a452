/** One server alert: why it became active, what was measured around it, and what was done. */

import { html } from "htm/preact";
import { remove, url, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { confirm } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Facts, Fetched } from "../../kit/layout.js";
import { Plot } from "../../kit/plot.js";
import { withCode } from "../../kit/text.js";
import { Table } from "../../kit/table.js";
import { Lasting, Since, When } from "../../kit/time.js";
import { showToast } from "../../kit/toast.js";
import { marked, SPANS, timesOf, valued } from "../monitors/words.js";
import { serverLink } from "../servers/words.js";
import { snapshotLink } from "../snapshots/words.js";
import { AlertState, definitionLink } from "./words.js";

/**
 * @typedef {import("./words.js").Shown} Shown
 * @typedef {import("./words.js").Row} Row
 * @typedef {import("../monitors/words.js").Resolution} Resolution
 * @typedef {import("../monitors/words.js").Monitor} Monitor
 */

/** Seconds for which each resolution is kept. @type {[Resolution, number][]} */
const KEPT = [["hour", 3 * 3_600], ["day", 36 * 3_600], ["month", 32 * 86_400], ["year", 368 * 86_400]];

/** @param {{id: string, onDeleted: () => void}} props */
export function Details({ id, onDeleted }) {
  const fetched = useFetched(`/server-alerts/${encodeURIComponent(id)}`, { every: 15 });
  return html`<${Fetched} of=${fetched} lines=${8}>${(/** @type {Shown} */ shown) => html`<${Body} shown=${shown} onDeleted=${onDeleted} />`}<//>`;
}

/** @param {{shown: Shown, onDeleted: () => void}} props */
function Body({ shown, onDeleted }) {
  const { row } = shown;
  const definition = useFetched(`/alert-definitions`).value?.find((/** @type {{record: {id: string}}} */ one) => one.record.id === row.definition)?.record;
  const monitor = /** @type {Monitor | undefined} */ (useFetched(definition?.monitor_id ? "/monitors" : null).value?.find((/** @type {{record: Monitor}} */ one) => one.record.id === definition.monitor_id)?.record);
  const snapshots = useFetched(url("/snapshots", { server: row.server, source: "alert", limit: 200 })).value?.items ?? [];
  const own = snapshots.filter((/** @type {{cause?: string}} */ one) => one.cause === row.id);
  const drop = () =>
    confirm({
      title: "Delete this server alert?",
      words: "It is removed from the history.",
      yes: "Delete",
      async act() {
        await remove(`/server-alerts/${encodeURIComponent(row.id)}`);
        showToast("Server alert deleted.");
        onDeleted();
      },
    });
  return html`<div class="stack">
    <p class="alert-about"><${AlertState} row=${row} /> <strong>${row.title}</strong> on <a href=${serverLink(row.server)}>${row.hostname}</a></p>
    ${row.message && html`<p class="alert-words">${row.message}</p>`}
    <${Facts} rows=${[
      ["Became active", html`<${When} at=${row.date} as="exact" />`],
      row.state === "stale" && ["Last sample", html`<span><${When} at=${row.modified} />: nobody knows whether it still holds</span>`],
      ["Lasted", row.cleared === null ? html`<${Since} since=${row.date} />` : html`<${Lasting} seconds=${Math.round(row.cleared - row.date)} />`],
      ["Why", withCode(shown.reason)],
      row.cleared !== null && ["Cleared", html`<span><${When} at=${row.cleared} as="exact" />: ${withCode(shown.clear_reason)}</span>`],
      ["Expression", html`<code>${shown.expression}</code>`],
      monitor && row.value !== null && [monitor.title, valued(monitor)(row.value)],
      ["Definition", definition ? html`<a href=${definitionLink(row.definition)}>${definition.title}</a>` : `${row.definition} (deleted)`],
      ["Check", html`<span><a href=${url("/check", { id: row.check })}>${row.check}</a>${!row.notified && html` <span class="soft">not reported: snoozed</span>`}</span>`],
      shown.jobs.length > 0 && ["Jobs then", html`<span class="chips">${shown.jobs.map((job) => html`<a class="chip" href=${url("/jobs/job", { id: job })}>${job}</a> `)}</span>`],
      own.length > 0 && ["Snapshots", html`<span>${own.map((/** @type {{id: string, date: number}} */ one) => html`<a href=${snapshotLink(one.id)}><${When} at=${one.date} as="short" /></a> `)}</span>`],
    ]} />
    ${monitor && html`<${Around} row=${row} monitor=${monitor} />`}
    ${shown.actions.length > 0 && html`<h3>Actions</h3><${Actions} actions=${shown.actions} />`}
    ${may("delete_alerts") && row.state === "cleared" && html`<div class="actions"><${Button} kind="danger" onClick=${drop}>Delete<//></div>`}
  </div>`;
}

/** The monitor before, during and after the alert. @param {{row: Row, monitor: Monitor}} props */
function Around({ row, monitor }) {
  const now = Date.now() / 1000;
  const end = row.cleared ?? (row.state === "stale" ? row.modified : now);
  const room = Math.max((end - row.date) * 0.5, 1_200);
  const [from, to] = [Math.floor((row.date - room) / 60) * 60, Math.floor(Math.min(end + room, now) / 60) * 60];
  const resolution = KEPT.find(([name, kept]) => now - from < kept && to - from <= 2 * SPANS[name].seconds)?.[0] ?? "year";
  const fetched = useFetched(url(`/servers/${encodeURIComponent(row.server)}/series`, { monitor: monitor.id, resolution, since: from, until: to }));
  const shown = /** @type {import("../monitors/words.js").SeriesShown | null} */ (fetched.value);
  if (!shown) return null;
  return html`<div><h3>${monitor.title}</h3><${Plot} label=${monitor.title} lines=${[{ label: monitor.title, fill: true }]} data=${[timesOf(shown), shown.series[0]?.values ?? []]} height=${150}
    from=${from} to=${to} least=${monitor.min_vert_scale || 0} isBytes=${monitor.data_type === "bytes"} format=${valued(monitor)} axis=${marked(monitor)} marked=${[{ from: row.date, to: end }]} />
    <p class="hint">Red: while the alert was active.</p></div>`;
}

/** @type {import("../../kit/table.js").Column<Record<string, any>>[]} */
const COLUMNS = [
  { head: "Action", kind: "main", cell: (one) => html`<div>${String(one.type).replaceAll("_", " ")}<div class="soft plain">${one.description ?? ""}</div></div>` },
  { head: "When", cell: (one) => (one.trigger === "alert_cleared" ? "when it was cleared" : "when it became active") },
  { head: "Result", cell: (one) => (one.code ? html`<span class="bad">failed</span>` : html`<span class="good">done</span>`) },
];

/** @param {{actions: Record<string, any>[]}} props */
function Actions({ actions }) {
  return html`<${Table} columns=${COLUMNS} rows=${actions.map((one, place) => ({ ...one, place }))} id=${(/** @type {{place: number}} */ one) => String(one.place)} label="Actions" keys=${false} />`;
}
