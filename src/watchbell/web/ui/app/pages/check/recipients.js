/** Who would be notified if the check entered a state at a given time, and why. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { useQuery } from "../../location.js";
import { may } from "../../session.js";
import { Button, Choice } from "../../kit/form.js";
import { Card, Empty, Fetched } from "../../kit/layout.js";
import { Chip, State } from "../../kit/state.js";
import { When } from "../../kit/time.js";
import { capitalized, counted } from "../../words.js";
import { useStamp } from "./stamp.js";
import { field, instant, next } from "../../zoned.js";

/**
 * @typedef {{id: string, matches: boolean, counts: boolean, words: string, sentence: string}} RuleAsked
 * @typedef {{medium: string, address: string, is_called: boolean, words: string, until: number | null}} MediumAsked
 * @typedef {{contact: string, name: string, zone: string, is_called: boolean, reason: string, rules: RuleAsked[], media: MediumAsked[]}} Recipient
 * @typedef {{state: string, at: number, tags: string[], held: {time: number, words: string, until: number | null}[],
 *   told_at: number | null, severity: string | null, words: string, contacts: Recipient[]}} Answer
 */

const STATES = ["critical", "warning", "unknown", "ok"];
/** @type {[when: string, words: string][]} */
const TIMES = [
  ["", "Now"],
  ["night", "3 am"],
  ["saturday", "Saturday noon"],
  ["at", "Other…"],
];

/** @param {{check: string, stamp: string}} props */
export function Recipients({ check, stamp }) {
  const [query, setQuery] = useQuery();
  const state = STATES.includes(query.get("state") ?? "") ? String(query.get("state")) : "critical";
  const when = query.get("when") ?? "";
  const [text, setText] = useState(query.get("tags") ?? "");
  const at = useMemo(() => moment(when), [when, stamp]);
  const tags = (query.get("tags") ?? "").split(",").map((tag) => tag.trim()).filter(Boolean);
  const answer = useFetched(url("/check/callees", { check, state, at, tag: tags }));
  useStamp(stamp, answer.reload);
  const kind = when === "" || when === "night" || when === "saturday" ? when : "at";
  const select = (/** @type {string} */ one) => setQuery({ when: one === "at" ? field(Math.floor(Date.now() / 1000)) : one });
  return html`<${Card}>
    <form class="check-asked" onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      setQuery({ tags: text });
    }}>
      <span>If it became</span>
      <div><${Choice} label="State" value=${state} options=${STATES.map((one) => [one, html`<${State} state=${one} />`])}
        onChange=${(/** @type {string} */ one) => setQuery({ state: one === "critical" ? null : one })} /></div>
      <span>at</span>
      <div><${Choice} label="Time" value=${kind} options=${TIMES} onChange=${select} />
        ${kind === "at" && html`<input type="datetime-local" class="check-asked-time" aria-label="Date and time" value=${when}
          onChange=${(/** @type {any} */ event) => event.currentTarget.value && setQuery({ when: event.currentTarget.value })} />`}</div>
      <label for="asked-tags">with tags</label>
      <div><input id="asked-tags" value=${text} placeholder="database, prod" autocomplete="off" aria-describedby="asked-hint"
          onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} onBlur=${() => setQuery({ tags: text })} />
        <span id="asked-hint" class="hint">Leave empty to use the tags of its latest report.</span></div>
    </form>
    <${Fetched} of=${answer} lines=${6}>${(/** @type {Answer} */ found) => html`<${Prediction} found=${found} />`}<//>
  <//>`;
}

/** @param {string} when */
function moment(when) {
  const now = Math.floor(Date.now() / 1000);
  if (when === "") return null;
  if (when === "night") return next(now, 3);
  if (when === "saturday") return next(now, 12, [6]);
  return instant(when);
}

/** @param {{found: Answer}} props */
function Prediction({ found }) {
  const called = found.contacts.filter((one) => one.is_called);
  const others = found.contacts.filter((one) => !one.is_called);
  const again = Math.min(...others.flatMap((one) => one.media.map((medium) => medium.until ?? Infinity)));
  return html`<div aria-live="polite">
    <p class="check-asked-answer">${capitalized(found.words)}${called.length > 0 && found.told_at !== null && found.told_at > found.at && html`, <${When} at=${found.told_at} as="exact" /> at the earliest`}.
      ${called.length === 0 && again !== Infinity && html` Next possible alert: <${When} at=${again} as="short" />.`}</p>
    <p class="soft">Rules are matched against these tags: <span class="check-tags">${found.tags.map((tag) => html`<${Chip}>${tag}<//>`)}</span></p>
    <ol class="check-steps" aria-label="Step by step">
      ${found.held.map((step) => html`<li><${When} at=${step.time} as="short" /> ${step.words}${step.until !== null && html`, until <${When} at=${step.until} as="short" />`}</li>`)}
    </ol>
    ${found.contacts.length === 0 && found.told_at !== null
      ? html`<${Empty} title="No contacts are linked to this check." action=${may("write") && html`<${Button} href="/contacts">Show contacts<//>`}>
          <p>Contacts get alerts for what they are linked to: a check, an entity, or everything.</p><//>`
      : html`<ul class="check-recipients">${[...called, ...others].map((one) => html`<${Person} one=${one} />`)}</ul>`}
  </div>`;
}

/** @param {{one: Recipient}} props */
function Person({ one }) {
  return html`<li class="check-recipient">
    <div class="check-recipient-head">
      <a href=${url("/contact", { id: one.contact })}><strong>${one.name || one.contact}</strong></a>
      <${Chip} tone=${one.is_called ? "good" : "plain"}>${one.is_called ? "notified" : "not notified"}<//>
      <span class="soft">${one.reason}</span>
    </div>
    ${one.media.length > 0 && html`<ul class="check-recipient-media">
      ${one.media.map((medium) => html`<li><span class=${medium.is_called ? "good" : "soft"} aria-hidden="true">${medium.is_called ? "✓" : "–"}</span>
        <strong>${medium.medium}</strong><span class="mono">${medium.address}</span><span class="soft">${medium.words}${medium.until !== null && html`, until <${When} at=${medium.until} as="short" />`}</span></li>`)}
    </ul>`}
    ${one.media.length === 0 && html`<p class="soft">This contact has no media.</p>`}
    <${Rules} one=${one} />
  </li>`;
}

/** @param {{one: Recipient}} props */
function Rules({ one }) {
  return html`<details>
    <summary>${counted(one.rules.length, "rule")}, times in ${one.zone}</summary>
    <ul>${one.rules.map((rule) => html`<li class=${rule.counts ? "" : "soft"}>${rule.sentence} <strong>${rule.words}</strong></li>`)}</ul>
  </details>`;
}
