/** Actions of an event or a category: what happens when a job starts or ends. */

import { html } from "htm/preact";
import { useFetched } from "../../api.js";
import { Button, Field } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Tokens } from "../../kit/tokens.js";
import { keyed } from "./draft.js";
import { Items } from "./items.js";
import { ObjectEditor } from "./object_editor.js";

/** @typedef {import("./draft.js").Item} Item */
/** @typedef {{item: Item, change: (changes: Record<string, any>) => void, path: string}} Part */

/** @type {[id: string, words: string][]} */
export const TRIGGERS = [
  ["error", "When a job fails in any way"],
  ["success", "When a job succeeds"],
  ["warning", "When a job ends with a warning"],
  ["critical", "When a job ends as critical"],
  ["abort", "When a job is aborted"],
  ["complete", "When a job ends, however it does"],
  ["start", "When a job starts"],
];
/** @type {[id: string, words: string][]} */
export const ACTION_TYPES = [
  ["email", "Send a mail"],
  ["channel", "Notify a channel"],
  ["web_hook", "Call a web hook"],
  ["run_event", "Run another event"],
  ["tag", "Add tags to the job"],
  ["suspend", "Wait until somebody resumes it"],
  ["disable", "Disable the event"],
  ["delete", "Delete the event"],
  ["snapshot", "Record what the server is doing"],
];
const KNOWN = ["trigger", "type", "email", "url", "event_id", "channel_id", "text", "params"];
/** @type {Item[]} */
const NONE = [];

/**
 * @param {{actions: Item[], onChange: (actions: Item[]) => void, options: {channels: {id: string, title: string}[], tags: {id: string, title: string}[]}}} props
 */
export function Actions({ actions = NONE, onChange, options }) {
  const triggers = [...TRIGGERS, ...options.tags.map((tag) => /** @type {[string, string]} */ ([`tag:${tag.id}`, `When a job with the tag ${tag.title} ends`]))];
  const words = (/** @type {Item} */ item) => `${triggers.find(([id]) => id === item.trigger)?.[1] ?? item.trigger}: ${(ACTION_TYPES.find(([id]) => id === item.type)?.[1] ?? item.type).toLowerCase()}`;
  return html`<${Card} title="Actions"><div class="stack">
    ${actions.length === 0 && html`<p class="soft">No actions of its own. A failed job also makes its check fail, which alerts people by their rules.</p>`}
    <${Items} items=${actions} field="actions" onChange=${onChange} titleOf=${words} known=${() => KNOWN}>
      ${(/** @type {Item} */ item, /** @type {(changes: Record<string, any>) => void} */ change, /** @type {string} */ path) => {
        const known = triggers.some(([id]) => id === item.trigger) ? triggers : [...triggers, [item.trigger, item.trigger]];
        return html`<div class="stack">
          <div class="form-row">
            <${Field} label="When" name=${`${path}.trigger`} value=${item.trigger} options=${known} onInput=${(/** @type {string} */ trigger) => change({ trigger })} />
            <${Field} label="Do" name=${`${path}.type`} value=${item.type} options=${ACTION_TYPES} onInput=${(/** @type {string} */ type) => change({ type })}
              hint=${item.type === "suspend" && item.trigger !== "start" ? "Only a job that starts can wait." : undefined} />
          </div>
          <${ActionFields} item=${item} change=${change} path=${path} options=${options} />
        </div>`;
      }}
    <//>
    <div><${Button} onClick=${() => onChange([...actions, keyed({ trigger: "error", type: "email" })])}>Add an action<//></div>
  </div><//>`;
}

/** @param {Part & {options: {channels: {id: string, title: string}[], tags: {id: string, title: string}[]}}} props */
export function ActionFields({ item, change, path, options }) {
  const text = (/** @type {string} */ label, /** @type {string} */ name, /** @type {Record<string, any>} */ more = {}) =>
    html`<${Field} label=${label} name=${`${path}.${name}`} value=${item[name] ?? ""} onInput=${(/** @type {string} */ value) => change({ [name]: value })} ...${more} />`;
  switch (item.type) {
    case "email":
      return html`<div class="form-row">${text("Mail addresses", "email", { placeholder: "alice@example.com, bob@example.com" })}
        <${Tokens} label="Users" words=${item.users ?? []} onChange=${(/** @type {string[]} */ users) => change({ users })} hint="Names of people who sign in here." /></div>
        ${text("Text", "text", { placeholder: "before the message" })}`;
    case "web_hook":
      return html`<div class="form-row">${text("URL", "url", { placeholder: "https://example.com/hook" })}${text("Text", "text", { placeholder: "before the message" })}</div>`;
    case "run_event":
      return html`<${OtherEvent} item=${item} change=${change} path=${path} />`;
    case "channel":
      return html`<div class="form-row">${text("Channel", "channel_id", { options: [["", "Select a channel"], ...options.channels.map((one) => [one.id, one.title])], hint: options.channels.length ? undefined : html`There are none yet. <a href="/channels">Create one</a>.` })}${text("Text", "text", { placeholder: "before the message" })}</div>`;
    case "tag":
      return html`<${Tokens} label="Tags" words=${item.tags ?? []} list=${options.tags.map((one) => one.id)} onChange=${(/** @type {string[]} */ tags) => change({ tags })} />`;
    default:
      return null;
  }
}

/** @param {Part} props */
function OtherEvent({ item, change, path }) {
  const fetched = useFetched("/events?limit=200");
  const events = /** @type {{id: string, title: string}[]} */ (fetched.value?.items ?? []);
  const among = item.event_id && !events.some((one) => one.id === item.event_id) ? [{ id: item.event_id, title: item.event_id }, ...events] : events;
  return html`<${Field} label="Event" name=${`${path}.event_id`} value=${item.event_id ?? ""} options=${[["", "Select an event"], ...among.map((one) => [one.id, one.title])]}
      onInput=${(/** @type {string} */ event_id) => change({ event_id })} hint="It gets the data and files of the job." />
    <${ObjectEditor} label="Parameters (JSON)" name=${`${path}.params`} value=${item.params ?? {}} onInput=${(/** @type {any} */ params) => change({ params })} hint="These replace its own parameters." />`;
}
