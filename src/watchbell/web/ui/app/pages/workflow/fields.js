/** The fields of each type of node. */

import { html } from "htm/preact";
import { AmountField, NumberField, SECONDS } from "../../kit/amounts.js";
import { Field, Toggle } from "../../kit/form.js";
import { Tokens } from "../../kit/tokens.js";
import { ACTION_TYPES, ActionFields } from "../events/actions.js";
import { LIMIT_TYPES, LimitFields } from "../events/limits.js";
import { ObjectEditor } from "../events/object_editor.js";
import { ParamFields } from "../events/params.js";
import { BEGINNINGS, Timing } from "../events/timings.js";
import { Targets } from "../events/where.js";
import { listed } from "../events/words.js";
import { CONTROLLERS, FANNING, TIMINGS } from "./words.js";

/**
 * @typedef {import("./graph.js").NodeType} NodeType
 * @typedef {{id: string, title: string}} Listed
 * @typedef {{data: Record<string, any>, change: (data: Record<string, any>) => void, path: string, timing: string, options: import("../events/words.js").Options,
 *   events: ReadonlyMap<string, string>}} Given
 *   `path`: the API's name of the data; `timing`: that of a trigger's timing; `events`: titles by id
 */

/** What can be added: in the menus of new nodes. @type {{label: string, options: [value: string, words: string][]}[]} */
export const NEW_NODES = [
  { label: "Runs something", options: [["event", "Event"], ["job", "Job"]] },
  { label: "Controls", options: Object.entries(CONTROLLERS).map(([id, [title]]) => [id, title]) },
  { label: "Belongs to a node", options: [["limit", "Limit"], ["action", "Action"]] },
];
/** @type {{label: string, options: [value: string, words: string][]}} */
export const NEW_OTHERS = { label: "Others", options: [["trigger", "Trigger"], ["note", "Note"]] };

/** What a new node begins with. @param {string} kind as in the menu @returns {[NodeType, Record<string, any>]} */
export function newNode(kind) {
  if (kind in CONTROLLERS) {
    const more = { repeat: { repeat: 2 }, wait: { wait: 60 } }[kind] ?? {};
    return ["controller", { controller: kind, ...more }];
  }
  const data = { job: { plugin: "shellplug" }, limit: { type: "time", duration: 3_600 }, action: { type: "email" }, trigger: { timing: { type: "schedule", hours: [2], minutes: [0] } } }[kind] ?? {};
  return [/** @type {NodeType} */ (kind), data];
}

/** @param {Given & {type: NodeType}} props */
export function NodeFields({ type, ...given }) {
  const Fields = { trigger: TriggerFields, event: EventFields, job: JobFields, controller: ControllerFields, limit: LimitOf, action: ActionOf, note: NoteFields }[type];
  return html`<div class="stack"><${Fields} ...${given} /></div>`;
}

/** @param {Given & {placeholder?: string}} props */
function Label({ data, change, path, placeholder = "" }) {
  return html`<${Field} label="Label" name=${`${path}.label`} value=${data.label ?? ""} placeholder=${placeholder} onInput=${(/** @type {string} */ label) => change({ ...data, label })} />`;
}

/** @param {Given} props */
function TriggerFields(props) {
  const { data, change, timing, options } = props;
  const item = data.timing ?? { type: "manual" };
  const set = (/** @type {Record<string, any>} */ changes) => change({ ...data, timing: { ...item, ...changes } });
  const become = (/** @type {string} */ type) => change({ ...data, timing: { type, ...(type === "schedule" ? { hours: [2], minutes: [0] } : BEGINNINGS[type]?.()) } });
  return html`<${Field} label="Starts" name=${`${timing}.type`} value=${item.type} options=${Object.entries(TIMINGS)} onInput=${become}
      hint=${item.type === "manual" ? "When a person, an API key or another event starts the workflow." : undefined} />
    <${Timing} key=${item.type} item=${item} change=${set} path=${timing} options=${options} />
    <${Toggle} label="Enabled" checked=${item.enabled !== false} onChange=${(/** @type {boolean} */ enabled) => set({ enabled })} />
    <${Label} ...${props} placeholder=${TIMINGS[item.type] ?? ""} />`;
}

/** @param {Given} props */
function EventFields(props) {
  const { data, change, path, events } = props;
  const among = [...events].sort(([, one], [, other]) => one.localeCompare(other));
  const known = !data.event || events.has(data.event) ? among : [[data.event, `${data.event} (missing)`], ...among];
  return html`<${Field} label="Event" name=${`${path}.event`} value=${data.event ?? ""} options=${[["", "Select an event"], ...known]} onInput=${(/** @type {string} */ event) => change({ ...data, event })}
      hint=${data.event && events.has(data.event) ? html`<a href=${`/events/event?id=${encodeURIComponent(data.event)}`} target="_blank">Open the event</a>` : "It gets the data and files of the nodes before."} />
    <${Label} ...${props} placeholder=${events.get(data.event) ?? ""} />
    <details open=${["params", "targets", "algo", "tags"].some((name) => Object.keys(data[name] ?? {}).length > 0)}><summary>Other parameters, servers and tags</summary><div class="stack">
      <${ObjectEditor} label="Parameters (JSON)" name=${`${path}.params`} value=${data.params ?? {}} onInput=${(/** @type {any} */ params) => change({ ...data, params })} hint="These replace those of the event." />
      <${Overrides} ...${props} />
    </div></details>`;
}

/** @param {Given} props */
function JobFields(props) {
  const { data, change, path, options } = props;
  const plugin = options.plugins.find((one) => one.id === data.plugin);
  return html`<${Label} ...${props} placeholder=${plugin?.title ?? ""} />
    <${Field} label="Plugin" name=${`${path}.plugin`} value=${data.plugin ?? ""} options=${listed(options.plugins, data.plugin ?? "")} onInput=${(/** @type {string} */ id) => change({ ...data, plugin: id, params: {} })} />
    <${ParamFields} key=${data.plugin} params=${plugin?.params ?? []} values=${data.params ?? {}} path=${`${path}.params`} onChange=${(/** @type {Record<string, any>} */ params) => change({ ...data, params })} />
    <details open=${Boolean(data.targets?.length || data.tags?.length || data.category)}><summary>Servers, category and tags</summary><div class="stack">
      <${Overrides} ...${props} />
      <${Field} label="Category" name=${`${path}.category`} value=${data.category ?? ""} options=${[["", "That of the workflow"], ...options.categories.map((one) => [one.id, one.title])]} onInput=${(/** @type {string} */ category) => change({ ...data, category })} />
    </div></details>`;
}

/** Where a node runs, and its tags. @param {Given} props */
function Overrides({ data, change, path, options }) {
  return html`<${Targets} targets=${options.targets} selected=${data.targets ?? []} name=${`${path}.targets`} onChange=${(/** @type {string[]} */ targets) => change({ ...data, targets })} />
    <${Field} label="Which server runs a job" name=${`${path}.algo`} value=${data.algo ?? ""} options=${[["", "As usual"], ...options.algorithms.map((one) => [one.id, one.words])]} onInput=${(/** @type {string} */ algo) => change({ ...data, algo })} />
    <${Tokens} label="Tags" words=${data.tags ?? []} list=${options.tags.map((one) => one.id)} onChange=${(/** @type {string[]} */ tags) => change({ ...data, tags })} />`;
}

/** @param {Given} props */
function ControllerFields(props) {
  const { data, change, path } = props;
  const at = (/** @type {string} */ name) => ({ name: `${path}.${name}`, value: data[name], onInput: (/** @type {any} */ value) => change({ ...data, [name]: value }) });
  const code = (/** @type {string} */ name) => ({ ...at(name), value: data[name] ?? "", mono: true, spellcheck: false });
  const kind = data.controller;
  const isFanning = FANNING.includes(kind);
  return html`<${Field} label="Controller" ...${at("controller")} options=${Object.entries(CONTROLLERS).map(([id, [title]]) => [id, title])} hint=${CONTROLLERS[kind]?.[1]}
      onInput=${(/** @type {string} */ to) => change({ ...newNode(to)[1], ...(data.label ? { label: data.label } : {}) })} />
    ${kind === "repeat" && html`<${NumberField} label="Times" ...${at("repeat")} />`}
    ${kind === "split" && html`<${Field} label="List" ...${code("split")} placeholder="data.items" hint="An expression. Of a text, each line is an item; the word files takes the files." />
      <${Field} label="Only items for which this is true" ...${code("filter")} placeholder="item.size > 0" />
      <${NumberField} label="Items of each job" ...${at("chunk")} placeholder="1" />`}
    ${kind === "decision" && html`<${Field} label="Condition" ...${code("decision")} placeholder="data.count > 10" hint="An expression; it may use data, files, params and workflowData." />
      <${Toggle} label="Otherwise abort the workflow" checked=${data.abort === true} onChange=${(/** @type {boolean} */ abort) => change({ ...data, abort })} />`}
    ${kind === "wait" && html`<${AmountField} label="Time" units=${SECONDS} ...${at("wait")} />`}
    ${isFanning && html`<${AmountField} label="Time between their starts" units=${SECONDS} ...${at("stagger")} />
      <${NumberField} label="Successful jobs needed (percent)" ...${at("continue")} placeholder="100" hint="For wires that fire when all jobs have ended." />`}
    <${Label} ...${props} placeholder=${CONTROLLERS[kind]?.[0] ?? ""} />`;
}

/** @param {Given} props */
function LimitOf({ data, change, path, options }) {
  const set = (/** @type {Record<string, any>} */ changes) => change({ ...data, ...changes });
  return html`<${Field} label="Limit" name=${`${path}.type`} value=${data.type} options=${Object.entries(LIMIT_TYPES).map(([type, [title]]) => [type, title])} hint=${LIMIT_TYPES[data.type]?.[1]}
      onInput=${(/** @type {string} */ type) => change({ type, ...LIMIT_TYPES[type]?.[2] })} />
    <${LimitFields} key=${data.type} item=${data} change=${set} path=${path} tags=${options.tags} />`;
}

/** @param {Given} props */
function ActionOf({ data, change, path, options }) {
  return html`<${Field} label="Action" name=${`${path}.type`} value=${data.type} options=${ACTION_TYPES} onInput=${(/** @type {string} */ type) => change({ type })} hint="Its wire says when." />
    <${ActionFields} key=${data.type} item=${data} change=${(/** @type {Record<string, any>} */ changes) => change({ ...data, ...changes })} path=${path} options=${options} />`;
}

/** @param {Given} props */
function NoteFields({ data, change, path }) {
  return html`<${Field} label="Title" name=${`${path}.title`} value=${data.title ?? ""} onInput=${(/** @type {string} */ title) => change({ ...data, title })} />
    <${Field} label="Text" name=${`${path}.body`} rows=${5} value=${data.body ?? ""} onInput=${(/** @type {string} */ body) => change({ ...data, body })} />`;
}
