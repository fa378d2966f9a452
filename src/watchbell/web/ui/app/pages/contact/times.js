/** The times of a rule: a weekly grid, times in words, or stored times that no week can show. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { get, Problem, url } from "../../api.js";
import { Button } from "../../kit/form.js";
import { WeekGrid } from "./week.js";
import { ALWAYS, isSame, NOTHING, PRESETS, rest } from "./weeks.js";

/**
 * @typedef {import("./weeks.js").Week} Week
 * @typedef {{stored: object[], shows: Week | null, why: string[], week: Week | null}} Times
 *   `stored` as the rule has them, which the week `shows`, or `why` none does; `week` is what is painted now, null where
 *   they stay as they are
 */

/** @param {{time_restrictions: object[], week: Week | null, not_weekly: string[]}} from @returns {Times} */
export function timesOf(from) {
  return { stored: from.time_restrictions, shows: from.week, why: from.not_weekly, week: from.week };
}

/** What is sent: as it was stored, unless something else was painted. @param {Times} times */
export function bodyOf(times) {
  const isKept = times.week === null || isSame(times.week, times.shows);
  return isKept ? { time_restrictions: times.stored } : { time_restrictions: [], week: times.week };
}

/** @param {{times: Times, onChange: (times: Times) => void, zone: string, name: string, problem: string}} props */
export function TimesField({ times, onChange, zone, name, problem }) {
  const paint = (/** @type {Week} */ week) => onChange({ ...times, week });
  return html`<div class="rule-times">
    <div class="bar-of">
      ${PRESETS.map(([words, week]) => html`<${Button} small onClick=${() => paint(week)} aria-pressed=${isSame(times.week, week) ? "true" : "false"}>${words}<//>`)}
      <${Button} small disabled=${times.week === null || isSame(times.week, ALWAYS)} onClick=${() => times.week && paint(rest(times.week))}>Invert<//>
      <span class="soft">Time zone: ${zone}</span>
    </div>
    ${times.week === null
      ? html`<div class="notice"><div><strong>These times don't fit a weekly grid and are kept:</strong>
          <ul>${times.why.map((one) => html`<li>${one}</li>`)}</ul></div>
          <${Button} small onClick=${() => paint(NOTHING)}>Use a weekly grid instead<//></div>`
      : html`<${WeekGrid} week=${times.week} onChange=${paint} label=${`Times of the rule, in ${name}'s time zone`} />
          <p class="hint">${isSame(times.week, ALWAYS) && "At any time. "}Drag to select times, or click a day or an hour. With the keyboard: arrow keys move, Shift extends, Space toggles.
            ${times.shows === null && html` <button type="button" class="contact-link" onClick=${() => onChange({ ...times, week: null })}>Keep the stored times</button>`}</p>`}
    ${problem && html`<div class="wrong" role="alert">${problem}</div>`}
    <${InWords} onTaken=${onChange} />
  </div>`;
}

/** @param {{onTaken: (times: Times) => void}} props */
function InWords({ onTaken }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const take = async () => {
    try {
      onTaken(timesOf(await get(url("/rules/times", { text }))));
      setText("");
      setWrong("");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setWrong(error.message);
    }
  };
  return html`<div class="rule-in-words">
    <input value=${text} aria-label="Times in words" placeholder="or type: mon-fri 18:00-08:00; sat,sun; 1st mon 09:00-10:00" aria-invalid=${wrong ? "true" : undefined}
      onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        if (text.trim()) void take();
      }} />
    <${Button} onClick=${take} disabled=${!text.trim()}>Set<//>
    ${wrong && html`<div class="wrong" role="alert">${wrong}</div>`}
  </div>`;
}
