/** Imports contacts or entities from a JSON file. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, Problem } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Button, Form } from "../../kit/form.js";

/** @typedef {{number: number, id: string, status: "imported" | "skipped" | "refused", reason: string, ignored: string[]}} Taken */

/** @param {{what: "contacts" | "entities", onClose: () => void, onDone: () => void}} props */
export function Importing({ what, onClose, onDone }) {
  const [file, setFile] = useState(/** @type {File | null} */ (null));
  const [taken, setTaken] = useState(/** @type {Taken[] | null} */ (null));
  const send = async () => {
    const text = await /** @type {File} */ (file).text();
    if (!isList(text)) throw new Problem(422, "This file is not a JSON array.");
    setTaken(await post(`/${what}/import`, text));
    onDone();
  };
  const wrong = (taken ?? []).filter((one) => one.status !== "imported");
  return html`<${Dialog} title=${`Import ${what}`} onClose=${onClose}>
    ${taken === null
      ? html`<${Form} onSubmit=${send} submit="Import" cancel=${onClose} disabled=${file === null}>
          <p>Select a JSON file as written by <code>watchbell ${what} export</code>. Existing ${what} with the same id are replaced.</p>
          <input type="file" accept=".json,application/json" aria-label="File"
            onChange=${(/** @type {any} */ event) => setFile(event.currentTarget.files[0] ?? null)} />
        <//>`
      : html`<div class="stack" role="status">
          <p><strong>${taken.length - wrong.length} of ${taken.length} ${what} imported.</strong></p>
          ${wrong.length > 0 && html`<ul class="import-wrong">${wrong.map((one) => html`<li>Item ${one.number}${one.id && ` (${one.id})`}: ${one.reason}</li>`)}</ul>`}
          <div class="actions"><${Button} kind="main" onClick=${onClose}>Close<//></div>
        </div>`}
  <//>`;
}

/** @param {string} text */
function isList(text) {
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}
