/** Recent decisions about a check, as `watchbell explain` prints them. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { Command } from "../../kit/copy.js";
import { Button } from "../../kit/form.js";
import { Card, Empty, Fetched } from "../../kit/layout.js";
import { Chip, State } from "../../kit/state.js";
import { When } from "../../kit/time.js";
import { useStamp } from "./stamp.js";

/**
 * @typedef {{medium: string, words: string, until: number | null}} MediumNotified
 * @typedef {{contact: string, reason: string, rules: string[], media: MediumNotified[]}} ContactNotified
 * @typedef {{time: number, by: string, state: string, outcome: string, is_notified: boolean, reason: string, until: number | null, summary: string,
 *   tags: string[], contacts: ContactNotified[]}} Decision
 */

const FIRST = 12;

/** @param {{check: string, stamp: string}} props */
export function Decisions({ check, stamp }) {
  const [isAll, setIsAll] = useState(false);
  const decisions = useFetched(url("/check/decisions", { check }), { every: 20 });
  useStamp(stamp, decisions.reload);
  return html`<${Card}><${Fetched} of=${decisions} lines=${6}>
    ${(/** @type {Decision[]} */ found) =>
      found.length === 0
        ? html`<${Empty} title="No recent decisions.">
            <p>For each report of a problem or recovery, this list shows who was notified, or why nobody was. The same on the command line:</p>
            <${Command} text=${`watchbell explain '${check.replaceAll("'", "'\\''")}'`} />
          <//>`
        : html`<ol class="check-decisions">${found.slice(0, isAll ? 50 : FIRST).map((one) => html`<${Entry} one=${one} />`)}</ol>
            ${!isAll && found.length > FIRST && html`<div class="more"><${Button} onClick=${() => setIsAll(true)}>Show more<//></div>`}`}
  <//><//>`;
}

/** @param {{one: Decision}} props */
function Entry({ one }) {
  return html`<li class="check-decision">
    <div class="check-decision-head">
      <${When} at=${one.time} as="short" />
      <${State} state=${one.state} word=${one.state.replace("_", " ")} />
      <${Chip} tone=${one.is_notified ? "good" : "plain"}>${one.outcome}<//>
      <span>${one.reason}${one.until !== null && html`, until <${When} at=${one.until} as="short" />`}</span>
    </div>
    ${one.summary && html`<div class="soft">${one.summary}</div>`}
    ${one.tags.length > 0 && html`<div class="soft">Tags: ${one.tags.join(", ")}</div>`}
    ${one.contacts.map((contact) => html`<${Contact} contact=${contact} />`)}
  </li>`;
}

/** @param {{contact: ContactNotified}} props */
function Contact({ contact }) {
  return html`<details class="check-decision-who">
    <summary>${contact.contact}: ${contact.reason}</summary>
    <ul>
      <li><a href=${url("/contact", { id: contact.contact })}>Show contact ${contact.contact}</a></li>
      ${contact.media.map((medium) => html`<li>${medium.medium}: ${medium.words}${medium.until !== null && html`, until <${When} at=${medium.until} as="short" />`}</li>`)}
      ${contact.rules.map((rule) => html`<li class="soft">${rule}</li>`)}
    </ul>
  </details>`;
}
