/** A schedule: quick choices, and lists of minutes, hours, weekdays, days, months and years. */

import { html } from "htm/preact";
import { useId, useMemo, useState } from "preact/hooks";
import { NumbersField } from "../../kit/amounts.js";
import { Choice, Field, useWrong } from "../../kit/form.js";

/** @typedef {import("./draft.js").Item} Item */
/** @typedef {"hourly" | "daily" | "weekly" | "monthly" | "custom"} Mode */
/** @typedef {{item: Item, change: (changes: Record<string, any>) => void, path: string}} Part */

/** Sunday is 0. @type {[value: number, words: string, name: string][]} */
const WEEKDAYS = [[1, "Mon", "Monday"], [2, "Tue", "Tuesday"], [3, "Wed", "Wednesday"], [4, "Thu", "Thursday"], [5, "Fri", "Friday"], [6, "Sat", "Saturday"], [0, "Sun", "Sunday"]];
const MONTH_NAMES = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/** @type {[value: number, words: string, name: string][]} */
const MONTHS = MONTH_NAMES.map((name, i) => [i + 1, name.slice(0, 3), name]);
/** @type {[value: number, words: string, name: string][]} */
const HOURS = Array.from({ length: 24 }, (_, hour) => [hour, String(hour).padStart(2, "0"), `${String(hour).padStart(2, "0")} o'clock`]);
/** The lists that each mode can show. @type {Record<string, string[]>} */
const USED = { hourly: ["minutes"], daily: ["hours", "minutes"], weekly: ["weekdays", "hours", "minutes"], monthly: ["days", "hours", "minutes"] };
const LISTS = ["years", "months", "days", "weekdays", "hours", "minutes"];
/** @type {[Mode, string][]} */
const MODES = [["hourly", "Hourly"], ["daily", "Daily"], ["weekly", "Weekly"], ["monthly", "Monthly"], ["custom", "Custom"]];

/** @param {Part & {timezone: string}} props */
export function Schedule({ item, change, path, timezone }) {
  const [mode, setMode] = useState(() => modeOf(item));
  const zones = useMemo(() => Intl.supportedValuesOf("timeZone"), []);
  const select = (/** @type {Mode} */ to) => {
    setMode(to);
    if (to !== "custom") change(startOf(to, item));
  };
  const part = { item, change, path };
  return html`<div class="stack">
    <${Choice} label="Repeat" value=${mode} options=${MODES} onChange=${select} />
    ${mode === "weekly" && html`<${Toggles} label="On" list="weekdays" values=${WEEKDAYS} ...${part} />`}
    ${mode === "custom" ? html`<${Lists} ...${part} />` : html`<div class="form-row">
      ${mode === "monthly" && html`<${Days} ...${part} />`}
      ${mode === "hourly" ? html`<${Minutes} ...${part} hint="Minutes of each hour, such as 0 or 0, 30." />` : html`<${Time} ...${part} />`}
    </div>`}
    <${Field} label="Time zone" name=${`${path}.timezone`} value=${item.timezone ?? ""} list=${zones} placeholder=${timezone} onInput=${(/** @type {string} */ zone) => change({ timezone: zone })} />
  </div>`;
}

/** The quick choice that a schedule is, if it is one. @param {Item} item @returns {Mode} */
function modeOf(item) {
  const given = LISTS.filter((name) => (item[name] ?? []).length > 0);
  const isTime = item.hours?.length === 1 && item.minutes?.length === 1;
  const fits = (/** @type {string} */ mode) => USED[mode]?.length === given.length && USED[mode]?.every((name) => given.includes(name)) && (mode === "hourly" || isTime);
  return /** @type {Mode} */ (Object.keys(USED).find(fits)) ?? "custom";
}

/** The lists of a quick choice, as far as possible those that were selected before. @param {Mode} mode @param {Item} item */
function startOf(mode, item) {
  /** @type {Record<string, any>} */
  const first = { hours: [item.hours?.[0] ?? 2], minutes: mode === "hourly" && item.minutes?.length ? item.minutes : [item.minutes?.[0] ?? 0], weekdays: item.weekdays?.length ? item.weekdays : [1], days: item.days?.length ? item.days : [1] };
  return Object.fromEntries(LISTS.map((name) => [name, USED[mode]?.includes(name) ? first[name] : []]));
}

/** @param {Part} props */
function Time({ item, change, path }) {
  const two = (/** @type {unknown} */ number) => String(number ?? 0).padStart(2, "0");
  const [text, setText] = useState(`${two(item.hours?.[0])}:${two(item.minutes?.[0])}`);
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    const found = /^(\d{1,2}):(\d{1,2})/.exec(typed);
    if (found) change({ hours: [Number(found[1])], minutes: [Number(found[2])] });
  };
  const wrong = useWrong(`${path}.minutes`);
  return html`<${Field} label="At" name=${`${path}.hours`} type="time" value=${text} onInput=${type} problem=${text === "" ? "Enter a time." : wrong} />`;
}

/** @param {Part & {hint?: string}} props */
function Minutes({ item, change, path, hint }) {
  return html`<${NumbersField} label="Minutes" name=${`${path}.minutes`} value=${item.minutes ?? []} from=${0} to=${59} placeholder="every minute"
    onInput=${(/** @type {any} */ minutes) => change({ minutes })} hint=${hint} />`;
}

/** @param {Part} props */
function Days({ item, change, path }) {
  return html`<${NumbersField} label="Days of the month" name=${`${path}.days`} value=${item.days ?? []} from=${1} to=${31} placeholder="every day"
    onInput=${(/** @type {any} */ days) => change({ days })} hint="Such as 1, 15; -1 is the last day." />`;
}

/** @param {Part} props */
function Lists(props) {
  const { item, change, path } = props;
  return html`<p class="hint">It runs at each minute that matches all of these. What is empty matches always.</p>
    <div class="form-row"><${Minutes} ...${props} hint=${"Such as 0, 30; 10-20; */15."} /><${Days} ...${props} />
      <${NumbersField} label="Years" name=${`${path}.years`} value=${item.years ?? []} from=${2026} to=${2100} placeholder="every year" onInput=${(/** @type {any} */ years) => change({ years })} /></div>
    <${Toggles} label="Hours" list="hours" values=${HOURS} ...${props} />
    <${Toggles} label="Weekdays" list="weekdays" values=${WEEKDAYS} ...${props} />
    <${Toggles} label="Months" list="months" values=${MONTHS} ...${props} />`;
}

/**
 * Values of a list as buttons.
 * @param {Part & {label: string, list: string, values: [value: number, words: string, name: string][]}} props
 */
function Toggles({ label, list, values, item, change, path }) {
  const id = useId();
  const wrong = useWrong(`${path}.${list}`);
  const selected = /** @type {(number | string)[]} */ (item[list] ?? []);
  const toggle = (/** @type {number} */ value) =>
    change({ [list]: (selected.includes(value) ? selected.filter((one) => one !== value) : [...selected, value]).toSorted((a, b) => Number(a) - Number(b)) });
  return html`<div class="field" role="group" aria-labelledby=${id}>
    <div class="field-label" id=${id}>${label}</div>
    <div class="toggles">${values.map(([value, words, name]) => html`<button type="button" title=${name} aria-pressed=${selected.includes(value) ? "true" : "false"} onClick=${() => toggle(value)}>${words}</button>`)}</div>
    ${wrong && html`<div class="wrong" data-wrong tabindex="-1">${wrong}</div>`}
  </div>`;
}
