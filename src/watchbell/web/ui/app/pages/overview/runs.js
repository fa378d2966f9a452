/** Current, next and last runs of cron jobs. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { counted } from "../../words.js";
import { Card } from "../../kit/layout.js";
import { Chip, State } from "../../kit/state.js";
import { Lasting, Since, When } from "../../kit/time.js";

/**
 * @typedef {{id: string, job: string, status: string, start: number, ended: number | null, duration: number | null, words: string}} Run
 * @typedef {{jobs: number, failing: number, paused: number, running: Run[], last: Run[], next: {job: string, at: number}[]}} Known
 */

/** @type {Record<string, [state: string, word: string]>} */
const STATES = { success: ["ok", "succeeded"], fail: ["critical", "failed"], frozen: ["unknown", "frozen"], running: ["running", "running"] };

/** @param {{runs: Known}} props */
export function Runs({ runs }) {
  const actions = html`${runs.failing > 0 && html`<${Chip} tone="bad" href="/cron?kind=failing">${runs.failing} failing<//>`} <a href="/cron">${counted(runs.jobs, "cron job")}</a>`;
  return html`<${Card} title="Cron" actions=${actions}>
    ${runs.running.length > 0 && html`<h3>Running</h3><ul class="overview-list">${runs.running.map((one) => html`<li>
      <${State} state="running" word="" /><a href=${url("/cron/run", { id: one.id })}>${one.job}</a><span class="soft">for <${Since} since=${Math.floor(one.start)} /></span></li>`)}</ul>`}
    <h3>Next runs</h3>
    ${runs.next.length === 0 ? html`<p class="soft">No runs scheduled.</p>` : html`<ul class="overview-list">${runs.next.map((one) => html`<li>
      <a href=${url("/cron/job", { name: one.job })}>${one.job}</a><${When} at=${one.at} /></li>`)}</ul>`}
    ${runs.last.length > 0 && html`<h3>Last runs</h3><ul class="overview-list">${runs.last.map((one) => {
      const [state, word] = STATES[one.status] ?? ["none", one.status];
      return html`<li><${State} state=${state} word=${word} /><a href=${url("/cron/run", { id: one.id })} title=${one.words}>${one.job}</a>
        <span class="soft"><${When} at=${one.ended === null ? null : Math.floor(one.ended)} none="" />${one.duration !== null && html`, took <${Lasting} seconds=${one.duration} units=${1} />`}</span></li>`;
    })}</ul>`}
  <//>`;
}
