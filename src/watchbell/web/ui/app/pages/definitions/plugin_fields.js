/** The form of a plugin: who runs it, its program, script, parameters and environment. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { CodeEditor } from "../../kit/code_editor.js";
import { Button, Field, Toggle, useErrors } from "../../kit/form.js";
import { NumberField } from "../../kit/amounts.js";
import { GroupField } from "../monitors/group_field.js";
import { EnabledField, NotesField, TitleFields } from "./common_fields.js";
import { ObjectEditor } from "../events/object_editor.js";

/** @typedef {import("./definitions.js").Change} Change */
/** @typedef {import("../events/words.js").Parameter} Parameter */

/** @type {[id: string, words: string][]} */
const TYPES = [["text", "Text"], ["textarea", "Several lines"], ["code", "Code"], ["json", "JSON"], ["checkbox", "Checkbox"], ["select", "Menu"], ["hidden", "Hidden"]];

/** @type {[id: string, words: string][]} */
const USES = [["event", "Jobs of events"], ["monitor", "Servers, each minute"]];
/** @type {[id: string, words: string][]} */
const FORMATS = [["text", "Text"], ["json", "JSON"], ["xml", "XML"]];

/** @param {{draft: any, change: Change, isNew: boolean}} props */
export function PluginFields({ draft, change, isNew }) {
  const use = draft.type ?? "event";
  const isCommand = use === "monitor";
  const text = (/** @type {string} */ label, /** @type {string} */ name, /** @type {Record<string, any>} */ more = {}) =>
    html`<${Field} label=${label} name=${name} value=${draft[name] ?? ""} onInput=${(/** @type {string} */ value) => change({ [name]: value })} ...${more} />`;
  return html`<${TitleFields} draft=${draft} change=${change} isNew=${isNew} placeholder="Database dump" />
    ${text("Run by", "type", { value: use, options: USES.some(([id]) => id === use) ? USES : [...USES, [use, use]], hint: isCommand ? html`A server command: its output is <code>${`commands.${draft.id || "ID"}`}</code> in the expressions of monitors and alerts.` : undefined })}
    <${NotesField} draft=${draft} change=${change} />
    <${EnabledField} draft=${draft} change=${change} hint=${isCommand ? "No server runs a disabled command." : "Events of a disabled plugin start no jobs."} />
    ${isCommand && html`<${GroupField} chosen=${draft.groups ?? []} onChange=${(/** @type {string[]} */ groups) => change({ groups })} none="None selected: on all servers." some="Only on servers of these groups." />
      <div class="form-row">${text("Its output is", "format", { value: draft.format ?? "text", options: FORMATS })}
        <${NumberField} label="Time limit" name="timeout" value=${draft.timeout ?? 5} onInput=${(/** @type {any} */ timeout) => change({ timeout })} hint="Seconds." /></div>`}
    ${text("Program", "command", { mono: true, spellcheck: false, placeholder: "/bin/sh", hint: "The program and its arguments. It runs without a shell" + (isCommand ? "." : ", and reads the job as JSON.") })}
    <${CodeEditor} label="Script" name="script" value=${draft.script ?? ""} onInput=${(/** @type {string} */ script) => change({ script })} hint="Written to a file, which is the last argument of the program." />
    ${!isCommand && html`<${Parameters} params=${draft.params ?? []} onChange=${(/** @type {Parameter[]} */ params) => change({ params })} />`}
    <details open=${Boolean(draft.uid || draft.gid || draft.cwd || Object.keys(draft.env ?? {}).length)}><summary>User, folder and environment</summary><div class="stack">
      <div class="form-row">${text("User", "uid", { placeholder: "that of the agent" })}${text("Group", "gid", { placeholder: "that of the user" })}${text("Folder", "cwd", { mono: true, placeholder: "one of its own for each job" })}</div>
      <${ObjectEditor} label="Environment (JSON)" name="env" value=${draft.env ?? {}} onInput=${(/** @type {any} */ env) => change({ env })} hint=${html`As <code>{"LANG": "C"}</code>. People who may not edit plugins see no values.`} />
      ${!isCommand && text("When a job is aborted", "kill", { value: draft.kill ?? "parent", options: [["parent", "End its first process"], ["all", "End all its processes"], ["none", "End nothing"]] })}
    </div></details>`;
}

/** @param {{params: Parameter[], onChange: (params: Parameter[]) => void}} props */
function Parameters({ params, onChange }) {
  const move = (/** @type {number} */ place, /** @type {number} */ by) => {
    const moved = [...params];
    const [one] = moved.splice(place, 1);
    if (one) moved.splice(place + by, 0, one);
    onChange(moved);
  };
  return html`<fieldset class="pairs"><legend>Parameters</legend>
    ${params.length === 0 && html`<p class="soft">It asks events for nothing.</p>`}
    <div class="items">${params.map((one, place) => html`<${OneParameter} key=${place} param=${one} path=${`params[${place}]`} change=${(/** @type {Partial<Parameter>} */ changes) => onChange(params.with(place, { ...one, ...changes }))}>
      <${Button} small disabled=${place === 0} onClick=${() => move(place, -1)}>Move up<//>
      <${Button} small disabled=${place === params.length - 1} onClick=${() => move(place, 1)}>Move down<//>
      <${Button} small onClick=${() => onChange(params.toSpliced(place, 1))}>Remove<//>
    <//>`)}</div>
    <${Button} small onClick=${() => onChange([...params, { id: "", type: "text" }])}>Add a parameter<//>
  </fieldset>`;
}

/**
 * Open if it is new, or wrong.
 * @param {{param: Parameter, path: string, change: (changes: Partial<Parameter>) => void, children?: any}} props `children`: its buttons
 */
function OneParameter({ param, path, change, children }) {
  const [isNew] = useState(param.id === "");
  const isWrong = useErrors().some((one) => one.field.startsWith(path));
  return html`<details class="item param" open=${isNew || isWrong}>
    <summary><span>${param.title || param.id || "New parameter"}</span> <code class="soft">${param.id}</code> <span class="soft">${TYPES.find(([type]) => type === param.type)?.[1]}</span></summary>
    <${ParameterFields} param=${param} path=${path} change=${change} />
    <div class="actions">${children}</div>
  </details>`;
}

/** @param {{param: Parameter, path: string, change: (changes: Partial<Parameter>) => void}} props */
function ParameterFields({ param, path, change }) {
  const text = (/** @type {string} */ label, /** @type {"id" | "title" | "caption" | "regex" | "type"} */ name, /** @type {Record<string, any>} */ more = {}) =>
    html`<${Field} label=${label} name=${`${path}.${name}`} value=${param[name] ?? ""} onInput=${(/** @type {string} */ value) => change({ [name]: value })} ...${more} />`;
  const toggle = (/** @type {string} */ label, /** @type {"required" | "locked" | "secret"} */ name, /** @type {string} */ hint) =>
    html`<${Toggle} label=${label} checked=${param[name] === true} onChange=${(/** @type {boolean} */ to) => change({ [name]: to })} hint=${hint} />`;
  const value = typeof param.value === "string" ? param.value : param.value === undefined || param.value === null ? "" : JSON.stringify(param.value);
  return html`<div class="stack">
    <div class="form-row">${text("Id", "id", { mono: true, placeholder: "database" })}${text("Title", "title", { placeholder: "Database" })}${text("Type", "type", { options: TYPES })}</div>
    ${param.type === "checkbox"
      ? html`<${Toggle} label="Checked by default" checked=${Boolean(param.value)} onChange=${(/** @type {boolean} */ to) => change({ value: to })} />`
      : param.type === "code" || param.type === "json"
        ? html`<${CodeEditor} label="Default" name=${`${path}.value`} rows=${3} value=${value} onInput=${(/** @type {string} */ to) => change({ value: to })} />`
        : html`<${Field} label=${param.type === "select" ? "Choices" : "Default"} name=${`${path}.value`} value=${value} onInput=${(/** @type {string} */ to) => change({ value: to })}
            ...${param.type === "textarea" ? { rows: 3 } : {}} hint=${param.type === "select" ? "Separated by commas; the first is the default. Label [value] shows another text." : undefined} />`}
    <div class="form-row">${text("Explanation", "caption", { placeholder: "shown below the field" })}${param.type !== "checkbox" && param.type !== "select" && text("Must match", "regex", { mono: true, placeholder: "^[a-z]+$" })}</div>
    <div class="form-row">${toggle("Required", "required", "")}${toggle("Locked", "locked", "Only administrators change it.")}${toggle("Secret", "secret", "Hidden from people who may not edit events.")}</div>
  </div>`;
}
