/** The timeline as lists, for narrow screens: what runs, what comes next, what ran. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Button } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Mark } from "../../kit/state.js";
import { Since, When } from "../../kit/time.js";
import { took } from "../../times.js";
import { runLink, subjectLink, verdictOf } from "../jobs/words.js";

/** @typedef {import("./rows.js").Run} Run */
/** @typedef {import("./rows.js").Planned} Planned */
/** @typedef {import("./rows.js").Frequent} Frequent */

const FIRST = 20;

/** @param {{past: Run[], ahead: Planned[], frequent: Frequent[]}} props */
export function Agenda({ past, ahead, frequent }) {
  const running = past.filter((run) => run.ended === null);
  const ended = past.filter((run) => run.ended !== null);
  return html`
    <${Part} title="Running" items=${running} draw=${(/** @type {Run} */ run) => html`<${One} run=${run} />`} />
    <${Part} title="Next" items=${ahead} draw=${(/** @type {Planned} */ one) => html`<li><span class="agenda-at"><${When} at=${one.at} as="short" /></span><a href=${subjectLink(one)}>${one.title}</a><span class="soft"><${When} at=${one.at} /></span></li>`} />
    <${Part} title="Frequent" items=${frequent} draw=${(/** @type {Frequent} */ one) => html`<li><span class="agenda-at"></span><a href=${subjectLink(one)}>${one.title}</a><span class="soft">${one.words}</span></li>`} />
    <${Part} title="Earlier" items=${ended} draw=${(/** @type {Run} */ run) => html`<${One} run=${run} />`} />`;
}

/** @param {{title: string, items: any[], draw: (item: any) => any}} props */
function Part({ title, items, draw }) {
  const [most, setMost] = useState(FIRST);
  if (items.length === 0) return null;
  return html`<${Card} title=${title} actions=${html`<span class="soft">${items.length.toLocaleString("en")}</span>`}>
    <ul class="agenda">${items.slice(0, most).map(draw)}</ul>
    ${items.length > most && html`<div class="more"><${Button} onClick=${() => setMost(most + 100)}>Show more<//></div>`}
  <//>`;
}

/** @param {{run: Run}} props */
function One({ run }) {
  const [state, word] = verdictOf(run.verdict);
  return html`<li><span class="agenda-at"><${When} at=${run.start} as="short" /></span>
    <span class="agenda-name"><${Mark} state=${state} title=${word} /> <a href=${runLink(run)}>${run.title}</a></span>
    <span class="soft">${run.ended === null ? html`<${Since} since=${Math.floor(run.start)} />` : took(run.duration ?? 0)}</span></li>`;
}
