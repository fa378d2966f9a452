/** The properties that all definitions have. */

import { html } from "htm/preact";
import { Field, Toggle } from "../../kit/form.js";

/** @typedef {import("./definitions.js").Change} Change */

/** @param {{draft: any, change: Change, isNew: boolean, placeholder?: string}} props */
export function TitleFields({ draft, change, isNew, placeholder }) {
  return html`<div class="form-row">
    <${Field} label="Title" name="title" value=${draft.title ?? ""} onInput=${(/** @type {string} */ title) => change({ title })} placeholder=${placeholder} />
    ${isNew && html`<${Field} label="Id" name="id" mono value=${draft.id ?? ""} onInput=${(/** @type {string} */ id) => change({ id })} placeholder="made for you" hint="Letters, digits and _. It can't be changed later." />`}
  </div>`;
}

/** @param {{draft: any, change: Change}} props */
export function NotesField({ draft, change }) {
  return html`<${Field} label="Notes" name="notes" rows=${2} value=${draft.notes ?? ""} onInput=${(/** @type {string} */ notes) => change({ notes })} />`;
}

/** @param {{draft: any, change: Change, hint: string}} props */
export function EnabledField({ draft, change, hint }) {
  return html`<${Toggle} label="Enabled" checked=${draft.enabled !== false} onChange=${(/** @type {boolean} */ enabled) => change({ enabled })} hint=${hint} />`;
}

/** These properties of a draft, and a given id of a new one. @param {any} draft @param {string[]} names @param {boolean} isNew */
export function sent(draft, names, isNew) {
  const given = names.filter((name) => draft[name] !== undefined && draft[name] !== null);
  return { ...Object.fromEntries(given.map((name) => [name, draft[name]])), title: (draft.title ?? "").trim(), ...(isNew && draft.id ? { id: draft.id.trim() } : {}) };
}
