/** Actions of an alert definition: what happens when an alert becomes active or is cleared. */

import { html } from "htm/preact";
import { useFetched } from "../../api.js";
import { Button, Field, Toggle } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { keyed } from "../events/draft.js";
import { Items } from "../events/items.js";

/** @typedef {import("../events/draft.js").Item} Item */

/** @type {[string, string][]} */
const TRIGGERS = [["alert_new", "When the alert becomes active"], ["alert_cleared", "When it is cleared"]];
/** @type {[string, string][]} */
const TYPES = [
  ["channel", "Notify a channel"],
  ["email", "Send a mail"],
  ["web_hook", "Call a web hook"],
  ["run_event", "Run an event"],
  ["snapshot", "Take a snapshot of the server"],
  ["disable", "Disable this definition"],
];
const KNOWN = ["trigger", "type", "email", "url", "event_id", "channel_id", "text"];
/** @type {Item[]} */
const NONE = [];
const wordsOf = (/** @type {[string, string][]} */ options, /** @type {string} */ id) => options.find(([one]) => one === id)?.[1] ?? id;

/** @param {{actions?: Item[], onChange: (actions: Item[]) => void, isExclusive: boolean, onExclusive: (to: boolean) => void}} props */
export function AlertActions({ actions = NONE, onChange, isExclusive, onExclusive }) {
  return html`<${Card} title="Actions"><div class="stack">
    ${actions.length === 0 && html`<p class="soft">No actions of its own. Each alert is also a check, which notifies people by their rules.</p>`}
    <${Items} items=${actions} field="actions" onChange=${onChange} titleOf=${(/** @type {Item} */ item) => `${wordsOf(TRIGGERS, item.trigger)}: ${wordsOf(TYPES, item.type).toLowerCase()}`} known=${() => KNOWN}>
      ${(/** @type {Item} */ item, /** @type {(changes: Record<string, any>) => void} */ change, /** @type {string} */ path) => html`<div class="stack">
        <div class="form-row">
          <${Field} label="When" name=${`${path}.trigger`} value=${item.trigger} options=${TRIGGERS} onInput=${(/** @type {string} */ trigger) => change({ trigger })} />
          <${Field} label="Do" name=${`${path}.type`} value=${item.type} options=${TYPES} onInput=${(/** @type {string} */ type) => change({ type })} />
        </div>
        <${ActionFields} item=${item} change=${change} path=${path} />
      </div>`}
    <//>
    <div><${Button} onClick=${() => onChange([...actions, keyed({ trigger: "alert_new", type: "snapshot" })])}>Add an action<//></div>
    <${Toggle} label="Only these actions" checked=${isExclusive} onChange=${onExclusive} hint="Actions of the server's groups and of the settings are left out. Who is notified of its check stays the same." />
  </div><//>`;
}

/** @param {{item: Item, change: (changes: Record<string, any>) => void, path: string}} props */
function ActionFields({ item, change, path }) {
  const options = useFetched(item.type === "channel" ? "/events/options" : null).value;
  const events = useFetched(item.type === "run_event" ? "/events?limit=200" : null).value;
  const text = (/** @type {string} */ label, /** @type {string} */ name, /** @type {Record<string, any>} */ more = {}) =>
    html`<${Field} label=${label} name=${`${path}.${name}`} value=${item[name] ?? ""} onInput=${(/** @type {string} */ value) => change({ [name]: value })} ...${more} />`;
  const select = (/** @type {string} */ label, /** @type {string} */ name, /** @type {string} */ none, /** @type {{id: string, title: string}[]} */ among = []) =>
    text(label, name, { options: [["", none], ...(item[name] && !among.some((one) => one.id === item[name]) ? [[item[name], item[name]]] : []), ...among.map((one) => [one.id, one.title])] });
  switch (item.type) {
    case "email":
      return html`<div class="form-row">${text("Mail addresses", "email", { placeholder: "alice@example.com, bob@example.com" })}${text("Text", "text", { placeholder: "before the message" })}</div>`;
    case "web_hook":
      return html`<div class="form-row">${text("URL", "url", { placeholder: "https://example.com/hook" })}${text("Text", "text", { placeholder: "before the message" })}</div>`;
    case "channel":
      return html`<div class="form-row">${select("Channel", "channel_id", "Select a channel", options?.channels)}${text("Text", "text", { placeholder: "before the message" })}</div>`;
    case "run_event":
      return html`${select("Event", "event_id", "Select an event", events?.items)}<p class="hint">Its job finds the alert in its data.</p>`;
    default:
      return null;
  }
}
