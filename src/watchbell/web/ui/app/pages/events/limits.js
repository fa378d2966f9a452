/** Limits of an event or a category, and what is done about a job that reaches one. */

import { html } from "htm/preact";
import { AmountField, BYTES, NumberField, SECONDS } from "../../kit/amounts.js";
import { Field, Toggle } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Tokens } from "../../kit/tokens.js";
import { TRIGGERS } from "./actions.js";
import { keyed } from "./draft.js";
import { Adding, Items } from "./items.js";

/** @typedef {import("./draft.js").Item} Item */
/** @typedef {{item: Item, change: (changes: Record<string, any>) => void, path: string}} Part */

/** @type {Record<string, [title: string, hint: string, beginning: Record<string, any>]>} */
export const LIMIT_TYPES = {
  time: ["Time", "How long a job may run.", { duration: 3_600 }],
  job: ["Jobs at once", "How many jobs of it may run at the same time. Without a queue, more are refused.", { amount: 1 }],
  queue: ["Queue", "How many jobs may wait for others of it to end. Needs a limit of jobs at once.", { amount: 10 }],
  retry: ["Retries", "How often a failed job is run again before the failure counts.", { amount: 2, duration: 60 }],
  mem: ["Memory", "Of all processes of a job together.", { amount: 1_073_741_824, duration: 60 }],
  cpu: ["CPU", "Of all processes of a job together. 100 is one core.", { amount: 100, duration: 60 }],
  log: ["Log size", "How much a job may print.", { amount: 104_857_600 }],
  day: ["Jobs a day", "Further jobs of the day are not started.", { amount: 100, condition: "start" }],
  file: ["Input files", "What a job may be given.", { amount: 10, size: 104_857_600 }],
  tag: ["Tags", "How many tags a job may have.", { amount: 10 }],
};
const REACTING = ["time", "log", "mem", "cpu"];
/** @type {Record<string, string[]>} */
const KNOWN = { time: ["duration"], retry: ["amount", "duration"], mem: ["amount", "duration"], cpu: ["amount", "duration"], file: ["amount", "size", "accept"], day: ["amount", "condition"] };
const REACTIONS = ["email", "url", "text"];

/** @param {{limits: Item[], onChange: (limits: Item[]) => void, tags: {id: string}[]}} props */
export function Limits({ limits, onChange, tags }) {
  const offered = Object.entries(LIMIT_TYPES).map(([type, [title]]) => /** @type {[string, string]} */ ([type, title]));
  return html`<${Card} title="Limits"><div class="stack">
    ${limits.length === 0 && html`<p class="soft">No limits of its own.</p>`}
    <${Items} items=${limits} field="limits" onChange=${onChange} titleOf=${(/** @type {Item} */ one) => LIMIT_TYPES[one.type]?.[0] ?? one.type} hintOf=${(/** @type {Item} */ one) => LIMIT_TYPES[one.type]?.[1]}
      known=${(/** @type {Item} */ one) => [...(KNOWN[one.type] ?? ["amount"]), ...(REACTING.includes(one.type) ? REACTIONS : [])]}>
      ${(/** @type {Item} */ item, /** @type {(changes: Record<string, any>) => void} */ change, /** @type {string} */ path) => html`<div class="stack">
        <${LimitFields} item=${item} change=${change} path=${path} tags=${tags} />
      </div>`}
    <//>
    <${Adding} label="Add a limit" options=${offered} onAdd=${(/** @type {string} */ type) => onChange([...limits, keyed({ type, ...LIMIT_TYPES[type]?.[2] })])} />
  </div><//>`;
}

/** @param {Part & {tags: {id: string}[]}} props */
export function LimitFields({ item, change, path, tags }) {
  return html`<div class="form-row"><${Amounts} item=${item} change=${change} path=${path} /></div>
    ${REACTING.includes(item.type) && html`<${Reaction} item=${item} change=${change} path=${path} tags=${tags} />`}`;
}

/** @param {Part} props */
function Amounts({ item, change, path }) {
  const at = (/** @type {string} */ name) => ({ name: `${path}.${name}`, value: item[name], onInput: (/** @type {any} */ value) => change({ [name]: value }) });
  const sustained = html`<${AmountField} label="For longer than" units=${SECONDS} ...${at("duration")} hint="Shorter peaks are allowed." />`;
  switch (item.type) {
    case "time":
      return html`<${AmountField} label="Longest time" units=${SECONDS} ...${at("duration")} />`;
    case "retry":
      return html`<${NumberField} label="Retries" ...${at("amount")} /><${AmountField} label="Time between" units=${SECONDS} ...${at("duration")} />`;
    case "mem":
      return html`<${AmountField} label="More than" units=${BYTES} ...${at("amount")} />${sustained}`;
    case "cpu":
      return html`<${NumberField} label="More than (percent)" ...${at("amount")} />${sustained}`;
    case "log":
      return html`<${AmountField} label="Largest size" units=${BYTES} ...${at("amount")} />`;
    case "day":
      return html`<${NumberField} label="Most jobs" ...${at("amount")} /><${Field} label="Counted" ...${at("condition")} value=${item.condition ?? "start"} options=${TRIGGERS.map(([id, words]) => [id, words])} />`;
    case "file":
      return html`<${NumberField} label="Most files" ...${at("amount")} /><${AmountField} label="Largest size together" units=${BYTES} ...${at("size")} />
        <${Field} label="Accepted endings" ...${at("accept")} value=${item.accept ?? ""} placeholder=".csv, .json" />`;
    default:
      return html`<${NumberField} label="Most" ...${at("amount")} />`;
  }
}

/** What is done when a job reaches the limit. @param {Part & {tags: {id: string}[]}} props */
function Reaction({ item, change, path, tags }) {
  const isSet = REACTIONS.some((name) => item[name]) || item.snapshot || item.tags?.length > 0 || item.users?.length > 0;
  const text = (/** @type {string} */ label, /** @type {string} */ name, /** @type {Record<string, any>} */ more) =>
    html`<${Field} label=${label} name=${`${path}.${name}`} value=${item[name] ?? ""} onInput=${(/** @type {string} */ value) => change({ [name]: value })} ...${more} />`;
  return html`<${Toggle} label="Abort the job" checked=${item.abort !== false} onChange=${(/** @type {boolean} */ abort) => change({ abort })} hint="An aborted job may be retried." />
    <details open=${Boolean(isSet)}><summary>Also notify and tag</summary><div class="stack">
      <div class="form-row">
        ${text("Mail addresses", "email", { placeholder: "alice@example.com, bob@example.com" })}
        <${Tokens} label="Users" words=${item.users ?? []} onChange=${(/** @type {string[]} */ users) => change({ users })} />
      </div>
      <div class="form-row">
        ${text("Web hook", "url", { placeholder: "https://example.com/hook" })}
        <${Tokens} label="Tags for the job" words=${item.tags ?? []} list=${tags.map((one) => one.id)} onChange=${(/** @type {string[]} */ added) => change({ tags: added })} />
      </div>
      ${text("Text", "text", { placeholder: "added to the message" })}
      <${Toggle} label="Record what the server is doing" checked=${item.snapshot === true} onChange=${(/** @type {boolean} */ snapshot) => change({ snapshot })} />
    </div></details>`;
}
