/** When an event runs: the list of its timings. */

import { html } from "htm/preact";
import { AmountField, InstantField, NumberField, NumbersField, SECONDS } from "../../kit/amounts.js";
import { Button, Field, Toggle } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Tokens } from "../../kit/tokens.js";
import { clock } from "../../times.js";
import { keyed } from "./draft.js";
import { Adding, Items } from "./items.js";
import { ObjectEditor } from "./object_editor.js";
import { Schedule } from "./schedule.js";

/** @typedef {import("./draft.js").Item} Item */

/** @type {Record<string, [title: string, hint: string]>} */
const TYPES = {
  schedule: ["Schedule", ""],
  interval: ["Interval", "Runs each time that this much time has passed."],
  single: ["Once", "Runs once, at this minute."],
  continuous: ["Continuously", "Starts again whenever a job ends. There can be no other timing beside it."],
  startup: ["At start", "Runs when Watchbell starts."],
  range: ["Only between", "Runs only in this period. Leave one end empty for no limit there."],
  blackout: ["Not between", "Never runs in this period."],
  catchup: ["Catch up", "Runs what was missed while Watchbell was down or the event was disabled."],
  delay: ["Delay", "Starts each scheduled job this much later."],
  precision: ["Seconds", "Starts jobs at these seconds of each scheduled minute."],
  nth: ["Every nth time", "Leaves out the other scheduled runs."],
  destruct: ["Delete after the first run", "The event deletes itself once its first job has ended."],
};
/** What new timings begin with. @type {Record<string, () => Record<string, any>>} */
export const BEGINNINGS = {
  single: () => ({ epoch: nextHour() }),
  interval: () => ({ duration: 600 }),
  range: () => ({ start: nextHour() }),
  blackout: () => ({ start: nextHour(), end: nextHour() + 86_400 }),
  catchup: () => ({ policy: "latest" }),
  delay: () => ({ duration: 60 }),
  precision: () => ({ seconds: [0, 30] }),
  nth: () => ({ every: 2 }),
};
/** @type {[words: string, timing: Record<string, any>][]} */
const QUICK = [
  ["Every hour", { minutes: [0] }],
  ["Every day", { hours: [2], minutes: [0] }],
  ["Every week", { weekdays: [1], hours: [2], minutes: [0] }],
  ["Every month", { days: [1], hours: [2], minutes: [0] }],
];
const LAUNCHING = ["schedule", "interval", "single", "continuous", "startup"];
const MODIFYING = ["range", "blackout", "catchup", "delay", "precision", "nth", "destruct"];
const ONCE = ["continuous", "startup", "catchup", "delay", "precision", "nth", "destruct"];
/** Properties that show their errors themselves. @type {Record<string, string[]>} */
const KNOWN = {
  schedule: ["years", "months", "days", "weekdays", "hours", "minutes", "timezone"],
  interval: ["duration", "start"],
  single: ["epoch"],
  range: ["start", "end"],
  blackout: ["start", "end"],
  catchup: ["policy", "most"],
  delay: ["duration"],
  precision: ["seconds"],
  nth: ["every"],
};

const nextHour = () => Math.ceil(clock.value / 3_600) * 3_600;

/** @param {import("./draft.js").Parts & {preview: any}} props `preview`: drawn below, on narrow screens */
export function Timings({ draft, change, options, preview }) {
  const shown = draft.timings.filter((one) => one.type !== "manual");
  const manual = draft.timings.filter((one) => one.type === "manual");
  const isManual = manual.every((one) => one.enabled !== false);
  // The manual timing comes last, so that the server counts the others as this page does.
  const set = (/** @type {Item[]} */ timings) => change({ timings: [...timings, ...manual] });
  const add = (/** @type {string} */ type, beginning = BEGINNINGS[type]?.() ?? {}) => set([...shown, keyed({ type, ...beginning })]);
  const offered = (/** @type {string[]} */ types) =>
    types.filter((type) => !ONCE.includes(type) || !shown.some((one) => one.type === type)).map((type) => /** @type {[string, string]} */ ([type, TYPES[type]?.[0] ?? type]));
  return html`<${Card} title="When"><div class="stack">
    ${shown.length === 0 && html`<p class="soft">It runs only when somebody or something starts it. Add a timing to run it by itself.</p>`}
    <${Items} items=${shown} field="timings" onChange=${set} titleOf=${(/** @type {Item} */ one) => TYPES[one.type]?.[0] ?? one.type} hintOf=${(/** @type {Item} */ one) => TYPES[one.type]?.[1]}
      known=${(/** @type {Item} */ one) => KNOWN[one.type] ?? []}>
      ${(/** @type {Item} */ item, /** @type {(changes: Record<string, any>) => void} */ edit, /** @type {string} */ path) => html`<${Timing} item=${item} change=${edit} path=${path} options=${options} />`}
    <//>
    <div class="actions" role="group" aria-label="New timings">
      ${QUICK.map(([words, timing]) => html`<${Button} small onClick=${() => add("schedule", timing)}>${words}<//>`)}
      <${Adding} label="Add a timing" onAdd=${(/** @type {string} */ type) => (type === "custom" ? add("schedule", { minutes: [0], hours: [8, 12, 16] }) : add(type))}
        options=${[{ label: "When to run", options: [["custom", "Custom schedule"], ...offered(LAUNCHING.slice(1))] }, { label: "Conditions", options: offered(MODIFYING) }]} />
    </div>
    <div class="editor-inline">${preview}</div>
    <${Toggle} label="Can be run on demand" checked=${isManual} hint="By people, API keys and actions of other events."
      onChange=${(/** @type {boolean} */ to) => change({ timings: to ? shown : [...shown, keyed({ type: "manual", enabled: false })] })} />
  </div><//>`;
}

/** Timings that start nothing, but say when others may. @param {{timings: Item[], onChange: (timings: Item[]) => void, options: import("./words.js").Options}} props */
export function Modifiers({ timings, onChange, options }) {
  const offered = MODIFYING.filter((type) => !ONCE.includes(type) || !timings.some((one) => one.type === type)).map((type) => /** @type {[string, string]} */ ([type, TYPES[type]?.[0] ?? type]));
  return html`<div class="stack">
    <${Items} items=${timings} field="timings" onChange=${onChange} titleOf=${(/** @type {Item} */ one) => TYPES[one.type]?.[0] ?? one.type} hintOf=${(/** @type {Item} */ one) => TYPES[one.type]?.[1]}
      known=${(/** @type {Item} */ one) => KNOWN[one.type] ?? []}>
      ${(/** @type {Item} */ item, /** @type {(changes: Record<string, any>) => void} */ edit, /** @type {string} */ path) => html`<${TimingFields} item=${item} change=${edit} path=${path} options=${options} />`}
    <//>
    <${Adding} label="Add a condition" options=${offered} onAdd=${(/** @type {string} */ type) => onChange([...timings, keyed({ type, ...BEGINNINGS[type]?.() })])} />
  </div>`;
}

/** @param {{item: Item, change: (changes: Record<string, any>) => void, path: string, options: import("./words.js").Options}} props */
export function Timing({ item, change, path, options }) {
  return html`<div class="stack"><${TimingFields} item=${item} change=${change} path=${path} options=${options} />
    ${LAUNCHING.includes(item.type) && html`<${Overrides} item=${item} change=${change} path=${path} options=${options} />`}</div>`;
}

/** @param {{item: Item, change: (changes: Record<string, any>) => void, path: string, options: import("./words.js").Options}} props */
function TimingFields({ item, change, path, options }) {
  const set = (/** @type {string} */ name) => (/** @type {any} */ value) => change({ [name]: value });
  const at = (/** @type {string} */ name) => ({ name: `${path}.${name}`, value: item[name], onInput: set(name) });
  switch (item.type) {
    case "schedule":
      return html`<${Schedule} item=${item} change=${change} path=${path} timezone=${options.timezone} />`;
    case "interval":
      return html`<div class="form-row"><${AmountField} label="Every" units=${SECONDS} ...${at("duration")} /><${InstantField} label="Counted from" ...${at("start")} value=${item.start || null} hint="Empty: from 1 January 1970, 00:00 UTC." /></div>`;
    case "single":
      return html`<div class="form-row"><${InstantField} label="At" ...${at("epoch")} /></div>`;
    case "range":
    case "blackout":
      return html`<div class="form-row"><${InstantField} label="Start" ...${at("start")} /><${InstantField} label="End" ...${at("end")} /></div>`;
    case "catchup":
      return html`<div class="form-row"><${Field} label="Missed runs" ...${at("policy")} value=${item.policy ?? "all"} options=${[["latest", "Run the latest"], ["all", "Run all"]]} />
        <${NumberField} label="At most (minutes)" ...${at("most")} placeholder="no limit" /></div>`;
    case "delay":
      return html`<div class="form-row"><${AmountField} label="Delay" units=${SECONDS} ...${at("duration")} /></div>`;
    case "precision":
      return html`<div class="form-row"><${NumbersField} label="Seconds" from=${0} to=${59} ...${at("seconds")} value=${item.seconds ?? []} placeholder="0, 15, 30, 45" /></div>`;
    case "nth":
      return html`<div class="form-row"><${NumberField} label="Run one of" ...${at("every")} hint="2 runs every other time." /></div>`;
    default:
      return null;
  }
}

/** Parameters and tags of the jobs of one timing. @param {{item: Item, change: (changes: Record<string, any>) => void, path: string, options: import("./words.js").Options}} props */
function Overrides({ item, change, path, options }) {
  const isSet = Object.keys(item.params ?? {}).length > 0 || (item.tags ?? []).length > 0;
  return html`<details open=${isSet}><summary>Tags and parameters of these runs</summary><div class="stack">
    <${Tokens} label="Tags" words=${item.tags ?? []} list=${options.tags.map((one) => one.id)} onChange=${(/** @type {string[]} */ tags) => change({ tags })} hint="Added to those of the event." />
    <${ObjectEditor} label="Parameters (JSON)" name=${`${path}.params`} value=${item.params ?? {}} onInput=${(/** @type {any} */ params) => change({ params })}
      hint=${html`These replace the parameters of the event, as <code>{"script": "…"}</code>.`} />
  </div></details>`;
}
