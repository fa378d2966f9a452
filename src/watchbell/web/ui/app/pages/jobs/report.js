/** What a job reported beside its output: measurements, a table, texts and data. */

import { html } from "htm/preact";
import { Card } from "../../kit/layout.js";

const MOST_ROWS = 200;

/** @param {{job: any}} props */
export function Report({ job }) {
  const texts = [job.text, job.markdown, job.html].filter(Boolean);
  return html`${job.perf && html`<${Performance} perf=${job.perf} />`}
    ${job.table && html`<${Tabular} table=${job.table} />`}
    ${texts.map((one) => html`<${Text} given=${one} />`)}
    ${job.data !== null && job.data !== undefined && html`<${Card} title="Data"><pre class="job-text">${JSON.stringify(job.data, null, 2)}</pre><//>`}`;
}

/** @param {{perf: any}} props */
function Performance({ perf }) {
  const entries = /** @type {[string, any][]} */ (typeof perf === "object" && perf !== null ? Object.entries(perf) : [["", perf]]);
  const numbers = entries.flatMap(([, value]) => (typeof value === "number" ? [value] : []));
  const most = Math.max(...numbers, 0.000001);
  return html`<${Card} title="Measurements"><ul class="job-perf">${entries.map(([name, value]) => html`<li>
    <span>${name}</span><span class="job-perf-bar" aria-hidden="true">${typeof value === "number" && html`<span style=${{ width: `${Math.max(0, (value / most) * 100)}%` }}></span>`}</span>
    <strong>${typeof value === "object" ? JSON.stringify(value) : String(value)}</strong></li>`)}</ul><//>`;
}

/** @param {{table: any}} props as the document has it: `title`, `header`, `rows`, `caption` */
function Tabular({ table }) {
  const rows = /** @type {any[][]} */ (Array.isArray(table.rows) ? table.rows.filter(Array.isArray) : []);
  const header = Array.isArray(table.header) ? table.header : [];
  return html`<${Card} flush title=${String(table.title || "Table")}>
    <div class="table-frame"><table class="table" aria-label=${String(table.title || "Table")}>
      ${header.length > 0 && html`<thead><tr>${header.map((/** @type {any} */ one) => html`<th scope="col">${String(one)}</th>`)}</tr></thead>`}
      <tbody>${rows.slice(0, MOST_ROWS).map((row) => html`<tr>${row.map((cell, i) => html`<td data-label=${header[i] === undefined ? undefined : String(header[i])}>${String(cell ?? "")}</td>`)}</tr>`)}</tbody>
    </table></div>
    ${(table.caption || rows.length > MOST_ROWS) && html`<p class="more soft">${rows.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${rows.length} rows. ` : ""}${String(table.caption ?? "")}</p>`}
  <//>`;
}

/** Shown as text, whatever it is: markup of a job is not ours. @param {{given: any}} props */
function Text({ given }) {
  const { title = "Report", content = given, caption = "" } = typeof given === "object" ? given : {};
  return html`<${Card} title=${String(title || "Report")}><pre class="job-text">${typeof content === "string" ? content : JSON.stringify(content, null, 2)}</pre>
    ${caption && html`<p class="soft">${String(caption)}</p>`}<//>`;
}
