/** The parameters that a plugin asks for, each by its type. */

import { html } from "htm/preact";
import { may } from "../../session.js";
import { CodeEditor } from "../../kit/code_editor.js";
import { Field, Toggle, useWrong } from "../../kit/form.js";

/** @typedef {import("./words.js").Parameter} Parameter */

/**
 * @param {{params: Parameter[], values: Record<string, any>, onChange: (values: Record<string, any>) => void, path?: string}} props
 *   `path`: the server's name of the object that holds the values
 */
export function ParamFields({ params, values, onChange, path = "params" }) {
  const shown = params.filter((one) => one.type !== "hidden");
  if (shown.length === 0) return html`<p class="soft">This plugin has no parameters.</p>`;
  return html`<div class="stack">${shown.map((one) => html`<${Param} key=${one.id} param=${one} name=${`${path}.${one.id}`} value=${values[one.id] ?? defaultOf(one)}
    onInput=${(/** @type {any} */ value) => onChange({ ...values, [one.id]: value })} />`)}</div>`;
}

/** @param {{param: Parameter, name: string, value: any, onInput: (value: any) => void}} props */
function Param({ param, name, value, onInput }) {
  const wrong = useWrong(name);
  const isLocked = param.locked === true && !may("admin");
  const hint = [param.caption, isLocked && "Only administrators can change this."].filter(Boolean).join(" ");
  const common = { label: param.title || param.id, name, hint, disabled: isLocked };
  const text = typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value, null, 2);
  if (param.type === "checkbox") {
    return html`<${Toggle} label=${common.label} hint=${wrong || hint} checked=${Boolean(value)} disabled=${isLocked} onChange=${onInput} />`;
  }
  if (param.type === "code" || param.type === "json") return html`<${CodeEditor} ...${common} value=${text} onInput=${onInput} rows=${param.type === "json" ? 4 : 8} />`;
  if (param.type === "select") return html`<${Field} ...${common} value=${text} options=${choices(param)} onInput=${onInput} />`;
  if (param.type === "textarea") return html`<${Field} ...${common} mono value=${text} rows=${Math.min(12, Math.max(3, text.split("\n").length))} onInput=${onInput} />`;
  return html`<${Field} ...${common} type=${param.secret ? "password" : "text"} autocomplete=${param.secret ? "new-password" : "off"} value=${text} onInput=${onInput} />`;
}

/** @param {Parameter} param */
function defaultOf(param) {
  if (param.type === "checkbox") return Boolean(param.value);
  if (param.type === "select") return choices(param)[0]?.[0] ?? "";
  return param.value ?? "";
}

/** `Label [value]`, separated by commas. @param {Parameter} param @returns {[value: string, label: string][]} */
function choices(param) {
  return String(param.value ?? "").split(",").map((one) => one.trim()).filter(Boolean).map((one) => {
    const found = /^(.*?)\s*\[([^[\]]*)\]$/.exec(one);
    return found ? [found[2] ?? "", found[1] || (found[2] ?? "")] : [one, one];
  });
}
