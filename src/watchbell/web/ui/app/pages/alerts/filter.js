/** Filters of the list of alerts. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Button, Field, Form } from "../../kit/form.js";
import { short } from "../../times.js";
import { field, instant } from "../../zoned.js";
import { KINDS } from "./words.js";

/** @typedef {Record<string, string>} Given */

/** @param {{given: Given, media: string[], onChange: (changes: Record<string, string | null>) => void}} props */
export function Filter({ given, media, onChange }) {
  const [isOpen, setIsOpen] = useState(false);
  const now = Date.now() / 1000;
  /** @type {[string, string][]} */
  const set = [
    ["contact", `to ${given.contact}`],
    ["medium", `by ${given.medium}`],
    ["check", `about ${given.check}`],
    ["kind", `${given.kind}`],
    ["from", `since ${given.from && short(Number(given.from), now)}`],
    ["to", `until ${given.to && short(Number(given.to), now)}`],
  ];
  return html`${set.filter(([name]) => given[name]).map(
      ([name, words]) => html`<${Button} small key=${name} onClick=${() => onChange({ [name]: null })} label=${`Remove the filter: ${words}`}>${words} ✕<//>`,
    )}
    <${Button} kind="quiet" onClick=${() => setIsOpen(true)}>Filters<//>
    ${isOpen && html`<${FilterDialog} given=${given} media=${media} onClose=${() => setIsOpen(false)} onChange=${onChange} />`}`;
}

/** @param {{given: Given, media: string[], onClose: () => void, onChange: (changes: Record<string, string | null>) => void}} props */
function FilterDialog({ given, media, onClose, onChange }) {
  const [draft, setDraft] = useState(given);
  const [from, setFrom] = useState(given.from ? field(Number(given.from)) : "");
  const [to, setTo] = useState(given.to ? field(Number(given.to)) : "");
  const people = useFetched(url("/contacts", { text: draft.contact, limit: 20 }));
  const set = (/** @type {Given} */ changes) => setDraft({ ...draft, ...changes });
  const at = (/** @type {string} */ text) => (text && instant(text) !== null ? String(instant(text)) : null);
  const apply = async () => {
    onChange({ contact: draft.contact ?? "", medium: draft.medium ?? "", check: draft.check ?? "", kind: draft.kind ?? "", from: at(from), to: at(to) });
    onClose();
  };
  return html`<${Dialog} title="Filters" onClose=${onClose}>
    <${Form} onSubmit=${apply} submit="Apply" cancel=${onClose}>
      <div class="form-row">
        <${Field} label="Contact" name="contact" value=${draft.contact ?? ""} onInput=${(/** @type {string} */ contact) => set({ contact })}
          list=${(people.value?.items ?? []).map((/** @type {{id: string}} */ one) => one.id)} hint="Id of the contact" />
        <${Field} label="Medium" name="medium" value=${draft.medium ?? ""} onInput=${(/** @type {string} */ medium) => set({ medium })} list=${media} />
      </div>
      <${Field} label="Check" name="check" value=${draft.check ?? ""} onInput=${(/** @type {string} */ check) => set({ check })} placeholder="web-1.example.com:HTTP" />
      <${Field} label="Kind" name="kind" value=${draft.kind ?? ""} onInput=${(/** @type {string} */ kind) => set({ kind })} options=${[["", "Any"], ...KINDS.map((one) => [one, one])]} />
      <div class="form-row">
        <${Field} label="From" name="from" type="datetime-local" value=${from} onInput=${setFrom} />
        <${Field} label="Until" name="to" type="datetime-local" value=${to} onInput=${setTo} />
      </div>
    <//>
  <//>`;
}
